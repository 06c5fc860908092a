/** The texts that occur more than once, each once, sorted. */
export function findDuplicates(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of names) (seen.has(name) ? twice : seen).add(name);
  return [...twice].sort();
}
