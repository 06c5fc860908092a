import type { KubeObject } from "../api/k8s.ts";
import { canonicalJson } from "../fbc/canonical.ts";
import { managersOf } from "./fieldManagers.ts";
import { isObject } from "./jsonObject.ts";
import { pointerOf } from "./jsonPointer.ts";

/** A field of a live object that an apply changes, or would change. */
export interface DriftedField {
  /** JSON pointer (RFC 6901); positions of lists are those of the live object, or of the applied one where the live one lacks the item. */
  readonly path: string;
  /** Who owns the live value; empty where nobody does, as of a field that was removed. */
  readonly managers: readonly string[];
}

/** Members that the API server keeps itself; an apply changes them without changing what anybody wants. */
const KEPT_BY_SERVER: ReadonlySet<string> = new Set([
  "managedFields",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "uid",
  "selfLink",
]);
/** Fields told of one object; the rest is one entry for their parent. */
const MAX_FIELDS = 20;
/** Members of which one tells the items of a list apart, in this order. */
const ITEM_KEYS = ["name", "containerPort", "port", "key", "mountPath", "type"];

/**
 * The fields in which a live object differs from what the API server makes of an apply to it, dry run or not; both as the server gave them,
 * so that defaults and ways of writing play no part. At most 20, in order of the object.
 * @param before the live object.
 * @param after the answer of the apply.
 */
export function driftedFields(before: KubeObject, after: KubeObject): DriftedField[] {
  const found: string[][] = [];
  compare(withoutServerFields(before), withoutServerFields(after), [], found);
  return found.slice(0, MAX_FIELDS).map((path) => ({ path: pointerOf(path), managers: managersOf(before, path) }));
}

function withoutServerFields({ status: _status, metadata, ...rest }: KubeObject): Record<string, unknown> {
  return { ...rest, metadata: Object.fromEntries(Object.entries(metadata).filter(([member]) => !KEPT_BY_SERVER.has(member))) };
}

/** Collects the paths of the deepest members that differ. */
function compare(before: unknown, after: unknown, path: string[], found: string[][]): void {
  if (found.length >= MAX_FIELDS || canonicalJson(before) === canonicalJson(after)) return;
  if (isObject(before) && isObject(after)) {
    for (const member of new Set([...Object.keys(before), ...Object.keys(after)]))
      compare(before[member], after[member], [...path, member], found);
  } else if (Array.isArray(before) && Array.isArray(after)) {
    compareLists(before, after, path, found);
  } else {
    found.push(path);
  }
}

function compareLists(before: readonly unknown[], after: readonly unknown[], path: string[], found: string[][]): void {
  const pairs = paired(before, after);
  if (!pairs) {
    found.push(path);
    return;
  }
  for (const [position, was, is] of pairs) {
    if (was === undefined || is === undefined) found.push([...path, position]);
    else compare(was, is, [...path, position], found);
  }
}

/** Items of two lists that are the same item; undefined where they cannot be told, as of plain values. */
function paired(before: readonly unknown[], after: readonly unknown[]): [position: string, was: unknown, is: unknown][] | undefined {
  const key = ITEM_KEYS.find((candidate) => [before, after].every((list) => isKeyedBy(list, candidate)));
  if (key === undefined) return undefined;
  const keyOf = (item: unknown): unknown => (isObject(item) ? item[key] : undefined);
  const applied = new Map(after.map((item) => [keyOf(item), item]));
  const known = new Set(before.map(keyOf));
  return [
    ...before.map((item, i): [string, unknown, unknown] => [String(i), item, applied.get(keyOf(item))]),
    ...after.flatMap((item, i): [string, unknown, unknown][] => (known.has(keyOf(item)) ? [] : [[String(i), undefined, item]])),
  ];
}

function isKeyedBy(list: readonly unknown[], key: string): boolean {
  const keys = list.map((item) => (isObject(item) ? item[key] : undefined));
  return keys.every((value) => typeof value === "string" || typeof value === "number") && new Set(keys).size === keys.length;
}
