import type { Property } from "../../fbc/types.ts";
import { isDependency } from "../dependencies.ts";
import type { CelCompiler } from "./celCompiler.ts";
import type { BundleConstraint } from "./constraint.ts";
import type { ConstraintFault } from "./constraintFault.ts";
import { ConstraintReader } from "./constraintReader.ts";
import { ReadFault } from "./readFault.ts";

/** What a bundle asks of the bundles that it is installed among. */
export interface DeclaredConstraints {
  /** In the order of the properties; all of them have to hold. */
  readonly constraints: readonly BundleConstraint[];
  /** Properties that cannot be read. With one, nobody can tell whether the bundle may be installed. */
  readonly faults: readonly ConstraintFault[];
}

/** Most faults that are told of one bundle. */
const MAX_FAULTS = 20;

/**
 * Reads the properties `olm.package.required`, `olm.gvk.required` and `olm.constraint` of a bundle; the others mean nothing here.
 * Work is bounded by the size of the properties, and by 512 constraints.
 * @param cel asked only where there is a rule of CEL, see `mentionsCel`.
 */
export function constraintsOf(
  bundle: { readonly name: string; readonly properties: readonly Property[] },
  cel: Pick<CelCompiler, "compile">,
): DeclaredConstraints {
  const reader = new ConstraintReader(cel);
  const constraints: BundleConstraint[] = [];
  const faults: ConstraintFault[] = [];
  for (const [property, { type, value }] of bundle.properties.entries()) {
    if (!isDependency(type)) continue;
    try {
      constraints.push(reader.read(type, value));
    } catch (err) {
      if (!(err instanceof ReadFault)) throw err;
      faults.push({ bundle: bundle.name, property, type, path: err.path, reason: err.message });
      if (faults.length === MAX_FAULTS) break;
    }
  }
  return { constraints, faults };
}
