/** A node of a graph with its column, and its row in the column. */
export interface PlacedNode {
  readonly id: string;
  readonly column: number;
  readonly row: number;
}

/** An arrow of a graph. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
}

/** Number of sweeps that reduce crossings. */
const SWEEPS = 4;

/**
 * Places the nodes of a graph in columns, so that arrows go from left to right, except one of each cycle. The order in a column reduces crossings; it
 * only depends on the order of nodes and arrows.
 */
export function placeInColumns(ids: readonly string[], arrows: readonly Arrow[]): PlacedNode[] {
  const forward = removeCycles(ids, arrows);
  const columns = assignColumns(ids, forward);
  const count = Math.max(0, ...columns.values()) + 1;
  const order = Array.from({ length: count }, (_, column) => ids.filter((id) => columns.get(id) === column));
  for (let sweep = 0; sweep < SWEEPS; sweep++) sortColumns(order, forward, sweep % 2 === 0);
  return order.flatMap((list, column) => list.map((id, row) => ({ id, column, row })));
}

/** Returns the arrows without those that close a cycle. */
function removeCycles(ids: readonly string[], arrows: readonly Arrow[]): Arrow[] {
  const out = Map.groupBy(arrows, ({ from }) => from);
  const done = new Set<string>();
  const open = new Set<string>();
  const kept: Arrow[] = [];
  const visit = (id: string): void => {
    open.add(id);
    for (const arrow of out.get(id) ?? []) {
      if (open.has(arrow.to)) continue;
      kept.push(arrow);
      if (!done.has(arrow.to)) visit(arrow.to);
    }
    open.delete(id);
    done.add(id);
  };
  for (const id of ids) if (!done.has(id)) visit(id);
  return kept;
}

/** Returns the column of each node: one more than the last of the nodes that need it. */
function assignColumns(ids: readonly string[], arrows: readonly Arrow[]): Map<string, number> {
  const into = Map.groupBy(arrows, ({ to }) => to);
  const columns = new Map<string, number>();
  const columnOf = (id: string): number => {
    const known = columns.get(id);
    if (known !== undefined) return known;
    const column = (into.get(id) ?? []).reduce((most, { from }) => Math.max(most, columnOf(from) + 1), 0);
    columns.set(id, column);
    return column;
  };
  for (const id of ids) columnOf(id);
  return columns;
}

/** Sorts each column by the average row of the neighbours in the column before or after it. */
function sortColumns(order: string[][], arrows: readonly Arrow[], isForward: boolean): void {
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of arrows) {
    const [id, other] = isForward ? [to, from] : [from, to];
    neighbours.set(id, [...(neighbours.get(id) ?? []), other]);
  }
  const rows = new Map(order.flatMap((list) => list.map((id, row) => [id, row] as const)));
  for (const list of isForward ? order : order.toReversed()) {
    const averages = new Map(list.map((id, row) => [id, averageRow(neighbours.get(id) ?? [], rows, row)]));
    list.sort((a, b) => (averages.get(a) ?? 0) - (averages.get(b) ?? 0));
    for (const [row, id] of list.entries()) rows.set(id, row);
  }
}

function averageRow(ids: readonly string[], rows: ReadonlyMap<string, number>, otherwise: number): number {
  if (ids.length === 0) return otherwise;
  return ids.reduce((sum, id) => sum + (rows.get(id) ?? 0), 0) / ids.length;
}
