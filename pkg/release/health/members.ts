import { isObject } from "../../api/jsonObject.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";

/** A condition as any controller may have written it: every member may be missing. */
export interface LooseCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

/** The member at `path`, such as "spec.updateStrategy.type"; undefined where a step of it is no object. */
export function memberAt(object: JsonObject, path: string): unknown {
  let value: unknown = object;
  for (const step of path.split(".")) value = isObject(value) ? value[step] : undefined;
  return value;
}

/** The number at `path`, or `otherwise`. */
export function numberAt(object: JsonObject, path: string, otherwise = 0): number {
  const value = memberAt(object, path);
  return typeof value === "number" ? value : otherwise;
}

/** The text at `path`, or `otherwise`. */
export function textAt(object: JsonObject, path: string, otherwise = ""): string {
  const value = memberAt(object, path);
  return typeof value === "string" ? value : otherwise;
}

/** The objects in the list at `path`; nothing where there is no list. */
export function listAt(object: JsonObject, path: string): JsonObject[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** `status.conditions`, in the order in which they stand there. */
export function conditionsOf(object: KubeObject): LooseCondition[] {
  return listAt(object, "status.conditions").map((condition) => ({
    type: textAt(condition, "type"),
    status: textAt(condition, "status"),
    reason: textAt(condition, "reason"),
    message: textAt(condition, "message"),
  }));
}
