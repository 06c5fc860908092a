import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";

/** The order of a table. */
export interface TableSort {
  /** Identifier of the column. */
  readonly column: string;
  readonly isDescending: boolean;
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** Sorts rows by a value, rows without it last. Rows with equal values keep their order; all do without `readValue`. */
export function sortRows<Row>(
  rows: readonly Row[],
  readValue: ((row: Row) => string | number | undefined) | undefined,
  isDescending: boolean,
): readonly Row[] {
  if (!readValue) return rows;
  const direction = isDescending ? -1 : 1;
  const valued = rows.map((row) => ({ row, value: readValue(row) }));
  return valued
    .sort(({ value: one }, { value: other }) => {
      if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
      return direction * compareValues(one, other);
    })
    .map(({ row }) => row);
}

/** Compares two values of a column: numbers by value, texts in the order of the language, with numbers in them by value. */
function compareValues(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(String(one), String(other));
}

/** Parses an order such as `name`, or `-name` for descending; returns `standard` if it names no column. */
export function parseSort(text: string | null, columns: readonly string[], standard: TableSort): TableSort {
  const isDescending = text?.startsWith("-") ?? false;
  const column = isDescending ? text?.slice(1) : text;
  return column && columns.includes(column) ? { column, isDescending } : standard;
}

/** Formats an order for an address. */
export function formatSort({ column, isDescending }: TableSort): string {
  return isDescending ? `-${column}` : column;
}

/** Parses the identifiers of columns in an address; returns `standard` without the parameter. */
export function parseColumns(text: string | null, columns: readonly string[], standard: readonly string[]): ReadonlySet<string> {
  if (text === null) return new Set(standard);
  const listed = new Set(text.split(","));
  return new Set(columns.filter((id) => listed.has(id)));
}

/** What the address says about a table. */
export interface TableState {
  readonly sort: TableSort;
  readonly setSort: (sort: TableSort) => void;
  readonly visible: ReadonlySet<string>;
  readonly setVisible: (visible: ReadonlySet<string>) => void;
}

/** Keeps the order and the columns of a table in the address: parameters `sort` and `columns`. The standard is omitted. */
export function useTableState(
  columns: readonly { readonly id: string }[],
  { sort: standardSort, columns: standardColumns }: { readonly sort: TableSort; readonly columns: readonly string[] },
): TableState {
  const [params, setParams] = useSearchParams();
  const ids = useMemo(() => columns.map(({ id }) => id), [columns]);
  const sortText = params.get("sort");
  const columnsText = params.get("columns");
  const sort = useMemo(() => parseSort(sortText, ids, standardSort), [sortText, ids, standardSort]);
  const visible = useMemo(() => parseColumns(columnsText, ids, standardColumns), [columnsText, ids, standardColumns]);
  const set = useCallback(
    (name: string, value: string, standard: string) =>
      setParams(
        (old) => {
          const next = new URLSearchParams(old);
          if (value === standard) next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [setParams],
  );
  return {
    sort,
    setSort: (next) => set("sort", formatSort(next), formatSort(standardSort)),
    visible,
    setVisible: (next) =>
      set("columns", ids.filter((id) => next.has(id)).join(","), ids.filter((id) => standardColumns.includes(id)).join(",")),
  };
}
