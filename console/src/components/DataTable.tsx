import "@patternfly/patternfly/components/Table/table.css";
import "./dataTable.css";
import { AngleDownIcon, AngleUpIcon, ArrowsAltVIcon } from "@patternfly/react-icons";
import { type KeyboardEvent, memo, type ReactElement, type ReactNode, useCallback, useMemo, useRef } from "react";
import { Link } from "react-router";
import { sortRows, type TableSort } from "./tableState.ts";
import { useVirtualRows } from "./virtualRows.ts";

/** A column of a table. */
export interface DataColumn<Row> {
  readonly id: string;
  readonly label: string;
  /** What to sort by, undefined last; absent if the column cannot be sorted. */
  readonly sortValue?: (row: Row) => string | number | undefined;
  /** Whether the first click sorts in descending order, for example for times. */
  readonly isDescendingFirst?: boolean;
  readonly cell: (row: Row) => ReactNode;
  /** Minimum width in CSS, such as `8rem`. */
  readonly minWidth?: string;
}

/** Moves of the keyboard focus between rows. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/**
 * A table of any number of rows: sorts, renders only the visible rows, and turns rows into cards on narrow screens. The first column links to the
 * row's page. Arrow keys, Home and End move between the links of rows, Enter opens.
 */
export function DataTable<Row>({
  label,
  columns,
  visible,
  rows,
  getId,
  getPath,
  sort,
  onSort,
  empty,
}: {
  /** Says what the rows are. */
  readonly label: string;
  /** In their order. A new array renders all rows again, so keep it. */
  readonly columns: readonly DataColumn<Row>[];
  /** Identifiers of the shown columns, except the first, which is always shown. */
  readonly visible: ReadonlySet<string>;
  readonly rows: readonly Row[];
  readonly getId: (row: Row) => string;
  /** Address of the row's page. */
  readonly getPath: (row: Row) => string;
  readonly sort: TableSort;
  readonly onSort: (sort: TableSort) => void;
  /** Shown in place of rows if there are none. */
  readonly empty: ReactNode;
}): ReactElement {
  const shown = useMemo(() => columns.filter(({ id }, i) => i === 0 || visible.has(id)), [columns, visible]);
  const sorted = useMemo(
    () => sortRows(rows, columns.find(({ id }) => id === sort.column)?.sortValue, sort.isDescending),
    [rows, columns, sort],
  );
  const container = useRef<HTMLDivElement>(null);
  const { items, before, after, measure, focusRow } = useVirtualRows(container, sorted.length);
  const last = sorted.length - 1;
  const moveFocus = useCallback((index: number) => focusRow(Math.min(Math.max(index, 0), last)), [focusRow, last]);
  return (
    <div className="olm-table" ref={container}>
      <table className="pf-v6-c-table pf-m-compact" aria-label={label} aria-rowcount={sorted.length + 1}>
        <Head columns={shown} sort={sort} onSort={onSort} />
        <tbody className="pf-v6-c-table__tbody">
          <Spacer height={before} />
          {items.map(({ index }) => {
            const row = sorted[index];
            if (!row) return undefined;
            return (
              <DataRow key={getId(row)} row={row} index={index} columns={shown} getPath={getPath} measure={measure} onMove={moveFocus} />
            );
          })}
          <Spacer height={after} />
        </tbody>
      </table>
      {sorted.length === 0 && empty}
    </div>
  );
}

interface DataRowProps<Row> {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly DataColumn<Row>[];
  readonly getPath: (row: Row) => string;
  readonly measure: (element: HTMLElement | null) => void;
  /** Focuses the row with the index, or the nearest one. */
  readonly onMove: (index: number) => void;
}

/** One row. It is rendered again only after a change of it, not after each scroll. */
const DataRow = memo(function DataRow<Row>({ row, index, columns, getPath, measure, onMove }: DataRowProps<Row>): ReactElement {
  const handleKey = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onMove(index + step);
  };
  return (
    <tr ref={measure} data-index={index} aria-rowindex={index + 2} className="pf-v6-c-table__tr">
      {columns.map(({ id, label, cell }, i) => (
        <td key={id} className="pf-v6-c-table__td" data-label={label}>
          {i === 0 ? (
            <Link to={getPath(row)} data-row-link="" className="olm-break" onKeyDown={handleKey}>
              {cell(row)}
            </Link>
          ) : (
            cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: DataRowProps<Row>) => ReactElement; // memo loses the type parameter

function Head<Row>({
  columns,
  sort,
  onSort,
}: {
  readonly columns: readonly DataColumn<Row>[];
  readonly sort: TableSort;
  readonly onSort: (sort: TableSort) => void;
}): ReactElement {
  return (
    <thead className="pf-v6-c-table__thead">
      <tr className="pf-v6-c-table__tr" aria-rowindex={1}>
        {columns.map((column) => {
          const isSorted = column.id === sort.column;
          const order = isSorted ? (sort.isDescending ? "descending" : "ascending") : "none";
          return (
            <th
              key={column.id}
              scope="col"
              className={`pf-v6-c-table__th${column.sortValue ? " pf-v6-c-table__sort" : ""}${isSorted ? " pf-m-selected" : ""}`}
              style={{ minWidth: column.minWidth }}
              aria-sort={column.sortValue ? order : undefined}
            >
              {column.sortValue ? (
                <SortButton label={column.label} order={order} onClick={() => onSort(toggleSort(column, sort))} />
              ) : (
                column.label
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

const SORT_ICONS = { none: ArrowsAltVIcon, ascending: AngleUpIcon, descending: AngleDownIcon } as const;

function SortButton({
  label,
  order,
  onClick,
}: {
  readonly label: string;
  readonly order: keyof typeof SORT_ICONS;
  readonly onClick: () => void;
}): ReactElement {
  const Icon = SORT_ICONS[order];
  return (
    <button type="button" className="pf-v6-c-table__button" onClick={onClick}>
      {label}
      <span className="pf-v6-c-table__sort-indicator">
        <Icon />
      </span>
    </button>
  );
}

function toggleSort<Row>({ id, isDescendingFirst = false }: DataColumn<Row>, sort: TableSort): TableSort {
  return { column: id, isDescending: sort.column === id ? !sort.isDescending : isDescendingFirst };
}

/** Takes the place of the rows outside of the view. */
function Spacer({ height }: { readonly height: number }): ReactElement | undefined {
  if (height <= 0) return undefined;
  return <tr aria-hidden="true" className="olm-table-spacer" style={{ height }} />;
}
