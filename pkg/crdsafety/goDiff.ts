import { goQuote } from "../golang/quote.ts";
import {
  atLeastDefault,
  deeper,
  ELLIPSIS,
  ellipsis,
  type FormatOptions,
  formatValue,
  goLiteral,
  goLiteralOfBytes,
  isPrintable,
  LOUDER_STEPS,
  list,
  louder,
  type Sign,
  sameText,
  type TextNode,
  type TextRecord,
  typed,
  unit,
  wrap,
} from "./goText.ts";
import { elementsOf, fieldOf, type GoSlice, type GoType, type GoValue, isZero, scalarText } from "./schema.ts";

/** How one list becomes another: the elements are the same, only in x, only in y, or one is a changed form of the other. */
type Edit = "same" | "x" | "y" | "changed";

/** What a comparison of two values counted below them. */
interface Counts {
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
function editScript(nx: number, ny: number, compare: Compare): Edit[] {
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

/** One place in two values; a side without a value there (an element that was added) is undefined. */
interface DiffNode extends Counts {
  readonly type: GoType;
  readonly x: GoValue | undefined;
  readonly y: GoValue | undefined;
  /** How many places there are below it, and on how many levels. */
  readonly below: number;
  readonly levels: number;
  /** Fields, elements or entries. */
  readonly records: readonly DiffRecord[];
  /** What a pointer points to. */
  readonly inner?: DiffNode;
}

/** The key is the name of a field, the key of an entry as a literal, and empty for an element. */
interface DiffRecord {
  readonly key: string;
  readonly node: DiffNode;
}

/** Compares two values as go-cmp does without options, and keeps every place. @see https://pkg.go.dev/github.com/google/go-cmp/cmp#Equal */
export function diffTree(type: GoType, x: GoValue | undefined, y: GoValue | undefined): DiffNode {
  if (x === undefined || y === undefined) return leaf(type, x, y, false);
  switch (type.kind) {
    case "struct":
      return branch(
        type,
        x,
        y,
        type.fields.map((field) => ({ key: field.name, node: diffTree(field.type, fieldOf(x, field), fieldOf(y, field)) })),
      );
    case "pointer": {
      if (x === null || y === null) return leaf(type, x, y, x === y);
      const inner = diffTree(type.to, x, y);
      return { ...branch(type, x, y, [{ key: "", node: inner }]), records: [], inner };
    }
    case "slice":
      return x === null || y === null ? leaf(type, x, y, x === y) : branch(type, x, y, elementRecords(type, x, y));
    case "map":
      return x === null || y === null
        ? leaf(type, x, y, x === y)
        : branch(type, x, y, entryRecords(type.of, x as ReadonlyMap<string, GoValue>, y as ReadonlyMap<string, GoValue>));
    case "string":
    case "bool":
    case "int":
    case "float":
    case "byte":
    default:
      return leaf(type, x, y, x === y);
  }
}

function elementRecords(type: GoSlice, x: GoValue, y: GoValue): DiffRecord[] {
  const [one, other] = [elementsOf(type, x), elementsOf(type, y)];
  const edits = editScript(one.length, other.length, (ix, iy) => diffTree(type.of, one[ix], other[iy]));
  let [ix, iy] = [0, 0];
  return edits.map((edit) => ({
    key: "",
    node: diffTree(type.of, edit === "y" ? undefined : one[ix++], edit === "x" ? undefined : other[iy++]),
  }));
}

function entryRecords(of: GoType, x: ReadonlyMap<string, GoValue>, y: ReadonlyMap<string, GoValue>): DiffRecord[] {
  const keys = [...new Set([...x.keys(), ...y.keys()])].sort();
  return keys.map((key) => ({ key: goLiteral(key), node: diffTree(of, x.get(key), y.get(key)) }));
}

function leaf(type: GoType, x: GoValue | undefined, y: GoValue | undefined, equal: boolean): DiffNode {
  return { type, x, y, same: equal ? 1 : 0, diff: equal ? 0 : 1, below: 0, levels: 0, records: [] };
}

function branch(type: GoType, x: GoValue, y: GoValue, records: readonly DiffRecord[]): DiffNode {
  let [same, diff, below, levels] = [0, 0, 0, 0];
  for (const { node } of records) {
    same += node.same;
    diff += node.diff;
    below += node.below + 1;
    levels = Math.max(levels, node.levels + 1);
  }
  return { type, x, y, same, diff, below, levels, records };
}

/** A run of elements that stands in both lists or in one of them; or, elided, an ellipsis for elements that stand in both. */
interface Chunk<T> {
  readonly sign: Sign;
  readonly part: readonly T[];
  readonly elided?: boolean;
}

/** Elements next to each other: how many of them are in both lists, and in the first and in the second one only. */
interface Group {
  same: number;
  removed: number;
  inserted: number;
}

/** Elements that are the same are shown around a difference, two chunks of them. */
const CONTEXT_CHUNKS = 2;

/**
 * What differs between two lists, in chunks of at most `size` elements, and what is the same around it; at most `most` chunks and what
 * completes the last difference. Differences with little the same between them are told as one.
 */
function chunks<T>(x: readonly T[], y: readonly T[], { size, most }: { size: number; most: number }): Chunk<T>[] {
  const equal = (ix: number, iy: number) => x[ix] === y[iy];
  const edits = editScript(x.length, y.length, (ix, iy) => (equal(ix, iy) ? { same: 1, diff: 0 } : { same: 0, diff: 2 }));
  const groups = trimmed(joined(groupsOf(edits), Math.floor(size / 4)), equal);
  const out: Chunk<T>[] = [];
  let [ix, iy, differences] = [0, 0, 0];
  for (const [index, { same, removed, inserted }] of groups.entries()) {
    if (differences >= most) return [...out, { sign: "", part: [], elided: true }];
    if (removed + inserted === 0) {
      out.push(...sameChunks(x.slice(ix, ix + same), size, { first: index === 0, last: index === groups.length - 1 }));
      ix += same;
      iy += same;
      continue;
    }
    const before = out.length;
    out.push(...split(x.slice(ix, ix + same + removed), size, "-"), ...split(y.slice(iy, iy + same + inserted), size, "+"));
    ix += same + removed;
    iy += same + inserted;
    differences += out.length - before;
  }
  return out;
}

function sameChunks<T>(part: readonly T[], size: number, { first, last }: { first: boolean; last: boolean }): Chunk<T>[] {
  const context = size * CONTEXT_CHUNKS;
  const low = first ? 0 : Math.min(context, part.length);
  let high = last ? 0 : Math.min(context, part.length - low);
  if (part.length - (low + high) <= size) high = part.length - low;
  const elided: Chunk<T>[] = part.length > low + high ? [{ sign: "", part: [], elided: true }] : [];
  return [...split(part.slice(0, low), size, ""), ...elided, ...split(part.slice(part.length - high), size, "")];
}

function split<T>(part: readonly T[], size: number, sign: Sign): Chunk<T>[] {
  const out: Chunk<T>[] = [];
  for (let at = 0; at < part.length; at += size) out.push({ sign, part: part.slice(at, at + size) });
  return out;
}

function groupsOf(edits: readonly Edit[]): Group[] {
  const groups: Group[] = [];
  let inSame: boolean | undefined;
  for (const edit of edits) {
    if ((edit === "same") !== inSame) groups.push({ same: 0, removed: 0, inserted: 0 });
    inSame = edit === "same";
    const group = groups.at(-1);
    if (!group) continue;
    if (edit === "same") group.same++;
    if (edit === "x" || edit === "changed") group.removed++;
    if (edit === "y" || edit === "changed") group.inserted++;
  }
  return groups;
}

/** Differences with no more than `window` same elements between them as one, where both lists have a part in it. */
function joined(groups: readonly Group[], window: number): Group[] {
  const out: Group[] = [];
  for (const next of groups) {
    const [before, between] = out.slice(-2);
    if (before && between && next.removed + next.inserted > 0 && between.same <= window) {
      if (before.removed + next.removed > 0 && before.inserted + next.inserted > 0) {
        before.same += between.same + next.same;
        before.removed += next.removed;
        before.inserted += next.inserted;
        out.pop();
        continue;
      }
    }
    out.push({ ...next });
  }
  return out;
}

/** Same elements at the start and the end of a difference belong to what is the same before and after it. */
function trimmed(groups: readonly Group[], equal: (ix: number, iy: number) => boolean): Group[] {
  const out = groups.map((group) => ({ ...group }));
  let [ix, iy, atStart, atEnd] = [0, 0, 0, 0];
  for (const [index, group] of out.entries()) {
    if (group.removed + group.inserted === 0) {
      ix += group.same;
      iy += group.same;
      continue;
    }
    let nx = group.same + group.removed;
    let ny = group.same + group.inserted;
    let [leading, trailing] = [0, 0];
    while (leading < nx && leading < ny && equal(ix + leading, iy + leading)) leading++;
    while (leading + trailing < Math.min(nx, ny) && equal(ix + nx - 1 - trailing, iy + ny - 1 - trailing)) trailing++;
    if (leading + trailing > 0) {
      const [before, after] = [out[index - 1], out[index + 1]];
      if (before) before.same += leading;
      else atStart = leading;
      if (after) after.same += trailing;
      else atEnd = trailing;
      ix += leading;
      iy += leading;
      nx -= leading + trailing;
      ny -= leading + trailing;
      out[index] = { same: 0, removed: nx, inserted: ny };
    }
    ix += nx;
    iy += ny;
  }
  const none = { removed: 0, inserted: 0 };
  return [...(atStart > 0 ? [{ same: atStart, ...none }] : []), ...out, ...(atEnd > 0 ? [{ same: atEnd, ...none }] : [])];
}

/** Texts of at least this many bytes are compared piece by piece. */
const LONG = 32;
const BYTES_A_CHUNK = 64;
/** Texts with at least this many line ends, and no longer lines than this, are compared line by line. */
const LINE_ENDS = 4;
const LONGEST_LINE = 1_024;
/** Comparing by lines must not take this many times the edits of comparing by bytes, unless quoting would blow the text up. */
const LINES_PREFERRED = 4;
const QUOTING_BLOWS_UP = 1.1;

/** Whether a difference is told piece by piece: between two long texts, or two lists of bytes that have little in common. */
function isSliceDiff({ type, x, y, same, diff }: DiffNode, { side }: FormatOptions): boolean {
  if (side !== "" || diff === 0 || x === undefined || y === undefined) return false;
  const isBytes = type.kind === "slice" && type.of.kind === "byte";
  if (type.kind !== "string" && !isBytes) return false;
  const [before, after] = [lengthOf(x), lengthOf(y)];
  if (isBytes && (before === 0 || after === 0)) return false;
  return (isBytes && diff > same) || (before >= LONG && after >= LONG);
}

/** The pieces that differ between two texts: lines as they are, or chunks of 64 bytes as literals. */
function formatSliceDiff({ type, x, y }: DiffNode, options: FormatOptions): TextNode {
  const [before, after] = [scalarText(x), scalarText(y)];
  const most = unit(options) * 4;
  let delimiter = "";
  let records: TextRecord[];
  if (byLines(before, after)) {
    const lines = chunks(before.split("\n"), after.split("\n"), { size: 1, most });
    const apart = linesApart(lines);
    if (apart) {
      const body = wrap("(", list(apart), ")");
      return type.kind === "slice" ? typed(type, body, { ...options, types: "always" }) : body;
    }
    delimiter = "\n";
    records = lines.map(({ sign, part }) => ({ sign, key: "", value: goLiteral(part[0] ?? "") }));
  } else {
    const parts = chunks([...Buffer.from(before)], [...Buffer.from(after)], { size: BYTES_A_CHUNK, most });
    records = parts.map(({ sign, part }) => ({ sign, key: "", value: goLiteralOfBytes(Buffer.from(part)) }));
  }
  const join = type.kind === "slice" ? "bytes.Join(" : "strings.Join(";
  return wrap(join, wrap("{", list(records), "}"), `, ${goQuote(delimiter)})`);
}

function lengthOf(value: GoValue): number {
  return Buffer.byteLength(scalarText(value));
}

function byLines(before: string, after: string): boolean {
  const both = before + after;
  const lines = both.split("\n");
  // The last line counts only where something follows it.
  const longest = Math.max(0, ...lines.slice(0, -1).map((line) => Buffer.byteLength(line)));
  if (lines.length - 1 < LINE_ENDS || longest > LONGEST_LINE || !lines.every((line) => /^[\p{L}\p{M}\p{N}\p{P}\p{S}\s]*$/u.test(line)))
    return false;
  const lineEdits = efficiency(before.split("\n"), after.split("\n"));
  const byteEdits = efficiency([...Buffer.from(before)], [...Buffer.from(after)]);
  return lineEdits < LINES_PREFERRED * byteEdits || Buffer.byteLength(goQuote(both)) / Buffer.byteLength(both) > QUOTING_BLOWS_UP;
}

/** The part of the edits that change something. */
function efficiency<T>(before: readonly T[], after: readonly T[]): number {
  const edits = editScript(before.length, after.length, (x, y) => (before[x] === after[y] ? { same: 1, diff: 0 } : { same: 0, diff: 2 }));
  return edits.filter((edit) => edit !== "same").length / edits.length;
}

/** The lines between triple quotes; undefined where they would not be told from each other or from the quotes. */
function linesApart(lines: readonly Chunk<string>[]): TextRecord[] | undefined {
  const quotes: TextRecord = { sign: "", key: "", value: '"""', bare: true };
  const records: TextRecord[] = [quotes];
  let removed = new Set<string>();
  let inserted = new Set<string>();
  for (const { sign, part, elided } of lines) {
    const line = (part[0] ?? "").replace(/\r$/, "").replace(/^\r/, "");
    if (!elided) {
      const visible = line.replace(/\s/gu, "");
      if (line.startsWith('"""') || line.startsWith(ELLIPSIS) || !isPrintable(line)) return undefined;
      if ((sign === "-" && inserted.has(visible)) || (sign === "+" && removed.has(visible))) return undefined;
      if (sign === "-") removed.add(visible);
      if (sign === "+") inserted.add(visible);
    }
    if (sign === "") {
      removed = new Set();
      inserted = new Set();
    }
    records.push({ sign, key: "", value: elided ? ELLIPSIS : line, bare: true });
  }
  return [...records, quotes];
}

/** What differs below `node`, or one side of it, as go-cmp writes it; what is the same on both sides is left out of a difference. */
export function formatDiff(node: DiffNode, given: FormatOptions): TextNode {
  const options = atLeastDefault(given);
  if (isSliceDiff(node, options)) return formatSliceDiff(node, options);
  if (node.levels === 0) return formatValue(node.type, (options.side === "-" ? node.x : node.y) ?? null, options);
  if (node.inner) return wrap("&", formatDiff(node.inner, options), "");
  const body = options.side === "" ? list(differences(node, options)) : list(oneSide(node, options));
  return typed(node.type, wrap("{", body, "}"), options);
}

function optionsBelow(node: DiffNode, options: FormatOptions): FormatOptions {
  return { ...deeper(options), types: node.type.kind === "struct" ? "composites" : "never" };
}

/** The members of the side that is written, without fields that are zero there. */
function oneSide(node: DiffNode, options: FormatOptions): TextRecord[] {
  const most = unit(options) * 2;
  const below = optionsBelow(node, options);
  const records: TextRecord[] = [];
  for (const { key, node: member } of node.records) {
    if (records.length === most) return [...records, ellipsis()];
    const value = options.side === "-" ? member.x : member.y;
    if (value === undefined || (node.type.kind === "struct" && isZero(member.type, value))) continue;
    records.push({ sign: "", key, value: formatDiff(member, below) });
  }
  return records;
}

function differences(node: DiffNode, options: FormatOptions): TextRecord[] {
  const most = unit(options) * 2;
  const below = optionsBelow(node, options);
  const records: TextRecord[] = [];
  let count = 0;
  for (const group of groupRecords(node.records)) {
    if (count >= most) break;
    for (const record of group) records.push(...differenceOf(record, below));
    count += group.length;
  }
  return records;
}

/** Members that differ and stand next to each other. */
function groupRecords(records: readonly DiffRecord[]): DiffRecord[][] {
  const groups: DiffRecord[][] = [];
  let open = false;
  for (const record of records) {
    const differs = record.node.diff > 0;
    if (differs && open) groups.at(-1)?.push(record);
    else if (differs) groups.push([record]);
    open = differs;
  }
  return groups;
}

function differenceOf({ key, node }: DiffRecord, options: FormatOptions): TextRecord[] {
  // A place with one way down is told as a whole, on a line for each side; others as the differences inside.
  if (isSliceDiff(node, options) || node.below !== node.levels) return [{ sign: "", key, value: formatDiff(node, options) }];
  let [before, after] = sides(node, options);
  for (let step = 0; step < LOUDER_STEPS && before !== undefined && after !== undefined && sameText(before, after); step++) {
    [before, after] = sides(node, louder(options, step));
  }
  const records: TextRecord[] = [];
  if (before !== undefined) records.push({ sign: "-", key, value: before });
  if (after !== undefined) records.push({ sign: "+", key, value: after });
  return records;
}

function sides(node: DiffNode, options: FormatOptions): [TextNode | undefined, TextNode | undefined] {
  return [
    node.x === undefined ? undefined : formatDiff(node, { ...options, side: "-" }),
    node.y === undefined ? undefined : formatDiff(node, { ...options, side: "+" }),
  ];
}
