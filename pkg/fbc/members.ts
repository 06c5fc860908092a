import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { memberOf } from "./keys.ts";

// Members of objects that anybody may have written, whatever the case of their names: what has another kind than expected counts as absent.

/** A member that is text; empty where it is not. */
export function textMember(object: Readonly<JsonObject>, key: string): string {
  return givenText(object, key) ?? "";
}

/** The same, undefined where it is not. */
export function givenText(object: Readonly<JsonObject>, key: string): string | undefined {
  const value = memberOf(object, key);
  return typeof value === "string" ? value : undefined;
}

/** The text that Go reads: empty where the member is absent or null; undefined where it has another kind. */
export function readText(object: Readonly<JsonObject>, key: string): string | undefined {
  const value = memberOf(object, key) ?? "";
  return typeof value === "string" ? value : undefined;
}

/** A member that is a list; empty where it is not. */
export function listMember(object: Readonly<JsonObject>, key: string): readonly unknown[] {
  const value = memberOf(object, key);
  return Array.isArray(value) ? value : [];
}

/** The objects of a list member with their positions; what is no object stands for an empty one, as null does for Go. */
export function objectMembers(object: Readonly<JsonObject>, key: string): readonly JsonObject[] {
  return listMember(object, key).map((item) => (isObject(item) ? item : {}));
}

/** A member that is an object; undefined where it is not. */
export function objectMember(object: Readonly<JsonObject>, key: string): JsonObject | undefined {
  const value = memberOf(object, key);
  return isObject(value) ? value : undefined;
}

/** The object under `key`; an empty one where there is none. */
export function objectAt(object: Readonly<JsonObject>, key: string): Readonly<JsonObject> {
  return objectMember(object, key) ?? {};
}

/** The objects in the list under `key`, others left out. */
export function objectsAt(object: Readonly<JsonObject>, key: string): readonly JsonObject[] {
  return listMember(object, key).filter(isObject);
}
