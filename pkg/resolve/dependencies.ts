import { goQuote } from "../errors/goQuote.ts";
import type { FbcBundle, Property } from "../fbc/types.ts";

const DEPENDENCY_TYPES: ReadonlySet<string> = new Set(["olm.package.required", "olm.gvk.required", "olm.constraint"]);

/** The properties by which `bundle` declares what it needs, in the bundle's order. */
export function dependenciesOf(bundle: FbcBundle): Property[] {
  return bundle.properties.filter(({ type }) => DEPENDENCY_TYPES.has(type));
}

/**
 * The Go operator-controller's refusal of a bundle with dependencies, naming the first; undefined when there are none.
 * @see operator-controller internal/operator-controller/catalogmetadata/filter and resolve/validation
 */
export function dependencyRefusal(bundle: FbcBundle): string | undefined {
  const [first] = dependenciesOf(bundle);
  if (!first) return undefined;
  const name = goQuote(bundle.name);
  return `validating bundle ${name}: bundle ${name} has a dependency declared via property ${goQuote(first.type)} which is currently not supported`;
}
