import type { JsonObject } from "./k8s.ts";

/** True for what JSON calls an object: not a list, not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
