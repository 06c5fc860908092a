import { readGraphSource } from "../../browse/packageGraph.ts";
import type { PackageInCatalog } from "../../browse/packageView.ts";
import type { GraphDrawing, WhyChannel, WhyVersion } from "../../consoleapi/why.ts";
import { type ChannelLayout, drawLane, layoutChannel } from "../../fbc/graph/layout.ts";
import { buildUpdateGraph, type ChannelGraph, type GraphNode, GraphTooLargeError } from "../../fbc/graph/updateGraph.ts";
import { formatList } from "../../text/lists.ts";
import { NAME_LENGTH, truncate } from "../../text/truncate.ts";

const MAX_CHANNELS = 200;
/** Maximum number of nodes of all channels together. */
const MAX_NODES = 5_000;
/** Maximum number of upgrade edges in one drawing. */
const MAX_EDGES = 5_000;
/** Drawings with at most this number of lanes are clear with all edges. */
const CLEAR_LANES = 10;
const TITLE_HEIGHT = 8;
const ICON_WIDTH = 20;
const MAX_LABEL = 60;
const MAX_DEPRECATION = 500;

/** The package in the selected catalogs, and what the page shows about it. */
export interface ChannelGraphSources {
  readonly found: readonly PackageInCatalog[];
  readonly versions: readonly WhyVersion[];
  /** The channels in the spec; empty for all. */
  readonly requested: readonly string[];
  /** The installed bundle. */
  readonly installed: { readonly name: string; readonly version: string } | undefined;
}

/** Returns the upgrade graphs of all channels, with the default channel of each catalog first. */
export function drawChannels({ found, versions, requested, installed }: ChannelGraphSources): WhyChannel[] {
  const channels: WhyChannel[] = [];
  let left = MAX_NODES;
  for (const one of found) {
    const labels = new Map(versions.filter(({ catalog }) => catalog === one.catalog).map((version) => [version.bundle, version]));
    const graph = readGraph(one);
    const defaultChannel = one.content.package?.defaultChannel;
    const isRequested = (name: string): boolean => requested.length === 0 || requested.includes(name);
    const rank = (name: string): number => Number(name !== defaultChannel) * 2 + Number(!isRequested(name));
    const named = one.facts.channels.map(({ name }) => name).sort((a, b) => rank(a) - rank(b));
    for (const name of named) {
      if (channels.length === MAX_CHANNELS) return channels;
      const channel = typeof graph === "string" ? undefined : graph.find((drawn) => drawn.name === name);
      const nodes = channel && channel.nodes.length <= left ? channel.nodes : [];
      left -= nodes.length;
      channels.push({
        catalog: one.catalog,
        name: truncate(name, NAME_LENGTH),
        isDefault: name === defaultChannel,
        isRequested: isRequested(name),
        deprecated: channel?.deprecated === undefined ? undefined : truncate(channel.deprecated, MAX_DEPRECATION),
        entries: one.facts.channels.find((stated) => stated.name === name)?.entries.length ?? 0,
        hint: installed && nodes.length > 0 ? explainAbsence(nodes, labels.get(installed.name), installed.version) : undefined,
        nodes: [],
        ...(channel && nodes.length > 0 ? drawChannel(channel, labels, installed?.name) : { undrawn: explainUndrawn(graph) }),
      });
    }
  }
  return channels;
}

/** Returns the graphs of all channels, or why they cannot be drawn. */
function readGraph(found: PackageInCatalog): readonly ChannelGraph[] | string {
  try {
    return buildUpdateGraph(readGraphSource(found, { channel: [], installed: new Map() })).channels;
  } catch (err) {
    if (err instanceof GraphTooLargeError) return err.message;
    throw err;
  }
}

/** Explains where the installed version is; undefined if it is a node of the channel. */
function explainAbsence(nodes: readonly GraphNode[], installed: WhyVersion | undefined, version: string): string | undefined {
  if (installed && nodes.some(({ name }) => name === installed.bundle)) return undefined;
  const text = `The installed version ${truncate(version, NAME_LENGTH)} is not in this channel`;
  if (!installed) return `${text} and not in this catalog.`;
  if (installed.channels.length === 0) return `${text} and not in any other.`;
  return `${text}: it is in ${formatList(installed.channels, { max: 5 })}.`;
}

function explainUndrawn(graph: readonly ChannelGraph[] | string): string {
  return typeof graph === "string" ? graph : `the channels have more than ${MAX_NODES} versions, too many to draw`;
}

function drawChannel(
  channel: ChannelGraph,
  labels: ReadonlyMap<string, WhyVersion>,
  installed: string | undefined,
): Pick<WhyChannel, "nodes" | "main" | "all" | "undrawn"> {
  const formatLabel = (node: GraphNode): string => formatNode(node, labels.get(node.name));
  const layOut = (edges: ChannelGraph): ChannelLayout =>
    layoutChannel(edges, { titleHeight: TITLE_HEIGHT, iconWidth: ICON_WIDTH, formatLabel });
  const main = layOut(selectMainEdges(channel, installed));
  const all = countEdges(channel) > MAX_EDGES ? undefined : layOut(channel);
  const isClear = all !== undefined && (all.lanes.length <= CLEAR_LANES || all.lanes.length === main.lanes.length);
  return {
    nodes: main.boxes.map(({ node, label, y }) => ({
      bundle: truncate(node.name, NAME_LENGTH),
      label,
      y,
      isAbsent: node.absent ?? false,
    })),
    main: toDrawing(isClear ? all : main),
    all: all && !isClear ? toDrawing(all) : undefined,
  };
}

function formatNode({ name, version, absent }: GraphNode, judged: WhyVersion | undefined): string {
  const text = truncate(judged?.version ?? version ?? name, MAX_LABEL);
  return `${text} · ${judged ? judged.label.text : absent ? "not in this channel" : "not in the catalog"}`;
}

/** Returns the channel with the edges that replace a version, and those from the installed version. */
function selectMainEdges(channel: ChannelGraph, installed: string | undefined): ChannelGraph {
  const at = channel.nodes.findIndex(({ name }) => name === installed);
  return {
    ...channel,
    edges: channel.edges.filter(({ type, from }) => type === "replaces" || from === installed),
    ranges: channel.ranges.flatMap((range) =>
      range.covers.some(({ first, last }) => first <= at && at <= last) ? [{ ...range, covers: [{ first: at, last: at }] }] : [],
    ),
  };
}

function countEdges({ edges, ranges }: ChannelGraph): number {
  return ranges.reduce((sum, { covers }) => covers.reduce((part, { first, last }) => part + last - first + 1, sum), edges.length);
}

function toDrawing({ boxes, lanes, width, height }: ChannelLayout): GraphDrawing {
  const [first] = boxes;
  const index = new Map(boxes.map((box, at) => [box, at]));
  return {
    width,
    height,
    box: { x: first?.x ?? 0, width: first?.width ?? 0, height: first?.height ?? 0 },
    lanes: lanes.map((lane) => {
      const { line, arrow, dots } = drawLane(lane);
      return {
        type: lane.type,
        range: lane.range === undefined ? undefined : truncate(lane.range, NAME_LENGTH),
        to: index.get(lane.to) ?? 0,
        from: lane.from.flatMap((box) => index.get(box) ?? []),
        line,
        arrow,
        dots: dots.map(({ x, y }) => ({ x, y })),
      };
    }),
  };
}
