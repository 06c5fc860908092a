import type { JsonObject } from "../api/k8s.ts";

/** Reports whether a value is a JSON object: not a list and not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Letters that case folding changes to ASCII: `ſ` becomes `s`, and the Kelvin sign `k`; no other letter folds to ASCII. */
const FOLDED = /[A-Z\u017f\u212a]/g;
/** The upper case of `ı` is `I`, but it folds to itself. */
const DOTLESS_I = "\u0131";

/**
 * Returns `key` in the form that encoding/json uses to compare names of members with ASCII names: with Unicode's simple case folding.
 * @see https://github.com/golang/go/blob/go1.26.0/src/encoding/json/fold.go
 */
export function foldKey(key: string): string {
  return key.replace(FOLDED, (char) => (char === "\u017f" ? "s" : char === "\u212a" ? "k" : char.toLowerCase()));
}

/**
 * Returns `key` with Unicode's full case folding, which the catalog loader uses to compare the names of top-level members.
 * @see https://pkg.go.dev/golang.org/x/text/cases#Fold
 */
export function foldCase(key: string): string {
  const fold = (part: string): string => part.toUpperCase().toLowerCase().replaceAll("\u03c2", "\u03c3");
  return key.split(DOTLESS_I).map(fold).join(DOTLESS_I);
}

/**
 * Returns the member of `object` named `key`, in any letter case, as Go's JSON decoder finds fields; prefers the exact name.
 * @param key ASCII text
 */
export function findMember(object: Readonly<Record<string, unknown>>, key: string): unknown {
  if (Object.hasOwn(object, key)) return object[key];
  const folded = key.toLowerCase();
  const name = Object.keys(object).find((candidate) => foldKey(candidate) === folded);
  return name === undefined ? undefined : object[name];
}

// Reads members of untrusted objects, in any letter case. Values of unexpected types count as absent.

/** Returns a string member; empty if it is not a string. */
export function getTextMember(object: Readonly<JsonObject>, key: string): string {
  return getOptionalText(object, key) ?? "";
}

/** Returns a string member; undefined if it is not a string. */
export function getOptionalText(object: Readonly<JsonObject>, key: string): string | undefined {
  const value = findMember(object, key);
  return typeof value === "string" ? value : undefined;
}

/** Returns the string that Go decodes: empty if the member is absent or null; undefined if it is of another type. */
export function readGoText(object: Readonly<JsonObject>, key: string): string | undefined {
  const value = findMember(object, key) ?? "";
  return typeof value === "string" ? value : undefined;
}

/** Returns a list member; empty if it is not a list. */
export function getListMember(object: Readonly<JsonObject>, key: string): readonly unknown[] {
  const value = findMember(object, key);
  return Array.isArray(value) ? value : [];
}

/** Returns the objects of a list member with their indexes; other values become empty objects, as null does in Go. */
export function getObjectMembers(object: Readonly<JsonObject>, key: string): readonly JsonObject[] {
  return getListMember(object, key).map((item) => (isObject(item) ? item : {}));
}

/** Returns an object member; undefined if it is not an object. */
export function getObjectMember(object: Readonly<JsonObject>, key: string): JsonObject | undefined {
  const value = findMember(object, key);
  return isObject(value) ? value : undefined;
}

/** Returns the object under `key`; an empty one if it does not exist or `value` is not an object. */
export function getObjectAt(value: unknown, key: string): Readonly<JsonObject> {
  return (isObject(value) ? getObjectMember(value, key) : undefined) ?? {};
}

/** Returns the objects in the list under `key`; ignores values of other types. */
export function getObjectsAt(value: unknown, key: string): readonly JsonObject[] {
  return isObject(value) ? getListMember(value, key).filter(isObject) : [];
}

/** Returns the strings in the list under `key`; ignores values of other types. */
export function getTextsAt(value: unknown, key: string): readonly string[] {
  return isObject(value) ? getListMember(value, key).filter((item) => typeof item === "string") : [];
}

/** Returns the string under `key`; undefined if it does not exist or is empty. */
export function getNonEmptyText(value: unknown, key: string): string | undefined {
  return (isObject(value) && getTextMember(value, key)) || undefined;
}

/** Returns `object` with the member `key`, or without it if the value is undefined. An existing key in another case keeps its spelling. */
export function withMember(object: Readonly<JsonObject>, key: string, value: unknown): JsonObject {
  const known = Object.keys(object).find((candidate) => foldKey(candidate) === key.toLowerCase());
  if (value !== undefined) return { ...object, [known ?? key]: value };
  return Object.fromEntries(Object.entries(object).filter(([candidate]) => candidate !== known));
}
