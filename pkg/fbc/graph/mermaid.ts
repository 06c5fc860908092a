import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { compileRangeTest, findChannelHeads } from "../bundleOrder.ts";
import type { FbcChannel } from "../types.ts";
import {
  BoundedText,
  chargeComparisons,
  DRAWING_BYTES,
  GRAPH_LIMITS,
  type GraphLimits,
  type GraphSource,
  GraphTooLargeError,
  getReferenceKey,
  sortEntries,
} from "./updateGraph.ts";

/** Options for drawing graphs. */
export interface MermaidOptions {
  /**
   * Draws upgrades that OLM v0 does not use in red: upgrades to an entry that another entry skips. Default: false, because OLM v1 uses them.
   */
  readonly v0Semantics?: boolean;
  /** Marks heads and, if known, installed bundles. opm does not draw these marks. */
  readonly marks?: boolean;
  readonly limits?: GraphLimits;
}

const HEADER = [
  "graph LR",
  "  classDef deprecated fill:#E8960F",
  "  classDef skipped stroke:#FF0000,stroke-width:4px",
  "  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px",
];
const MARKS = ["  classDef head stroke:#1A7F37,stroke-width:3px", "  classDef installed stroke:#0969DA,stroke-width:5px"];
const STRUCK_OUT = "stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;";

/** State of a drawing. */
interface Drawing {
  link: number;
  readonly budget: { comparisons: number };
  readonly struck: number[];
  /** Ids of nodes by their class. */
  readonly classes: Map<string, Set<string>>;
  readonly styles: string[];
  readonly out: BoundedText;
}

/**
 * Draws upgrade graphs as a Mermaid diagram. Sorts packages and channels by name, and entries in descending order of version. Replaces characters
 * that Mermaid does not allow in ids by `_`.
 * @throws GraphTooLargeError
 * @see C-21; operator-registry v1.73.0 alpha/declcfg/write.go, MermaidWriter
 */
export function renderMermaid(sources: readonly GraphSource[], options: MermaidOptions = {}): string {
  const { limits = { ...GRAPH_LIMITS, bytes: DRAWING_BYTES } } = options;
  const out = new BoundedText(limits.bytes);
  const drawing: Drawing = { link: 0, budget: { comparisons: limits.comparisons }, struck: [], classes: new Map(), styles: [], out };
  const add = (line: string): void => out.add(`${line}\n`);
  for (const line of options.marks === true ? [...HEADER, ...MARKS] : HEADER) add(line);
  for (const source of sources.toSorted((a, b) => compareText(a.package, b.package))) {
    const channels = source.channels.toSorted((a, b) => compareText(a.name, b.name));
    if (channels.length === 0) continue;
    add(`  %% package ${goQuote(source.package)}`);
    add(`  subgraph ${goQuote(source.package)}`);
    const deprecated = deprecatedIn(source);
    if (deprecated.has(getReferenceKey("olm.package"))) drawing.styles.push(`style ${formatId(source.package)} fill:#989695`);
    for (const channel of channels) addChannel(channel, source, deprecated, drawing, { ...options, limits });
    add("  end");
  }
  const classes = [...drawing.classes].sort(([a], [b]) => compareText(a, b));
  for (const style of drawing.styles) add(style);
  for (const [name, ids] of classes) {
    const listed = [...ids].sort(compareText);
    const characters = listed.reduce((sum, id) => sum + id.length, 0);
    out.addOf(characters, () => `class ${listed.join(",")} ${name}\n`);
  }
  if (drawing.struck.length > 0) add(`linkStyle ${drawing.struck.join(",")} ${STRUCK_OUT}`);
  return out.text;
}

