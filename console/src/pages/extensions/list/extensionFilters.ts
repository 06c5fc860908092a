import type { ExtensionRow } from "../../../../../pkg/consoleapi/live.ts";

/** Filters with values of the rows. */
const VALUE_FILTERS = ["state", "package", "catalog", "namespace"] as const;
/** A filter with values of the rows. */
export type ValueFilter = (typeof VALUE_FILTERS)[number];

/** Filters that are on or off. */
export const MARKS = ["attention", "update", "deprecated"] as const;
/** A filter that is on or off. */
export type Mark = (typeof MARKS)[number];

/** Which extensions the list shows. A filter without values selects all. */
export interface ExtensionFilters extends Readonly<Record<ValueFilter, readonly string[]>> {
  /** Words that a row must contain. */
  readonly text: string;
  /** Marks of which a row must have all. */
  readonly marks: readonly Mark[];
}

const READ: Readonly<Record<ValueFilter, (row: ExtensionRow) => string | undefined>> = {
  state: ({ state }) => state.text,
  package: (row) => row.package,
  catalog: ({ catalog }) => catalog,
  namespace: ({ namespace }) => namespace,
};

const HAS_MARK: Readonly<Record<Mark, (row: ExtensionRow) => boolean>> = {
  attention: ({ attention }) => attention !== undefined,
  update: ({ hasUpdate }) => hasUpdate === true,
  deprecated: ({ deprecated }) => deprecated,
};

/** Parses the filters in an address. */
export function parseFilters(params: URLSearchParams): ExtensionFilters {
  return {
    text: params.get("q") ?? "",
    state: params.getAll("state"),
    package: params.getAll("package"),
    catalog: params.getAll("catalog"),
    namespace: params.getAll("namespace"),
    marks: MARKS.filter((mark) => params.getAll("only").includes(mark)),
  };
}

/** Returns the parameters of an address with other filters. Keeps the parameters that are not filters. */
export function writeFilters(params: URLSearchParams, filters: ExtensionFilters): URLSearchParams {
  const next = new URLSearchParams(params);
  const set = (name: string, values: readonly string[]): void => {
    next.delete(name);
    for (const value of values) next.append(name, value);
  };
  set("q", filters.text === "" ? [] : [filters.text]);
  for (const name of VALUE_FILTERS) set(name, filters[name]);
  set("only", filters.marks);
  return next;
}

/** Returns the rows that match all filters. */
export function filterExtensions(rows: readonly ExtensionRow[], filters: ExtensionFilters): ExtensionRow[] {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(
    (row) =>
      VALUE_FILTERS.every((name) => filters[name].length === 0 || filters[name].includes(READ[name](row) ?? "")) &&
      filters.marks.every((mark) => HAS_MARK[mark](row)) &&
      matchesWords(row, words),
  );
}

function matchesWords(row: ExtensionRow, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const { name, version, bundle, catalog, namespace, state, problems, attention } = row;
  const text = [name, row.package, version, bundle, catalog, namespace, state.text, ...problems, attention?.sentence]
    .join("\n")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Whether any filter is set. */
export function hasFilters(filters: ExtensionFilters): boolean {
  return filters.text !== "" || filters.marks.length > 0 || VALUE_FILTERS.some((name) => filters[name].length > 0);
}

/** Returns the values of a filter in the rows with their numbers, in the order of the language, and the selected values without rows. */
export function countValues(
  rows: readonly ExtensionRow[],
  name: ValueFilter,
  selected: readonly string[],
): { value: string; count: number }[] {
  const counts = new Map<string, number>(selected.map((value) => [value, 0]));
  for (const row of rows) {
    const value = READ[name](row);
    if (value !== undefined && value !== "") counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].map(([value, count]) => ({ value, count })).sort((one, other) => one.value.localeCompare(other.value));
}

/** Returns the number of rows with a mark. */
export function countMark(rows: readonly ExtensionRow[], mark: Mark): number {
  return rows.filter(HAS_MARK[mark]).length;
}
