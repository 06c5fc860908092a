import { isObject } from "../../api/jsonObject.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import { excerpt } from "../../fbc/boundedTexts.ts";
import { foldKey } from "../../golang/members.ts";
import { kindOf, wrongKind } from "../../fbc/content.ts";
import { ReadFault } from "./readFault.ts";

/** The members of an object of a constraint, by their names in lower case, without those that are null: Go's decoder passes over them. */
export type Members = ReadonlyMap<string, unknown>;

/** `path` with what stands below it. */
export function below(path: string, member: string): string {
  return path === "" ? member : `${path}.${member}`;
}

/** @throws ReadFault when `value` is no object. */
export function objectAt(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw new ReadFault(path, `expected an object, got ${kindOf(value)}`);
}

/**
 * The members of `value`, whatever the case of their names.
 * @param known what may stand there; undefined where others are passed over.
 * @throws ReadFault when it is no object, has a member that nobody knows, or one twice.
 */
export function membersAt(value: unknown, path: string, known?: readonly string[]): Members {
  const object = objectAt(value, path);
  const members = new Map<string, unknown>();
  for (const key of Object.keys(object)) {
    const name = foldKey(key);
    if (known && !known.some((other) => foldKey(other) === name))
      throw new ReadFault(path, `unknown key ${goQuote(excerpt(key))}; known here: ${known.join(", ")}`);
    if (object[key] === null) continue;
    if (members.has(name)) throw new ReadFault(path, `key ${goQuote(excerpt(name))} stands there more than once`);
    members.set(name, object[key]);
  }
  return members;
}

/** The text of a member; undefined where there is none. @throws ReadFault when it is no text. */
export function textOf(members: Members, key: string, path: string): string | undefined {
  const value = members.get(foldKey(key));
  if (value === undefined || typeof value === "string") return value;
  throw new ReadFault(below(path, key), wrongKind(value, "a string"));
}
