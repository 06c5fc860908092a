import { isZero } from "../goType.ts";
import { formatSliceDiff, isSliceDiff } from "./formatSliceDiff.ts";
import { ellipsis, formatValue, typed } from "./formatValue.ts";
import { atLeastDefault, deeper, type FormatOptions, LOUDER_STEPS, louder, unit } from "./options.ts";
import { list, sameText, type TextNode, type TextRecord, wrap } from "./textTree.ts";
import type { DiffNode, DiffRecord } from "./tree.ts";

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
  for (const group of groupsOf(node.records)) {
    if (count >= most) break;
    for (const record of group) records.push(...differenceOf(record, below));
    count += group.length;
  }
  return records;
}

/** Members that differ and stand next to each other. */
function groupsOf(records: readonly DiffRecord[]): DiffRecord[][] {
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
