import type { FbcBundle, Property } from "../fbc/types.ts";

const DEPENDENCY_TYPES: ReadonlySet<string> = new Set(["olm.package.required", "olm.gvk.required", "olm.constraint"]);

/** Whether a property of this type declares what a bundle needs. */
export function isDependency(type: string): boolean {
  return DEPENDENCY_TYPES.has(type);
}

/** The properties by which `bundle` declares what it needs, in the bundle's order. */
export function dependenciesOf(bundle: FbcBundle): Property[] {
  return bundle.properties.filter(({ type }) => isDependency(type));
}
