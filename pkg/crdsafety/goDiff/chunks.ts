import { type Edit, editScript } from "./editScript.ts";
import type { Sign } from "./textTree.ts";

/** A run of elements that stands in both lists or in one of them; or, elided, an ellipsis for elements that stand in both. */
export interface Chunk<T> {
  readonly sign: Sign;
  readonly part: readonly T[];
  readonly elided?: boolean;
}

/** Elements next to each other: how many of them are in both lists, and in the first and in the second one only. */
interface Group {
  same: number;
  removed: number;
  inserted: number;
}

/** Elements that are the same are shown around a difference, two chunks of them. */
const CONTEXT_CHUNKS = 2;

/**
 * What differs between two lists, in chunks of at most `size` elements, and what is the same around it; at most `most` chunks and what
 * completes the last difference. Differences with little the same between them are told as one.
 */
export function chunks<T>(x: readonly T[], y: readonly T[], { size, most }: { size: number; most: number }): Chunk<T>[] {
  const equal = (ix: number, iy: number) => x[ix] === y[iy];
  const edits = editScript(x.length, y.length, (ix, iy) => (equal(ix, iy) ? { same: 1, diff: 0 } : { same: 0, diff: 2 }));
  const groups = trimmed(joined(groupsOf(edits), Math.floor(size / 4)), equal);
  const out: Chunk<T>[] = [];
  let [ix, iy, differences] = [0, 0, 0];
  for (const [index, { same, removed, inserted }] of groups.entries()) {
    if (differences >= most) return [...out, { sign: "", part: [], elided: true }];
    if (removed + inserted === 0) {
      out.push(...sameChunks(x.slice(ix, ix + same), size, { first: index === 0, last: index === groups.length - 1 }));
      ix += same;
      iy += same;
      continue;
    }
    const before = out.length;
    out.push(...split(x.slice(ix, ix + same + removed), size, "-"), ...split(y.slice(iy, iy + same + inserted), size, "+"));
    ix += same + removed;
    iy += same + inserted;
    differences += out.length - before;
  }
  return out;
}

function sameChunks<T>(part: readonly T[], size: number, { first, last }: { first: boolean; last: boolean }): Chunk<T>[] {
  const context = size * CONTEXT_CHUNKS;
  const low = first ? 0 : Math.min(context, part.length);
  let high = last ? 0 : Math.min(context, part.length - low);
  if (part.length - (low + high) <= size) high = part.length - low;
  const elided: Chunk<T>[] = part.length > low + high ? [{ sign: "", part: [], elided: true }] : [];
  return [...split(part.slice(0, low), size, ""), ...elided, ...split(part.slice(part.length - high), size, "")];
}

function split<T>(part: readonly T[], size: number, sign: Sign): Chunk<T>[] {
  const out: Chunk<T>[] = [];
  for (let at = 0; at < part.length; at += size) out.push({ sign, part: part.slice(at, at + size) });
  return out;
}

function groupsOf(edits: readonly Edit[]): Group[] {
  const groups: Group[] = [];
  let inSame: boolean | undefined;
  for (const edit of edits) {
    if ((edit === "same") !== inSame) groups.push({ same: 0, removed: 0, inserted: 0 });
    inSame = edit === "same";
    const group = groups.at(-1);
    if (!group) continue;
    if (edit === "same") group.same++;
    if (edit === "x" || edit === "changed") group.removed++;
    if (edit === "y" || edit === "changed") group.inserted++;
  }
  return groups;
}

/** Differences with no more than `window` same elements between them as one, where both lists have a part in it. */
function joined(groups: readonly Group[], window: number): Group[] {
  const out: Group[] = [];
  for (const next of groups) {
    const [before, between] = out.slice(-2);
    if (before && between && next.removed + next.inserted > 0 && between.same <= window) {
      if (before.removed + next.removed > 0 && before.inserted + next.inserted > 0) {
        before.same += between.same + next.same;
        before.removed += next.removed;
        before.inserted += next.inserted;
        out.pop();
        continue;
      }
    }
    out.push({ ...next });
  }
  return out;
}

/** Same elements at the start and the end of a difference belong to what is the same before and after it. */
function trimmed(groups: readonly Group[], equal: (ix: number, iy: number) => boolean): Group[] {
  const out = groups.map((group) => ({ ...group }));
  let [ix, iy, atStart, atEnd] = [0, 0, 0, 0];
  for (const [index, group] of out.entries()) {
    if (group.removed + group.inserted === 0) {
      ix += group.same;
      iy += group.same;
      continue;
    }
    let nx = group.same + group.removed;
    let ny = group.same + group.inserted;
    let [leading, trailing] = [0, 0];
    while (leading < nx && leading < ny && equal(ix + leading, iy + leading)) leading++;
    while (leading + trailing < Math.min(nx, ny) && equal(ix + nx - 1 - trailing, iy + ny - 1 - trailing)) trailing++;
    if (leading + trailing > 0) {
      const [before, after] = [out[index - 1], out[index + 1]];
      if (before) before.same += leading;
      else atStart = leading;
      if (after) after.same += trailing;
      else atEnd = trailing;
      ix += leading;
      iy += leading;
      nx -= leading + trailing;
      ny -= leading + trailing;
      out[index] = { same: 0, removed: nx, inserted: ny };
    }
    ix += nx;
    iy += ny;
  }
  const none = { removed: 0, inserted: 0 };
  return [...(atStart > 0 ? [{ same: atStart, ...none }] : []), ...out, ...(atEnd > 0 ? [{ same: atEnd, ...none }] : [])];
}
