import { isObject } from "../../api/jsonObject.ts";
import type { JsonObject } from "../../api/k8s.ts";

/**
 * `over` merged over `under`: objects member by member, everything else, lists included, as a whole. A member that is null in `over` is in
 * neither. The parameters stay as they are; the answer may share parts with them.
 * @see https://www.rfc-editor.org/rfc/rfc7396 JSON Merge Patch, which Helm's merging of values amounts to
 */
export function mergeValues(under: JsonObject, over: JsonObject): JsonObject {
  const merged = new Map(Object.entries(under));
  for (const [name, value] of Object.entries(over)) {
    if (value === null) merged.delete(name);
    else if (isObject(value)) merged.set(name, mergeValues(objectIn(merged.get(name)), value));
    else merged.set(name, value);
  }
  return Object.fromEntries(merged);
}

function objectIn(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
