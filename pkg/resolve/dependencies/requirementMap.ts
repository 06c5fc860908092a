import type { BundleConstraint, Gvk, LeafConstraint } from "../constraint/constraint.ts";
import { describeConstraint, findUnmet, formatUnmetConstraint, isSatisfied, meets } from "../constraint/evaluate.ts";
import { getGvkKey } from "../constraint/parse.ts";
import { findDependents, type InstalledMember } from "./dependents.ts";

/** A requirement of an installed bundle, and what meets it. */
export interface InstalledRequirement {
  /** The extension whose bundle has the requirement. */
  readonly extension: string;
  readonly bundle: string;
  /** Such as `package "b" >=2.0.0`. */
  readonly text: string;
  readonly isMet: boolean;
  /** The parts that are not met; empty if it is met. */
  readonly unmet: readonly string[];
  /** Other extensions whose bundle meets it or a part of it, in the order of `installed`. */
  readonly providers: readonly string[];
  /** Whether the cluster serves an API of it that no extension provides. */
  readonly isServed: boolean;
  /** Those of `providers` without which it would not be met. */
  readonly needed: readonly string[];
}

/** The installed bundles, and the APIs that the cluster serves, regardless of provider. */
export interface InstalledWorld {
  readonly installed: readonly InstalledMember[];
  readonly served: readonly Gvk[];
}

/** Returns the requirements of all installed bundles, in the order of `installed`. */
export function listInstalledRequirements({ installed, served }: InstalledWorld): InstalledRequirement[] {
  const provided = new Set(installed.flatMap(({ provider }) => provider.apis.map(getGvkKey)));
  const ofNobody = served.filter((gvk) => !provided.has(getGvkKey(gvk)));
  const servedKeys = new Set(ofNobody.map(getGvkKey));
  const providers = installed.map(({ provider }) => provider);
  const neededBy = collectNeeds({ installed, served });
  return installed.flatMap(({ extension, bundle, declared }) =>
    declared.constraints.map((constraint): InstalledRequirement => {
      const text = describeConstraint(constraint);
      const leaves = listWantedLeaves(constraint);
      const meeting = installed.filter(({ provider }) => leaves.some((leaf) => meets(provider, leaf)));
      return {
        extension,
        bundle,
        text,
        isMet: isSatisfied(constraint, providers, ofNobody),
        unmet: findUnmet(constraint, providers, ofNobody).map(formatUnmetConstraint),
        providers: meeting.map((member) => member.extension).filter((name) => name !== extension),
        isServed: leaves.some((leaf) => leaf.kind === "gvk" && servedKeys.has(getGvkKey(leaf.gvk))),
        needed: meeting.map((member) => member.extension).filter((name) => neededBy.get(name)?.get(extension)?.has(text)),
      };
    }),
  );
}

/** Returns the requirements that would not be met without an extension: by that extension, then by dependent. */
function collectNeeds({ installed, served }: InstalledWorld): Map<string, Map<string, ReadonlySet<string>>> {
  const needs = new Map<string, Map<string, ReadonlySet<string>>>();
  if (!installed.some(({ declared }) => declared.constraints.length > 0)) return needs;
  for (const { extension } of installed) {
    const dependents = findDependents({ leaving: extension, installed, served });
    needs.set(extension, new Map(dependents.map((dependent) => [dependent.extension, new Set(dependent.needs)])));
  }
  return needs;
}

/** Returns the parts of a constraint that a bundle should meet, without those that none may meet. */
function listWantedLeaves(constraint: BundleConstraint): LeafConstraint[] {
  if (!("constraints" in constraint)) return [constraint];
  return constraint.kind === "not" ? [] : constraint.constraints.flatMap(listWantedLeaves);
}
