import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { memberOf } from "../fbc/keys.ts";

/**
 * An item of a list of properties or dependencies without the member `property` that some authors put around it, as in
 * `- property: {type: color, value: red}`; one that states a type of its own stays as it is.
 */
export function unwrapped(item: JsonObject): JsonObject {
  const inner = memberOf(item, "property");
  return isObject(inner) && memberOf(item, "type") === undefined ? inner : item;
}
