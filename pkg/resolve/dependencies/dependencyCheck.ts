import { goQuote } from "../../golang/quote.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { holds, meets, unmet, unmetText } from "../constraint/evaluate.ts";
import { type ConstraintFault, type DeclaredConstraints, faultText } from "../constraint/parse.ts";
import type { ServedApi } from "../solver/problem.ts";
import { enumerated } from "../wording.ts";

/** What an extension has installed, with what that asks of the others. */
export interface Neighbour {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
}

/** What a bundle of an extension would be installed among. */
export interface Environment {
  /** What all other extensions have installed, by name of the extension. */
  readonly neighbours: readonly Neighbour[];
  /** What the extension itself has installed. */
  readonly own: Neighbour | undefined;
  /** APIs of the cluster that no installed bundle provides. */
  readonly served: readonly ServedApi[];
}

/** What speaks against a bundle by what it depends on, or by what depends on what it would replace. */
export type Objection =
  /** What it requires cannot be read: a mistake of the catalog's author. */
  | { readonly kind: "faulty"; readonly faults: readonly ConstraintFault[] }
  /** Constraints of its own that do not hold. */
  | { readonly kind: "unmet"; readonly constraints: readonly BundleConstraint[]; readonly because: readonly string[] }
  /** Installed bundles whose constraints would no longer hold. */
  | { readonly kind: "breaks"; readonly dependents: readonly Dependent[] };

/** An installed bundle and what it would miss. */
export interface Dependent {
  readonly extension: string;
  readonly bundle: string;
  /** Such as `API g.example.com/v1 Kind`. */
  readonly requires: readonly string[];
}

/** A bundle that is judged. */
export interface Judged {
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
}

/**
 * What speaks against installing a bundle in its environment, in place of what the extension has installed; undefined where nothing does.
 * A constraint of a neighbour that does not hold as it is counts for nothing, so that what is broken already does not stand in the way.
 */
export function objectionTo({ provider, declared }: Judged, environment: Environment): Objection | undefined {
  if (declared.faults.length > 0) return { kind: "faulty", faults: declared.faults };
  const served = environment.served.map(({ gvk }) => gvk);
  const others = environment.neighbours.map((neighbour) => neighbour.provider);
  const after = [...others, provider];
  const missing = declared.constraints.filter((constraint) => !holds(constraint, after, served));
  if (missing.length > 0) return { kind: "unmet", constraints: missing, because: unmetTexts(missing, after, served) };
  const own = environment.own?.provider;
  const before = own ? [...others, own] : others;
  const dependents = environment.neighbours.flatMap((neighbour) => {
    const broken = neighbour.declared.constraints.filter(
      (constraint) => isConcerned(constraint, own, provider) && holds(constraint, before, served) && !holds(constraint, after, served),
    );
    return broken.length > 0 ? [dependentOf(neighbour, unmetTexts(broken, after, served))] : [];
  });
  return dependents.length > 0 ? { kind: "breaks", dependents } : undefined;
}

/** Whether any part of the constraint is met by one of the two and not by the other; only such a constraint can change its truth. */
function isConcerned(constraint: BundleConstraint, before: Provider | undefined, after: Provider): boolean {
  if ("constraints" in constraint) return constraint.constraints.some((member) => isConcerned(member, before, after));
  return (before !== undefined && meets(before, constraint)) !== meets(after, constraint);
}

function dependentOf({ extension, bundle }: Neighbour, requires: readonly string[]): Dependent {
  return { extension, bundle, requires };
}

function unmetTexts(constraints: readonly BundleConstraint[], providers: readonly Provider[], served: readonly Gvk[]): string[] {
  const all = constraints.flatMap((constraint) => unmet(constraint, providers, served).map(unmetText));
  return [...new Set(all)];
}

/** A clause such as `it requires package "b" >=2.0.0`, or `ClusterExtension "a" (bundle "a.v1.0.0") would lose API g/v1 Kind, which it requires`. */
export function objectionClause(objection: Objection): string {
  if (objection.kind === "faulty") return enumerated(objection.faults.map(faultText));
  if (objection.kind === "unmet") return `it requires ${enumerated(objection.because)}`;
  return enumerated(objection.dependents.map(dependentText));
}

function dependentText({ extension, bundle, requires }: Dependent): string {
  return `ClusterExtension ${goQuote(extension)} (bundle ${goQuote(bundle)}) would lose what it requires: ${enumerated(requires)}`;
}