function addChannel(
  channel: FbcChannel,
  source: GraphSource,
  deprecated: ReadonlySet<string>,
  drawing: Drawing,
  { limits, ...options }: MermaidOptions & { limits: GraphLimits },
): void {
  const id = formatId(`${source.package}-${channel.name}`);
  const node = (name: string): string => `${id}-${formatId(name)}[${goQuote(name)}]`;
  const add = (line: string): void => drawing.out.add(`${line}\n`);
  add(`    %% channel ${goQuote(channel.name)}`);
  add(`    subgraph ${id}[${goQuote(channel.name)}]`);
  const skipped = new Set<string>();
  const link = (line: string, struck: boolean): void => {
    add(line);
    if (struck) drawing.struck.push(drawing.link);
    if (++drawing.link > limits.edges) throw new GraphTooLargeError("the graph has too many upgrade edges to draw");
  };
  const entries = sortEntries(channel.entries, source.versions);
  if (entries.length > limits.nodes)
    throw new GraphTooLargeError(`channel ${goQuote(channel.name)} has ${entries.length} entries, more than the limit of ${limits.nodes}`);
  for (const { name, replaces, skips = [], skipRange } of entries) {
    add(`      ${node(name)}`);
    for (const skip of skips) {
      link(`      ${node(skip)}-- skip --> ${node(name)}`, skipped.has(skip) && options.v0Semantics === true);
      skipped.add(skip);
    }
    const struck = skipped.has(name) && options.v0Semantics === true;
    if (skipRange) {
      chargeComparisons(skipRange, channel.entries.length, drawing.budget);
      const holds = compileRangeTest(skipRange);
      const label = quotedLabel(`skipRange(${skipRange})`);
      for (const { name: from } of channel.entries) {
        if (holds(source.versions.get(from))) link(`      ${node(from)}-- ${label} --> ${node(name)}`, struck);
      }
    }
    if (replaces) link(`      ${node(replaces)}-- replace --> ${node(name)}`, struck);
  }
  add("    end");
  decorate(channel, deprecated, { id, skipped }, drawing);
  if (options.marks === true) mark(channel, source, id, drawing);
}

/** Marks heads and installed bundles. */
function mark({ entries }: FbcChannel, { installed }: GraphSource, id: string, { classes }: Drawing): void {
  const heads = new Set(findChannelHeads(entries.map(({ skips = [], ...entry }) => ({ ...entry, skips }))));
  for (const { name } of entries) {
    const kind = installed?.has(name) ? "installed" : heads.has(name) ? "head" : undefined;
    if (kind !== undefined) classes.set(kind, (classes.get(kind) ?? new Set()).add(`${id}-${formatId(name)}`));
  }
}

/** Marks deprecated and skipped bundles. */
function decorate(
  channel: FbcChannel,
  deprecated: ReadonlySet<string>,
  drawn: { id: string; skipped: ReadonlySet<string> },
  drawing: Drawing,
): void {
  if (deprecated.has(getReferenceKey("olm.channel", channel.name))) drawing.styles.push(`style ${drawn.id} fill:#DCD0FF`);
  for (const name of new Set([...channel.entries.map((entry) => entry.name), ...drawn.skipped])) {
    const kind = `${deprecated.has(getReferenceKey("olm.bundle", name)) ? "deprecated" : ""}${drawn.skipped.has(name) ? "skipped" : ""}`;
    if (kind === "") continue;
    const ids = drawing.classes.get(kind) ?? new Set();
    drawing.classes.set(kind, ids.add(`${drawn.id}-${formatId(name)}`));
  }
}

/** Returns the targets of deprecations, by `getReferenceKey`. */
function deprecatedIn({ deprecations }: GraphSource): ReadonlySet<string> {
  return new Set(deprecations.flatMap(({ entries }) => entries.map(({ reference: { schema, name } }) => getReferenceKey(schema, name))));
}

function formatId(name: string): string {
  return name.replace(/[^\w.+-]/g, "_");
}

/** Quotes the text of a link. Replaces double quotes, because they would end the text. */
function quotedLabel(text: string): string {
  return `"${text.replace(/["\r\n]/g, "'")}"`;
}
