/** Returns the texts that occur more than once, without duplicates, sorted. */
export function findDuplicates(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of names) (seen.has(name) ? twice : seen).add(name);
  return [...twice].sort();
}

/** Format of a list. */
export interface ListFormat {
  /** Maximum number of items. */
  readonly max: number;
  /** Text between two items; default: ", ". */
  readonly separator?: string;
  /** Total number of items if `items` contains only the first ones; default: the number of `items`. */
  readonly total?: number;
  /** Formats the number of omitted items as the last item; default: "and 3 more". */
  readonly rest?: (more: number) => string;
}

/** Formats the first items and the number of omitted items: `a, b and 3 more`, `a; b; and 3 more`. */
export function formatList(items: readonly string[], { max, separator = ", ", total = items.length, rest }: ListFormat): string {
  const shown = items.slice(0, max);
  const more = total - shown.length;
  if (more <= 0) return shown.join(separator);
  if (rest === undefined && separator === ", ") return `${shown.join(separator)} and ${more} more`;
  return [...shown, rest?.(more) ?? `and ${more} more`].join(separator);
}

/** Formats a count, for example `1 error` and `2 errors`. */
export function formatCount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
