import { goQuote } from "../../golang/quote.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { findUnmet, holds, meets, unmetText } from "../constraint/evaluate.ts";
import { type ConstraintFault, type DeclaredConstraints, formatError } from "../constraint/parse.ts";
import type { ServedApi } from "../solver/problem.ts";
import { formatEnumeration } from "../wording.ts";

/** The bundle that an extension has installed, with the constraints that it declares. */
export interface InstalledPeer {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
}

/** The installed bundles and served APIs that a bundle of an extension would be installed with. */
export interface InstallContext {
  /** The installed bundles of all other extensions, by name of the extension. */
  readonly peers: readonly InstalledPeer[];
  /** What the extension itself has installed. */
  readonly own: InstalledPeer | undefined;
  /** APIs of the cluster that no installed bundle provides. */
  readonly served: readonly ServedApi[];
}

/** Why a bundle cannot be installed: its own dependencies, or those of installed bundles on the one that it would replace. */
export type DependencyConflict =
  /** What it requires cannot be read: a mistake of the catalog's author. */
  | { readonly kind: "faulty"; readonly faults: readonly ConstraintFault[] }
  /** Constraints of its own that do not hold. */
  | { readonly kind: "unmet"; readonly constraints: readonly BundleConstraint[]; readonly because: readonly string[] }
  /** Installed bundles whose constraints would no longer hold. */
  | { readonly kind: "breaks"; readonly dependents: readonly BrokenDependent[] };

/** An installed bundle and what it would miss. */
interface BrokenDependent {
  readonly extension: string;
  readonly bundle: string;
  /** Such as `API g.example.com/v1 Kind`. */
  readonly requires: readonly string[];
}

/** A bundle whose dependencies are checked. */
export interface CheckedBundle {
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
}

/**
 * Returns what conflicts with installing a bundle in its context, in place of what the extension has installed; undefined where nothing does.
 * A constraint of a peer that does not hold as it is counts for nothing, so that what is broken already does not stand in the way.
 */
export function findDependencyConflict({ provider, declared }: CheckedBundle, context: InstallContext): DependencyConflict | undefined {
  if (declared.faults.length > 0) return { kind: "faulty", faults: declared.faults };
  const served = context.served.map(({ gvk }) => gvk);
  const others = context.peers.map((peer) => peer.provider);
  const after = [...others, provider];
  const missing = declared.constraints.filter((constraint) => !holds(constraint, after, served));
  if (missing.length > 0) return { kind: "unmet", constraints: missing, because: unmetTexts(missing, after, served) };
  const own = context.own?.provider;
  const before = own ? [...others, own] : others;
  const dependents = context.peers.flatMap((peer) => {
    const broken = peer.declared.constraints.filter(
      (constraint) => isConcerned(constraint, own, provider) && holds(constraint, before, served) && !holds(constraint, after, served),
    );
    return broken.length > 0 ? [dependentOf(peer, unmetTexts(broken, after, served))] : [];
  });
  return dependents.length > 0 ? { kind: "breaks", dependents } : undefined;
}

/** Whether any part of the constraint is met by one of the two and not by the other; only such a constraint can change its truth. */
function isConcerned(constraint: BundleConstraint, before: Provider | undefined, after: Provider): boolean {
  if ("constraints" in constraint) return constraint.constraints.some((member) => isConcerned(member, before, after));
  return (before !== undefined && meets(before, constraint)) !== meets(after, constraint);
}

function dependentOf({ extension, bundle }: InstalledPeer, requires: readonly string[]): BrokenDependent {
  return { extension, bundle, requires };
}

function unmetTexts(constraints: readonly BundleConstraint[], providers: readonly Provider[], served: readonly Gvk[]): string[] {
  const all = constraints.flatMap((constraint) => findUnmet(constraint, providers, served).map(unmetText));
  return [...new Set(all)];
}

/** A clause such as `it requires package "b" >=2.0.0`, or `ClusterExtension "a" (bundle "a.v1.0.0") would lose API g/v1 Kind, which it requires`. */
export function formatDependencyConflict(conflict: DependencyConflict): string {
  if (conflict.kind === "faulty") return formatEnumeration(conflict.faults.map(formatError));
  if (conflict.kind === "unmet") return `it requires ${formatEnumeration(conflict.because)}`;
  return formatEnumeration(conflict.dependents.map(dependentText));
}

function dependentText({ extension, bundle, requires }: BrokenDependent): string {
  return `ClusterExtension ${goQuote(extension)} (bundle ${goQuote(bundle)}) would lose what it requires: ${formatEnumeration(requires)}`;
}
