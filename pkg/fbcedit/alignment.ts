import { isDeepStrictEqual } from "node:util";
import { isObject } from "../api/jsonObject.ts";

/** What became of a list: each old item with its place in the new one, or without one where it is gone. New items are those that no old one became. */
export type Alignment = ReadonlyMap<number, number>;

/** More pairs than this are not compared for the best alignment; then only what the lists begin and end with is kept. */
const MAX_PAIRS = 4_000_000;

/** Aligns the items of two lists in order, as many as possible; objects with a name are the same while they have it. */
export function aligned(before: readonly unknown[], after: readonly unknown[]): Alignment {
  const old = before.map(identity);
  const now = after.map(identity);
  const pairs = new Map<number, number>();
  let first = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) pairs.set(first, first++);
  let last = 0;
  while (last < old.length - first && last < now.length - first && old[old.length - 1 - last] === now[now.length - 1 - last]) last++;
  for (let i = 1; i <= last; i++) pairs.set(old.length - i, now.length - i);
  for (const [i, j] of longestCommon(old.slice(first, old.length - last), now.slice(first, now.length - last)))
    pairs.set(first + i, first + j);
  return pairs;
}

function longestCommon(a: readonly string[], b: readonly string[]): [number, number][] {
  if (a.length * b.length > MAX_PAIRS) return [];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (lengths[i] as Uint32Array)[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

function identity(item: unknown): string {
  if (!isObject(item)) return JSON.stringify(item, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)) ?? "";
  const { name, reference } = item;
  return JSON.stringify(typeof name === "string" ? [name] : isObject(reference) ? reference : item, (_, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
}

/** Whether two values are the same, whatever the order of their members. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b);
}
