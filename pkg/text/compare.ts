/**
 * Compares by code units, which is independent of the locale: negative if `a` comes before `b`, 0
 * if they are equal. Without characters beyond the basic plane this is Go's order by bytes.
 */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Maximum number of edits between similar names. */
const MAX_EDITS = 2;
/** Longer names are not compared, because they are unlikely to be typed. */
const MAX_LENGTH = 64;

/**
 * Returns the name in `names` that a misspelled `name` probably means: equal except for letter case
 * or up to two typing errors; the first of equals.
 */
export function findSimilarName(name: string, names: readonly string[]): string | undefined {
  const written = name.toLowerCase();
  if (written.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let least = Math.min(MAX_EDITS, Math.floor(written.length / 3)) + 1;
  for (const candidate of names) {
    const edits = editsBetween(written, candidate.toLowerCase());
    if (edits < least) [best, least] = [candidate, edits];
  }
  return best;
}

/** Returns the number of letters to insert, remove, replace, or swap with the next one. */
function editsBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isSwap ? Math.min(edits, (before[j - 2] ?? 0) + 1) : edits);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
