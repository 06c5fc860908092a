/** Longer names are not compared. */
const MAX_LENGTH = 128;
const MAX_FOUND = 3;

/** The names that may have been meant by one that there is not: those that it is a piece of, or that differ by a few letters; nearest first, at most three. */
export function closestNames(meant: string, names: readonly string[]): string[] {
  const wanted = meant.toLowerCase().slice(0, MAX_LENGTH);
  const most = Math.max(1, Math.floor(wanted.length / 3));
  return names
    .flatMap((name) => {
      const small = name.toLowerCase();
      if (small.length > MAX_LENGTH || wanted === "") return [];
      const distance = small.includes(wanted) || wanted.includes(small) ? 0.5 : differences(wanted, small, most);
      return distance <= most ? [{ name, distance }] : [];
    })
    .sort((a, b) => a.distance - b.distance || a.name.length - b.name.length || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_FOUND)
    .map(({ name }) => name);
}

/** Letters to put in, take out or change; more than `most` where that is certain. */
function differences(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
