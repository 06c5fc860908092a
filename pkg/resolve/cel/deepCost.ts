import { type CelList, type CelMap, type CelValue, isCelList, isCelMap } from "@bufbuild/cel";

/** Characters or bytes that one step compares or copies. */
export const TEXT_STEP = 64;

/** Length of a text or of bytes, number of the values in a list or map; 0 for everything else. */
export function sizeOf(value: CelValue | undefined): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  return isContainer(value) ? value.size : 0;
}

/** Whether other values are inside it. */
export function isContainer(value: unknown): value is CelList | CelMap {
  return isCelList(value) || isCelMap(value);
}

/**
 * What looking at `value` and at all that is inside it costs, in steps; where one value is reached in several ways, each counts.
 * @param most where counting ends.
 */
export function deepCost(value: CelValue, most: number): number {
  let cost = 0;
  for (const step of costsOf(value)) if ((cost += step) > most) break;
  return cost;
}

/** What comparing two values costs: the first difference ends it, at the latest when the smaller one has been seen, so counting goes on in both by turns. */
export function comparisonCost(left: CelValue, right: CelValue, most: number): number {
  if (!isContainer(left) || !isContainer(right)) return Math.min(sizeOf(left), sizeOf(right)) / TEXT_STEP;
  if (isCelList(left) !== isCelList(right) || left.size !== right.size) return 1;
  const others = costsOf(right);
  let [cost, otherCost] = [0, 0];
  for (const step of costsOf(left)) {
    const other = others.next();
    cost += step;
    otherCost += other.done ? 0 : other.value;
    if (other.done || Math.min(cost, otherCost) > most) break;
  }
  return Math.min(cost, otherCost);
}

/** The cost of each value inside `root`, one after another, with its own. */
function* costsOf(root: CelValue): Generator<number, void> {
  const open: Iterator<CelValue>[] = [[root].values()];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { done, value } = last.next();
    if (done === true) open.pop();
    else {
      yield 1 + (isContainer(value) ? 0 : sizeOf(value) / TEXT_STEP);
      if (isContainer(value)) open.push(isCelList(value) ? value[Symbol.iterator]() : value.values());
    }
  }
}
