import type { JsonObject } from "../api/k8s.ts";
import { foldKey } from "../fbc/keys.ts";

/** `object` with the member `key` set, or without it where the value is undefined; a key that is written in another case keeps it. */
export function withMember(object: Readonly<JsonObject>, key: string, value: unknown): JsonObject {
  const known = Object.keys(object).find((candidate) => foldKey(candidate) === key.toLowerCase());
  if (value !== undefined) return { ...object, [known ?? key]: value };
  return Object.fromEntries(Object.entries(object).filter(([candidate]) => candidate !== known));
}
