import type { JsonObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";

/** The object at a member; empty where there is none. */
export function readObjectField(value: unknown, member: string): JsonObject {
  const found = isObject(value) ? value[member] : undefined;
  return isObject(found) ? found : {};
}

/** The text at a member; undefined where there is none, or an empty one. */
export function readTextField(value: unknown, member: string): string | undefined {
  const found = isObject(value) ? value[member] : undefined;
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The objects in the list at a member. */
export function readObjectListField(value: unknown, member: string): JsonObject[] {
  const found = isObject(value) ? value[member] : undefined;
  return Array.isArray(found) ? found.filter((entry) => isObject(entry)) : [];
}

/** The texts in the list at a member. */
export function textsAt(value: unknown, member: string): string[] {
  const found = isObject(value) ? value[member] : undefined;
  return Array.isArray(found) ? found.filter((entry) => typeof entry === "string") : [];
}
