/** How one list becomes another: the elements are the same, only in x, only in y, or one is a changed form of the other. */
export type Edit = "same" | "x" | "y" | "changed";

/** What a comparison of two values counted below them. */
export interface Counts {
  readonly same: number;
  readonly diff: number;
}

interface Point {
  x: number;
  y: number;
}

/** One way through the grid of elements, from a corner; `step` is 1 from the start and -1 from the end. */
interface Path extends Point {
  readonly step: 1 | -1;
  readonly edits: Edit[];
}

type Compare = (x: number, y: number) => Counts;

/**
 * The edits from a list of `nx` elements to one of `ny`. A greedy search from both ends in linear time: not always the shortest answer,
 * but the one that go-cmp gives when it starts at the front.
 * @see https://pkg.go.dev/github.com/google/go-cmp/cmp#Diff
 */
export function editScript(nx: number, ny: number, compare: Compare): Edit[] {
  const front: Path = { step: 1, x: 0, y: 0, edits: [] };
  const back: Path = { step: -1, x: nx, y: ny, edits: [] };
  const frontEdge: Point = { x: 0, y: 0 };
  const backEdge: Point = { x: nx, y: ny };
  const budget = { left: 4 * (nx + ny) };
  const over = () => frontEdge.x >= backEdge.x || frontEdge.y >= backEdge.y || budget.left === 0;
  for (let fromFront = true; !over(); fromFront = !fromFront) {
    if (fromFront) {
      search(front, back, frontEdge, budget, compare);
      if (back.x - frontEdge.x >= back.y - frontEdge.y) frontEdge.x++;
      else frontEdge.y++;
    } else {
      search(back, front, backEdge, budget, compare);
      if (backEdge.x - front.x >= backEdge.y - front.y) backEdge.x--;
      else backEdge.y--;
    }
  }
  connect(front, back, compare);
  return [...front.edits, ...back.edits.reverse()];
}

/** Looks along the diagonal through `edge` for elements that are the same, and goes on from the first pair while they are. */
function search(path: Path, other: Path, edge: Point, budget: { left: number }, compare: Compare): void {
  const { step } = path;
  const behind = step === 1 ? 0 : -1;
  let [leftX, leftY] = [false, false];
  for (let turn = 0; !(leftX && leftY) && budget.left > 0; turn++) {
    const offset = turn % 2 === 0 ? turn / 2 : -(turn + 1) / 2;
    const x = edge.x + step * offset;
    const y = edge.y - step * offset;
    if ((other.x - x) * step <= 0 || (y - path.y) * step < 0) leftX = true;
    else if ((other.y - y) * step <= 0 || (x - path.x) * step < 0) leftY = true;
    else if (compare(x + behind, y + behind).diff === 0) {
      connect(path, { x, y }, compare);
      append(path, "same");
      while ((other.x - path.x) * step > 0 && (other.y - path.y) * step > 0) {
        if (compare(path.x + behind, path.y + behind).diff !== 0) break;
        append(path, "same");
      }
      edge.x = path.x;
      edge.y = path.y;
      return;
    } else budget.left--;
  }
}

/** Adds to `path` what leads to `to`. */
function connect(path: Path, to: Point, compare: Compare): void {
  const { step } = path;
  const behind = step === 1 ? 0 : -1;
  while ((to.x - path.x) * step > 0 && (to.y - path.y) * step > 0) {
    const { same, diff } = compare(path.x + behind, path.y + behind);
    const [dx, dy] = [(to.x - path.x) * step, (to.y - path.y) * step];
    if (diff === 0) append(path, "same");
    else if (same + 1 >= diff) append(path, "changed");
    else if (step === 1) append(path, dx >= dy ? "x" : "y");
    else append(path, dy >= dx ? "y" : "x");
  }
  while ((to.x - path.x) * step > 0) append(path, "x");
  while ((to.y - path.y) * step > 0) append(path, "y");
}

function append(path: Path, edit: Edit): void {
  path.edits.push(edit);
  if (edit !== "y") path.x += path.step;
  if (edit !== "x") path.y += path.step;
}
