import { type ObjectRef, refOf } from "../../api/k8s.ts";
import { type DriftedField, driftedFields } from "../../release/driftedFields.ts";
import { describeObject } from "../../release/identity.ts";
import type { Outcome } from "./applier.ts";
import { listed } from "./objectAction.ts";

/** An object that is other than it was applied. */
export interface Drift {
  readonly ref: ObjectRef;
  /** Empty when the object was gone. */
  readonly fields: readonly DriftedField[];
}

/** What an apply put right, or a dry run would; undefined where the object is as it should be, or nothing is known. */
export function driftOf(outcome: Outcome | undefined): Drift | undefined {
  if (!outcome) return undefined;
  const { before, after } = outcome;
  if (!before) return { ref: refOf(after), fields: [] };
  const fields = driftedFields(before, after);
  return fields.length > 0 ? { ref: refOf(before), fields } : undefined;
}

/** Such as `Service ns/a was changed: /spec/ports/0/name by "kubectl-edit"`; never with values, which may be secret. */
export function describeDrift({ ref, fields }: Drift): string {
  if (fields.length === 0) return `${describeObject(ref)} was deleted`;
  return `${describeObject(ref)} was changed: ${listed(fields.map(describeField))}`;
}

function describeField({ path, managers }: DriftedField): string {
  return managers.length === 0 ? `${path} removed` : `${path} by ${managers.map((manager) => `"${manager}"`).join(" and ")}`;
}
