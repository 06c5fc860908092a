/**
 * Negative where `a` comes before `b`, 0 where they are equal: by code units, so that the order is the same everywhere. Where no character lies
 * beyond the basic plane that is Go's order by bytes.
 */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Edits beyond which two names are not taken for each other. */
const MAX_EDITS = 2;
/** Names that are longer are not compared: nobody misspells what nobody writes. */
const MAX_LENGTH = 64;

/** The one of `names` that somebody who wrote `name` may have meant: the same but for letter case or a typing error or two; the first of equals. */
export function similarName(name: string, names: readonly string[]): string | undefined {
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

/** How many letters have to be put in, left out, replaced, or swapped with their neighbour. */
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
