import { type ChannelGraph, type EdgeType, type GraphNode, listUpdates, type Update, type UpdateGraph } from "./updateGraph.ts";

const EDGES: Readonly<Record<EdgeType, string>> = {
  replaces: "",
  skips: "style=dashed color=blue",
  skipRange: "style=dotted color=purple",
};

/** Draws the upgrade graph of a package for Graphviz: a cluster for each channel, with older versions on the left. */
export function renderDot(graph: UpdateGraph): string {
  const lines = [
    `digraph ${quoted(graph.package)} {`,
    `  label=${quoted(formatTitle(graph.package, graph.deprecated))};`,
    "  labelloc=t;",
    "  rankdir=LR;",
    '  node [shape=box style="rounded,filled" fillcolor=white fontname=monospace fontsize=10];',
    ...graph.channels.flatMap((channel, at) => channelLines(channel, at, graph.defaultChannel)),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function channelLines(channel: ChannelGraph, at: number, defaultChannel: string | undefined): string[] {
  const { name, deprecated, nodes, edges } = channel;
  const title = formatTitle(name === defaultChannel ? `${name} (default)` : name, deprecated);
  const skipped = new Set(edges.flatMap(({ type, from }) => (type === "skips" ? [from] : [])));
  return [
    `  subgraph cluster_${at} {`,
    `    label=${quoted(title)};`,
    ...nodes.map((node) => `    ${formatId(name, node.name)} [${nodeAttributes(node, skipped)}];`),
    ...Array.from(listUpdates(channel), (edge) => `    ${formatId(name, edge.from)} -> ${formatId(name, edge.to)}${edgeAttributes(edge)};`),
    "  }",
  ];
}

/** Returns the id of a node. A bundle has a separate node in each channel. */
function formatId(channel: string, name: string): string {
  return quoted(`${channel}/${name}`);
}

function nodeAttributes(node: GraphNode, skipped: ReadonlySet<string>): string {
  const marks = [
    node.head && "head",
    node.installed !== undefined && "installed",
    skipped.has(node.name) && "skipped",
    node.deprecated !== undefined && "deprecated",
    node.absent && "not in this channel",
  ].filter(Boolean);
  const colour =
    node.installed !== undefined ? "lightblue" : node.deprecated !== undefined ? "moccasin" : node.head ? "palegreen" : undefined;
  return [
    `label=${quoted(marks.length === 0 ? node.name : `${node.name}\n${marks.join(", ")}`)}`,
    ...(colour === undefined ? [] : [`fillcolor=${colour}`]),
    ...(node.absent ? ['style="rounded,dashed"'] : []),
    ...(node.deprecated === undefined ? [] : [`tooltip=${quoted(node.deprecated)}`]),
  ].join(" ");
}

function edgeAttributes({ type, range }: Update): string {
  const attributes = [EDGES[type], ...(range === undefined ? [] : [`tooltip=${quoted(`skipRange ${range}`)}`])].filter((one) => one !== "");
  return attributes.length === 0 ? "" : ` [${attributes.join(" ")}]`;
}

function formatTitle(name: string, deprecated: string | undefined): string {
  return deprecated === undefined ? name : `${name} (deprecated)`;
}

/** Quotes a string for DOT. Escapes line breaks as `\n` and disables other escapes. */
function quoted(text: string): string {
  const safe = text
    .toWellFormed()
    .replace(/[^\P{C}\n]/gu, "\ufffd")
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"');
  return `"${safe.replaceAll("\n", "\\n")}"`;
}
