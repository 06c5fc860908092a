import type { BundleConstraint, Gvk, LeafConstraint, Provider } from "./constraint.ts";

/**
 * Whether `constraint` is true of a set of bundles on a cluster. `gvk`: some bundle provides the API, or the cluster serves it. `package`: some
 * bundle is of that package and in the range. `cel`: the properties of some single bundle make the rule true. `all`, `any`, `not`: every
 * member of the list, at least one, none is true; each perhaps by another bundle.
 * Neither the order of the bundles nor that of the APIs matters.
 * @param served the APIs of the cluster that none of the bundles provides.
 */
export function holds(constraint: BundleConstraint, providers: readonly Provider[], served: readonly Gvk[]): boolean {
  if ("constraints" in constraint) {
    const { kind, constraints } = constraint;
    if (kind === "all") return constraints.every((member) => holds(member, providers, served));
    return constraints.some((member) => holds(member, providers, served)) === (kind === "any");
  }
  if (constraint.kind === "gvk" && served.some((gvk) => sameGvk(gvk, constraint.gvk))) return true;
  return providers.some((provider) => meets(provider, constraint));
}

/** Whether this one bundle makes the constraint true. */
export function meets(provider: Provider, constraint: LeafConstraint): boolean {
  if (constraint.kind === "gvk") return provider.apis.some((gvk) => sameGvk(gvk, constraint.gvk));
  if (constraint.kind === "cel") return constraint.holds(provider.properties);
  if (provider.packageName !== constraint.packageName || provider.version === undefined) return false;
  return constraint.range.versions.contains(provider.version.version);
}

function sameGvk(a: Gvk, b: Gvk): boolean {
  return a.kind === b.kind && a.group === b.group && a.version === b.version;
}
