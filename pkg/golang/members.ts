import type { JsonObject } from "../api/k8s.ts";

/** True for what JSON calls an object: not a list, not null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Letters whose case changes a comparison with names in ASCII: `ſ` is an `s`, and the Kelvin sign a `k`; no other letter folds to ASCII. */
const FOLDED = /[A-Z\u017f\u212a]/g;
/** Its capital is I, but it folds to itself. */
const DOTLESS_I = "\u0131";

/**
 * Returns `key` in the form in which encoding/json compares the names of members with names in ASCII: by Unicode's simple case folding.
 * @see https://github.com/golang/go/blob/go1.26.0/src/encoding/json/fold.go
 */
export function foldKey(key: string): string {
  return key.replace(FOLDED, (char) => (char === "\u017f" ? "s" : char === "\u212a" ? "k" : char.toLowerCase()));
}

/**
 * Returns `key` by Unicode's full case folding, in which the loader of catalogs compares the names of top-level members.
 * @see https://pkg.go.dev/golang.org/x/text/cases#Fold
 */
export function foldCase(key: string): string {
  const fold = (part: string): string => part.toUpperCase().toLowerCase().replaceAll("\u03c2", "\u03c3");
  return key.split(DOTLESS_I).map(fold).join(DOTLESS_I);
}

/**
 * The member of `object` named `key`, whatever the case of its letters, as Go's JSON decoder finds fields; the exact name comes first.
 * @param key in ASCII.
 */
export function memberOf(object: Readonly<Record<string, unknown>>, key: string): unknown {
  if (Object.hasOwn(object, key)) return object[key];
  const folded = key.toLowerCase();
  const name = Object.keys(object).find((candidate) => foldKey(candidate) === folded);
  return name === undefined ? undefined : object[name];
}

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
export function readGoText(object: Readonly<JsonObject>, key: string): string | undefined {
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

/** Returns the object under `key`; an empty one if there is none, or `value` is no object. */
export function objectAt(value: unknown, key: string): Readonly<JsonObject> {
  return (isObject(value) ? objectMember(value, key) : undefined) ?? {};
}

/** Returns the objects in the list under `key`; values of other kinds are left out. */
export function objectsAt(value: unknown, key: string): readonly JsonObject[] {
  return isObject(value) ? listMember(value, key).filter(isObject) : [];
}

/** Returns the texts in the list under `key`; values of other kinds are left out. */
export function textsAt(value: unknown, key: string): readonly string[] {
  return isObject(value) ? listMember(value, key).filter((item) => typeof item === "string") : [];
}

/** Returns the text under `key`; undefined if there is none, or it is empty. */
export function nonEmptyText(value: unknown, key: string): string | undefined {
  return (isObject(value) && textMember(value, key)) || undefined;
}

/** `object` with the member `key` set, or without it where the value is undefined; a key that is written in another case keeps it. */
export function withMember(object: Readonly<JsonObject>, key: string, value: unknown): JsonObject {
  const known = Object.keys(object).find((candidate) => foldKey(candidate) === key.toLowerCase());
  if (value !== undefined) return { ...object, [known ?? key]: value };
  return Object.fromEntries(Object.entries(object).filter(([candidate]) => candidate !== known));
}
