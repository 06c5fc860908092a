/** The texts that occur more than once, each once, sorted. */
export function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of names) (seen.has(name) ? twice : seen).add(name);
  return [...twice].sort();
}

/** Negative, 0 or positive by code units, which for the texts that bundles hold is Go's order by bytes. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
