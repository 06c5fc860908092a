import { escapeMarkup } from "../../text/escape.ts";
import { formatList } from "../../text/lists.ts";
import { type Box, type ChannelLayout, drawLane, type Lane, layoutChannel } from "./layout.ts";
import { BoundedText, DRAWING_BYTES, type EdgeType, type UpdateGraph } from "./updateGraph.ts";

const LEGEND_HEIGHT = 64;
const MIN_WIDTH = 420;
/** Maximum names in the tooltip of a line. */
const MAX_NAMES = 20;
const STYLE = `
text{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1f2328}
.title{font-weight:bold;font-size:14px}.note{fill:#57606a}
.box{fill:#f6f8fa;stroke:#57606a}.head{fill:#dafbe1;stroke:#1a7f37}.deprecated{fill:#fff1d6;stroke:#bc4c00}.absent{fill:#fff;stroke-dasharray:4 3}
.installed{stroke:#0969da;stroke-width:3}
.line{fill:none;stroke-width:1.5}.replaces{stroke:#24292f}.skips{stroke:#0969da;stroke-dasharray:6 3}.skipRange{stroke:#8250df;stroke-dasharray:2 3}
.dot{stroke:none}.dot.replaces{fill:#24292f}.dot.skips{fill:#0969da}.dot.skipRange{fill:#8250df}
`;
const LEGEND: readonly (readonly [EdgeType, string])[] = [
  ["replaces", "replaces"],
  ["skips", "skips"],
  ["skipRange", "skipRange"],
];

/**
 * Draws the upgrade graph of a package as a self-contained SVG without scripts and references.
 * @throws GraphTooLargeError if it exceeds the limit of edges or `maxBytes`.
 */
export function renderSvg(graph: UpdateGraph, maxBytes: number = DRAWING_BYTES): string {
  const layouts: ChannelLayout[] = [];
  let top = LEGEND_HEIGHT;
  for (const channel of graph.channels) {
    const layout = layoutChannel(channel, { top });
    layouts.push(layout);
    top += layout.height;
  }
  const width = layouts.reduce((most, layout) => Math.max(most, layout.width), MIN_WIDTH);
  const title = `Upgrade graph of package ${graph.package}`;
  const out = new BoundedText(maxBytes);
  const head = [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}">`,
    `<title>${escapeMarkup(title)}</title>`,
    `<style>${STYLE}</style>`,
    `<defs>${LEGEND.map(([type]) => arrowhead(type)).join("")}</defs>`,
    `<rect width="${width}" height="${top}" fill="#fff"/>`,
    `<text class="title" x="16" y="24">${escapeMarkup(graph.package)}${graph.deprecated === undefined ? "" : " (deprecated)"}</text>`,
    ...LEGEND.map(([type, text], i) => legend(type, text, 16 + i * 130)),
  ];
  for (const line of head) out.add(`${line}\n`);
  for (const layout of layouts) addChannelPicture(out, layout, graph.defaultChannel);
  out.add("</svg>\n");
  return out.text;
}

function legend(type: EdgeType, text: string, x: number): string {
  return `<path class="line ${type}" d="M${x} 45h28" marker-end="url(#${type})"/><text class="note" x="${x + 42}" y="49">${text}</text>`;
}

function arrowhead(type: EdgeType): string {
  return `<marker id="${type}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path class="dot ${type}" d="M0 0L8 4L0 8z"/></marker>`;
}

function addChannelPicture(out: BoundedText, { channel, boxes, lanes, x, y }: ChannelLayout, defaultChannel: string | undefined): void {
  const marks = [channel.name === defaultChannel && "default", channel.deprecated !== undefined && "deprecated"].filter(Boolean);
  const title = `channel ${channel.name}${marks.length > 0 ? ` (${marks.join(", ")})` : ""}`;
  out.add(`<g data-channel="${escapeMarkup(channel.name)}">\n`);
  out.add(`<text class="title" x="${x}" y="${y + 20}">${escapeMarkup(title)}</text>\n`);
  for (const lane of lanes) {
    const names = lane.from.reduce((sum, { node }) => sum + node.name.length, 0);
    out.addOf(names, () => `${lanePicture(lane)}\n`);
  }
  for (const box of boxes) out.add(`${boxPicture(box)}\n`);
  out.add("</g>\n");
}

function boxPicture({ node, label, x, y, width, height }: Box): string {
  const kind = node.absent ? "absent" : node.deprecated !== undefined ? "deprecated" : node.head ? "head" : "";
  const by = node.installed === undefined ? undefined : `installed ${node.installed.join(", ")}`.trim();
  const hint = [node.name, node.version && `version ${node.version}`, by, node.deprecated].filter(Boolean).join("\n");
  return (
    `<g data-name="${escapeMarkup(node.name)}"><title>${escapeMarkup(hint)}</title>` +
    `<rect class="box${kind === "" ? "" : ` ${kind}`}${node.installed ? " installed" : ""}" x="${x}" y="${y}" width="${width}" height="${height}" rx="4"/>` +
    `<text x="${x + 12}" y="${y + height / 2 + 4}">${escapeMarkup(label)}</text></g>`
  );
}

function lanePicture(lane: Lane): string {
  const { type, range, to, from } = lane;
  const { line, arrow, dots } = drawLane(lane);
  const hint = `${type}${range === undefined ? "" : ` ${range}`}: to ${to.node.name} from ${formatNames(from)}`;
  const circles = dots.map(
    (dot) => `<circle class="dot ${type}" cx="${dot.x}" cy="${dot.y}" r="2.5" data-from="${escapeMarkup(dot.from.node.name)}"/>`,
  );
  return (
    `<g data-type="${type}" data-to="${escapeMarkup(to.node.name)}"><title>${escapeMarkup(hint)}</title>` +
    `<path class="line ${type}" d="${line}"/>` +
    `<path class="line ${type}" d="${arrow}" marker-end="url(#${type})"/>${circles.join("")}</g>`
  );
}

function formatNames(boxes: readonly Box[]): string {
  return formatList(
    boxes.map(({ node }) => node.name),
    { max: MAX_NAMES },
  );
}
