import stringWidth from "string-width";
import { type ChannelGraph, type EdgeType, type GraphNode, listUpdates } from "./updateGraph.ts";

/** The position of a node in a picture. Lengths are in pixels. */
export interface Box {
  readonly node: GraphNode;
  /** Text in the box. */
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** All upgrade edges of one type to one node. Drawn as a vertical line next to the boxes, with branches to the source bundles. */
export interface Lane {
  readonly type: EdgeType;
  readonly range?: string | undefined;
  readonly to: Box;
  readonly from: readonly Box[];
  /** The side of the boxes on which the line is drawn. */
  readonly side: "left" | "right";
  readonly x: number;
}

/** The picture of one channel. */
export interface ChannelLayout {
  readonly channel: ChannelGraph;
  readonly boxes: readonly Box[];
  readonly lanes: readonly Lane[];
  /** Position of the title. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** Measured from the upper edge of the title. */
  readonly height: number;
}

const BOX_HEIGHT = 26;
const ROW_HEIGHT = 36;
const TITLE_HEIGHT = 34;
const MARGIN = 16;
const LANE_WIDTH = 10;
/** Distance between the boxes and the nearest lane, for an arrowhead. */
const LANE_GAP = 16;
/** Width of a Latin letter. `string-width` counts it as one column. */
const LETTER_WIDTH = 7.4;
const PADDING = 12;
const MAX_LABEL_LETTERS = 80;
/** Lines start above the center of a box and end below it, so that the lines of a chain do not touch. */
const LINE_OFFSET = 6;

/** What a picture of a channel looks like. */
export interface LayoutOptions {
  /** Upper edge of the picture of the channel; default: 0. */
  readonly top?: number;
  /** Height of the title; default: that of one line. */
  readonly titleHeight?: number;
  /** Text of a node; default: its name and marks. */
  readonly formatLabel?: (node: GraphNode) => string;
  /** Space for an icon before the text; default: none. */
  readonly iconWidth?: number;
}

/**
 * Computes the layout of a channel: a row for each node, newest first, with `replaces` on the left and `skips` and `skipRange` on the right. Boxes
 * never overlap, because each has its own row, and no line crosses a box.
 */
export function layoutChannel(
  channel: ChannelGraph,
  { top = 0, titleHeight = TITLE_HEIGHT, formatLabel, iconWidth = 0 }: LayoutOptions = {},
): ChannelLayout {
  const skipped = new Set(channel.edges.flatMap(({ type, from }) => (type === "skips" ? [from] : [])));
  const labels = channel.nodes.map((node) => formatLabel?.(node) ?? formatMarkedName(node, skipped.has(node.name)));
  const letters = labels.reduce((most, label) => Math.max(most, stringWidth(label)), 8);
  const width = Math.ceil(letters * LETTER_WIDTH + 2 * PADDING + iconWidth);
  const rows = new Map(channel.nodes.map(({ name }, row) => [name, row]));
  const groups = groupEdges(channel, rows);
  const left = assignLanes(groups.filter(({ type }) => type === "replaces"));
  const right = assignLanes(groups.filter(({ type }) => type !== "replaces"));
  const x = MARGIN + (left.count > 0 ? left.count * LANE_WIDTH + LANE_GAP : 0);
  const boxes = channel.nodes.map((node, row): Box => {
    const y = top + titleHeight + row * ROW_HEIGHT + (ROW_HEIGHT - BOX_HEIGHT) / 2;
    return { node, label: labels[row] ?? "", x, y, width, height: BOX_HEIGHT };
  });
  const assignLane = (side: Lane["side"]) => {
    return ({ group, index }: { group: EdgeGroup; index: number }): Lane[] => {
      const to = boxes[group.to];
      const from = group.from.flatMap((row) => boxes[row] ?? []);
      const offset = LANE_GAP + index * LANE_WIDTH;
      return to ? [{ type: group.type, range: group.range, to, from, side, x: side === "left" ? x - offset : x + width + offset }] : [];
    };
  };
  return {
    channel,
    boxes,
    lanes: [...left.lanes.flatMap(assignLane("left")), ...right.lanes.flatMap(assignLane("right"))],
    x: MARGIN,
    y: top,
    width: x + width + (right.count > 0 ? LANE_GAP + right.count * LANE_WIDTH : 0) + MARGIN,
    height: titleHeight + channel.nodes.length * ROW_HEIGHT + MARGIN,
  };
}

/** The lines of a lane as SVG path data. */
export interface LanePaths {
  /** The vertical line with its branches to the source bundles. */
  readonly line: string;
  /** From the vertical line to the target bundle; ends with the arrowhead. */
  readonly arrow: string;
  /** Where the branches meet the vertical line. */
  readonly dots: readonly { readonly from: Box; readonly x: number; readonly y: number }[];
}

/** Draws the line from the source bundles to the bundle that they can be upgraded to. */
export function drawLane({ to, from, side, x }: Lane): LanePaths {
  const edge = (box: Box): number => (side === "left" ? box.x : box.x + box.width);
  const computeStart = (box: Box): number => box.y + box.height / 2 - LINE_OFFSET;
  const end = to.y + to.height / 2 + LINE_OFFSET;
  const starts = from.map(computeStart);
  const top = starts.reduce((least, start) => Math.min(least, start), end);
  const bottom = starts.reduce((most, start) => Math.max(most, start), end);
  return {
    line: `M${x} ${top}V${bottom}${from.map((box) => `M${edge(box)} ${computeStart(box)}H${x}`).join("")}`,
    arrow: `M${x} ${end}H${edge(to)}`,
    dots: from.map((box) => ({ from: box, x, y: computeStart(box) })),
  };
}

/** The upgrade edges of one lane, by row. */
interface EdgeGroup {
  readonly type: EdgeType;
  readonly range: string | undefined;
  readonly to: number;
  readonly from: number[];
}

function groupEdges(channel: ChannelGraph, rows: ReadonlyMap<string, number>): EdgeGroup[] {
  const groups = new Map<string, EdgeGroup>();
  for (const { from, to, type, range } of listUpdates(channel)) {
    const target = rows.get(to);
    const source = rows.get(from);
    if (target === undefined || source === undefined) continue;
    const key = `${type} ${target}`;
    const group = groups.get(key);
    if (group) group.from.push(source);
    else groups.set(key, { type, range, to: target, from: [source] });
  }
  return [...groups.values()];
}

/** Assigns each group to the nearest lane without overlap, short groups first. */
function assignLanes(groups: readonly EdgeGroup[]): { count: number; lanes: { group: EdgeGroup; index: number }[] } {
  const taken: { top: number; bottom: number }[][] = [];
  const spans = groups
    .map((group) => ({ group, ...computeSpan(group) }))
    .sort((a, b) => a.bottom - a.top - (b.bottom - b.top) || a.top - b.top);
  const lanes = spans.map(({ group, top, bottom }) => {
    const free = taken.findIndex((lane) => lane.every((other) => other.bottom < top || other.top > bottom));
    const index = free < 0 ? taken.length : free;
    (taken[index] ??= []).push({ top, bottom });
    return { group, index };
  });
  return { count: taken.length, lanes };
}

/** Computes the extent of a group in half rows. A line starts in the upper half of its row and ends in the lower half. */
function computeSpan({ to, from }: EdgeGroup): { top: number; bottom: number } {
  let top = to * 2 + 1;
  let bottom = top;
  for (const row of from) {
    top = Math.min(top, row * 2);
    bottom = Math.max(bottom, row * 2);
  }
  return { top, bottom };
}

function formatMarkedName({ name, version, head, deprecated, absent, installed }: GraphNode, isSkipped: boolean): string {
  const versionText = version === undefined || name.includes(version) ? "" : ` (${version})`;
  const marks = [
    head && "head",
    installed && "installed",
    isSkipped && "skipped",
    deprecated !== undefined && "deprecated",
    absent && "not in this channel",
  ].filter(Boolean);
  return `${shortened(name + versionText)}${marks.length > 0 ? ` · ${marks.join(", ")}` : ""}`;
}

function shortened(text: string): string {
  const letters = Array.from(text);
  return letters.length <= MAX_LABEL_LETTERS ? text : `${letters.slice(0, MAX_LABEL_LETTERS - 1).join("")}…`;
}
