/**
 * Negative where `a` comes before `b`, 0 where they are equal: by code units, so that the order is the same everywhere. Where no character lies
 * beyond the basic plane that is Go's order by bytes.
 */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
