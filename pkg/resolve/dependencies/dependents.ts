import { compareText } from "../../text/compare.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { describeConstraint, isSatisfied } from "../constraint/evaluate.ts";
import { getGvkKey } from "../constraint/parse.ts";

/** The installed bundle of an extension with its constraints. */
export interface InstalledMember {
  /** Name of the extension; unique. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  readonly declared: { readonly constraints: readonly BundleConstraint[] };
}

/** An extension to remove, and its context. */
export interface Removal {
  /** The extension to remove. */
  readonly leaving: string;
  /** Other extensions that are being removed too, and therefore do not block the removal. */
  readonly going?: ReadonlySet<string>;
  /** All installed bundles, in any order. */
  readonly installed: readonly InstalledMember[];
  /** The APIs that the cluster serves, regardless of provider. */
  readonly served: readonly Gvk[];
}

/** An installed bundle that depends on another one. */
export interface Dependent {
  readonly extension: string;
  readonly bundle: string;
  /** Constraints that would no longer be met, such as `package "b" >=2.0.0`; at least one, in the bundle's order. */
  readonly needs: readonly string[];
}

/**
 * Returns the installed bundles with a constraint that is met now and would not be met without the leaving extension, by name of extension. The APIs
 * that it provides count as removed even if their CRDs stay, because no controller would reconcile them. A constraint that is already unmet does not
 * block the removal. Extensions that leave at the same time are processed in the order of their names, and each counts as removed unless it is
 * blocked itself. If one of two must stay, the first may be removed; if both must stay, neither may.
 */
export function findDependents({ leaving, going = new Set(), installed, served }: Removal): Dependent[] {
  if (!installed.some(({ extension }) => extension === leaving)) return [];
  const provided = new Set(installed.flatMap(({ provider }) => provider.apis.map(getGvkKey)));
  const ofNobody = served.filter((gvk) => !provided.has(getGvkKey(gvk)));
  const inOrder = [leaving, ...going].sort();
  const isNeeded = (constraint: BundleConstraint): boolean => {
    let present = installed;
    if (!holdsAmong(constraint, present, ofNobody)) return false;
    for (const name of inOrder) {
      const rest = present.filter(({ extension }) => extension !== name);
      const isHeld = !holdsAmong(constraint, rest, ofNobody);
      if (name === leaving) return isHeld;
      if (!isHeld) present = rest;
    }
    return false;
  };
  return installed
    .filter(({ extension }) => extension !== leaving && !going.has(extension))
    .map(({ extension, bundle, declared }) => ({ extension, bundle, needs: declared.constraints.filter(isNeeded).map(describeConstraint) }))
    .filter(({ needs }) => needs.length > 0)
    .sort((a, b) => compareText(a.extension, b.extension));
}

function holdsAmong(constraint: BundleConstraint, members: readonly InstalledMember[], served: readonly Gvk[]): boolean {
  return isSatisfied(
    constraint,
    members.map(({ provider }) => provider),
    served,
  );
}
