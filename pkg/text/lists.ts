/** The texts that occur more than once, each once, sorted. */
export function findDuplicates(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of names) (seen.has(name) ? twice : seen).add(name);
  return [...twice].sort();
}

/** How a list is written. */
export interface ListFormat {
  /** How many items are told at the most. */
  readonly max: number;
  /** What stands between two items; ", " when left out. */
  readonly separator?: string;
  /** How many there are, where `items` holds only the first; as many as `items` when left out. */
  readonly total?: number;
  /** What stands for those that are left out, as an item of its own; "and 3 more" when left out. */
  readonly rest?: (more: number) => string;
}

/** The first items, and how many more there are: `a, b and 3 more`, `a; b; and 3 more`. */
export function formatList(items: readonly string[], { max, separator = ", ", total = items.length, rest }: ListFormat): string {
  const told = items.slice(0, max);
  const more = total - told.length;
  if (more <= 0) return told.join(separator);
  if (rest === undefined && separator === ", ") return `${told.join(separator)} and ${more} more`;
  return [...told, rest?.(more) ?? `and ${more} more`].join(separator);
}

/** A number of things, such as `1 error` and `2 errors`. */
export function formatCount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
