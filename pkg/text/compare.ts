/**
 * Compares by UTF-16 code units, independent of the locale. Returns a negative number if `a` comes
 * before `b`, 0 if they are equal. For characters of the basic plane, the order is Go's order by
 * bytes.
 */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Compares by the bytes in UTF-8, as Go does. Differs from `compareText` only for characters outside
 * of the basic plane.
 */
export function compareUtf8(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Maximum number of edits between similar names. */
const MAX_EDITS = 2;
/** Maximum length of a name to compare; longer names are unlikely to be typed. */
const MAX_LENGTH = 64;

/**
 * Returns the name in `names` that is most similar to a misspelled `name`: equal except for letter
 * case or up to two typing errors. Returns the first of equally similar names.
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

/** Returns the number of edits between two names: letters to insert, remove, replace, or swap with the next letter. */
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
