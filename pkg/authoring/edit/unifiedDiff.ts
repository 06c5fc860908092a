/** Lines of what stays around each change. */
const CONTEXT = 3;

interface Change {
  /** Of the old lines, from 0; the new ones take their place. */
  readonly from: number;
  readonly to: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/**
 * What became of a file as a unified diff, which `git apply` and `patch -p1` take; empty where nothing did.
 * @param before undefined for a new file. @param after undefined for one that goes.
 */
export function unifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  if (before === after) return "";
  const old = linesOf(before ?? "");
  const now = linesOf(after ?? "");
  const head = `--- ${before === undefined ? "/dev/null" : `a/${path}`}\n+++ ${after === undefined ? "/dev/null" : `b/${path}`}\n`;
  const hunks = grouped(changesBetween(old, now)).map((changes) => hunk(changes, old, now));
  return head + hunks.join("");
}

/** With their newlines. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** @see Eugene W. Myers, An O(ND) Difference Algorithm and Its Variations, 1986 */
function changesBetween(old: readonly string[], now: readonly string[]): Change[] {
  let first = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) first++;
  let last = 0;
  while (last < old.length - first && last < now.length - first && old[old.length - 1 - last] === now[now.length - 1 - last]) last++;
  const a = old.slice(first, old.length - last);
  const b = now.slice(first, now.length - last);
  const matches = [...commonLines(a, b), [a.length, b.length] as const];
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  for (const [x, y] of matches) {
    if (x > i || y > j) changes.push({ from: first + i, to: first + x, newFrom: first + j, newTo: first + y });
    [i, j] = [x + 1, y + 1];
  }
  return changes;
}

/** Steps of the search; with more differences than this everything between is one change. */
const MAX_STEPS = 2_000;

function commonLines(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  const trace: Map<number, number>[] = [];
  const reached = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= Math.min(a.length + b.length, MAX_STEPS); d++) {
    trace.push(new Map(reached));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));
      let x = down ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reached.set(k, x);
      if (x >= a.length && x - k >= b.length) return walkedBack(trace, a.length, b.length);
    }
  }
  return [];
}

function walkedBack(trace: readonly ReadonlyMap<number, number>[], endX: number, endY: number): (readonly [number, number])[] {
  const matches: (readonly [number, number])[] = [];
  let [x, y] = [endX, endY];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reached = trace[d] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -d || (k !== d && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));
    const previousX = reached.get(down ? k + 1 : k - 1) ?? 0;
    const previousY = previousX - (down ? k + 1 : k - 1);
    while (x > previousX && y > previousY && x > 0 && y > 0) matches.push([--x, --y]);
    if (d > 0) [x, y] = [previousX, previousY];
  }
  return matches.reverse();
}

/** Changes so near to each other that they share a hunk. */
function grouped(changes: readonly Change[]): Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const group = groups.at(-1);
    const previous = group?.at(-1);
    if (group && previous && change.from - previous.to <= 2 * CONTEXT) group.push(change);
    else groups.push([change]);
  }
  return groups;
}

function hunk(changes: readonly Change[], old: readonly string[], now: readonly string[]): string {
  const [first] = changes;
  const last = changes.at(-1);
  if (!first || !last) return "";
  const start = Math.max(0, first.from - CONTEXT);
  const end = Math.min(old.length, last.to + CONTEXT);
  const newStart = first.newFrom - (first.from - start);
  const newEnd = last.newTo + (end - last.to);
  const lines: string[] = [];
  let at = start;
  for (const { from, to, newFrom, newTo } of changes) {
    lines.push(...old.slice(at, from).map((line) => ` ${line}`));
    lines.push(...old.slice(from, to).map((line) => `-${line}`), ...now.slice(newFrom, newTo).map((line) => `+${line}`));
    at = to;
  }
  lines.push(...old.slice(at, end).map((line) => ` ${line}`));
  const text = lines.map((line) => (line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`)).join("");
  return `@@ -${range(start, end)} +${range(newStart, newEnd)} @@\n${text}`;
}

function range(from: number, to: number): string {
  if (to === from) return `${from},0`;
  return to - from === 1 ? `${from + 1}` : `${from + 1},${to - from}`;
}
