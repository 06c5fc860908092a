import { isObject } from "../api/jsonObject.ts";
import type { KubeObject } from "../api/k8s.ts";
import { type Difference, differences, type PathStep, pathText } from "./diff.ts";
import { isApplied, managersOf } from "./fieldManagers.ts";
import { valueAt } from "./jsonPointer.ts";

/** A field of a live object that an apply changes, or would change. */
export interface DriftedField {
  /** Such as `spec.ports[name=metrics].port`. */
  readonly path: string;
  /** Who else than we owns the live value; empty where nobody does, as of a field that was removed. */
  readonly managers: readonly string[];
}

/**
 * The fields of our applies in which a live object differs from what the API server makes of an apply to it, dry run or not; both as the
 * server gave them, so that defaults and ways of writing play no part, nor does what others wrote between the two. In the order of the object.
 * @param before the live object. @param after the answer to the apply.
 */
export function driftedFields(before: KubeObject, after: KubeObject): DriftedField[] {
  return driftIn(before, after).map(({ path }) => ({ path: pathText(path), managers: managersOf(before, positionsIn(before, path)) }));
}

/** The same with paths in steps and the values. */
export function driftIn(before: KubeObject, after: KubeObject): Difference[] {
  return differences(before, after).filter(({ path }) => isApplied(after, positionsIn(after, path)));
}

/** The same path with the position of each entry of a list in `object`; -1 for one that is not there. */
export function positionsIn(object: unknown, path: readonly PathStep[]): string[] {
  let at = object;
  return path.map((step) => {
    const member = positionOf(at, step);
    at = valueAt(at, [member]);
    return member;
  });
}

function positionOf(at: unknown, step: PathStep): string {
  if (typeof step === "string") return step;
  if ("index" in step) return String(step.index);
  const { key, value } = step;
  return String(Array.isArray(at) ? at.findIndex((entry) => isObject(entry) && entry[key] === value) : -1);
}
