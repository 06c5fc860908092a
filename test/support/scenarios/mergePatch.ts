import type { JsonObject } from "../../../pkg/api/k8s.ts";

/** Applies a JSON merge patch: removes members that are null, merges objects, replaces everything else. @see RFC 7396 */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = isObject(value) ? mergePatch(isObject(merged[key]) ? merged[key] : {}, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
