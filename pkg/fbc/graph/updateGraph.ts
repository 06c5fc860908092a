import { compareText } from "../../text/compare.ts";
import { type BundleVersion, channelHeads, compareKnownVersions, rangeTest } from "../bundleOrder.ts";
import type { ChannelEntry, FbcChannel, FbcDeprecations } from "../types.ts";

/** What one package's update graph is made of. */
export interface GraphSource {
  readonly package: string;
  readonly defaultChannel?: string | undefined;
  readonly channels: readonly FbcChannel[];
  /** Version of each bundle by its name; a name that is missing is of a bundle that the catalog does not have. */
  readonly versions: ReadonlyMap<string, BundleVersion>;
  readonly deprecations: readonly FbcDeprecations[];
  /** Who has a bundle installed, by its name; none where that is not known. */
  readonly installed?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Why an update is possible. */
export type EdgeType = "replaces" | "skips" | "skipRange";

/** A possible update that an entry names: from an older bundle to a newer one. */
interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly type: "replaces" | "skips";
}

/** The updates that the skipRange of one entry allows. */
export interface GraphRange {
  readonly to: string;
  /** As the catalog writes it. */
  readonly range: string;
  /** The nodes in the range but `to`, newest first: runs of positions in the nodes of the channel. Empty for a range that cannot be read. */
  readonly covers: readonly NodeRun[];
}

/** Nodes that follow each other, by their positions from 0, the last one included. */
interface NodeRun {
  readonly first: number;
  readonly last: number;
}

/** One update of a graph, whatever allows it. */
export interface Update {
  readonly from: string;
  readonly to: string;
  readonly type: EdgeType;
  /** Of type skipRange, as the catalog writes it. */
  readonly range?: string;
}

/** A bundle in a channel, or a name that an entry refers to. */
export interface GraphNode {
  readonly name: string;
  readonly version?: string;
  /** Whether no entry of the channel replaces or skips it. */
  readonly head?: true;
  /** The message, where the bundle is deprecated. */
  readonly deprecated?: string;
  /** Set for a name that an entry replaces or skips and that is no entry of the channel. */
  readonly absent?: true;
  /** Who has it installed, where somebody has. */
  readonly installed?: readonly string[];
}

/** The update graph of one channel. */
export interface ChannelGraph {
  readonly name: string;
  readonly deprecated?: string;
  /** Entries by falling version, then absent ones by name. */
  readonly nodes: readonly GraphNode[];
  /** By the node they lead to, in the order of the nodes; then by type. */
  readonly edges: readonly GraphEdge[];
  /** By the node they lead to, in the order of the nodes. */
  readonly ranges: readonly GraphRange[];
}

/** The update graph of a package: its channels by name. */
export interface UpdateGraph {
  readonly package: string;
  readonly defaultChannel?: string;
  readonly deprecated?: string;
  readonly channels: readonly ChannelGraph[];
}

/** Bounds of what is drawn; catalogs are untrusted. */
export interface GraphLimits {
  /** Of one channel. */
  readonly nodes: number;
  /** Of all channels together: updates that entries name, and in drawings those of ranges as well. */
  readonly edges: number;
  /** Comparisons of an entry with a part of a range, of all channels together. */
  readonly comparisons: number;
  /** Size of the text in bytes. */
  readonly bytes: number;
}

/** More than ten times the largest real package. A drawing may have a quarter of the text. */
export const GRAPH_LIMITS: GraphLimits = { nodes: 5_000, edges: 100_000, comparisons: 2_000_000, bytes: 64 * 1024 * 1024 };
export const DRAWING_BYTES: number = GRAPH_LIMITS.bytes / 4;
/** Real ranges are shorter; longer ones have more parts to compare with. */
const RANGE_CHARACTERS = 64;

/** A graph is beyond the limits; the text says which. */
export class GraphTooLargeError extends Error {
  override readonly name = "GraphTooLargeError";
}

/**
 * Returns the update graph of a package. Each skipRange is resolved to the runs of entries that it covers, so that the graph is about as large as
 * the channels. A range that cannot be read covers none, as in resolution.
 * @throws GraphTooLargeError
 */
export function updateGraph(source: GraphSource, limits: GraphLimits = GRAPH_LIMITS): UpdateGraph {
  const budget = { edges: limits.edges, comparisons: limits.comparisons };
  const deprecated = messagesOf(source.deprecations);
  const channels = source.channels
    .toSorted((a, b) => compareText(a.name, b.name))
    .map((channel) => channelGraph(channel, source, deprecated, limits, budget));
  return {
    package: source.package,
    ...optional("defaultChannel", source.defaultChannel),
    ...optional("deprecated", deprecated.get(referenceKey("olm.package"))),
    channels,
  };
}

interface Budget {
  edges: number;
  comparisons: number;
}

function channelGraph(
  channel: FbcChannel,
  { versions, installed }: GraphSource,
  deprecated: ReadonlyMap<string, string>,
  limits: GraphLimits,
  budget: Budget,
): ChannelGraph {
  const entries = sortedEntries(channel.entries, versions);
  const names = new Set(entries.map(({ name }) => name));
  const ordered = [...names];
  const heads = new Set(channelHeads(entries.map(({ skips = [], ...entry }) => ({ ...entry, skips }))));
  const referred = new Set(entries.flatMap(({ replaces = "", skips = [] }) => [replaces, ...skips]));
  const absent = [...referred].filter((name) => name !== "" && !names.has(name)).sort(compareText);
  if (entries.length + absent.length > limits.nodes)
    throw new GraphTooLargeError(
      `channel "${channel.name}" has ${entries.length + absent.length} entries, at most ${limits.nodes} are drawn`,
    );
  const node = (name: string): GraphNode => ({
    name,
    ...optional("version", versions.get(name)?.text),
    ...(heads.has(name) ? { head: true } : {}),
    ...optional("deprecated", deprecated.get(referenceKey("olm.bundle", name))),
    ...(names.has(name) ? {} : { absent: true }),
    ...optional("installed", installed?.get(name)),
  });
  return {
    name: channel.name,
    ...optional("deprecated", deprecated.get(referenceKey("olm.channel", channel.name))),
    nodes: [...names, ...absent].map(node),
    edges: entries.flatMap((entry) => edgesTo(entry, budget)),
    ranges: entries.flatMap((entry) => rangeTo(entry, ordered, versions, budget)),
  };
}

/** Every update of a channel, those of ranges one by one. @throws GraphTooLargeError after `max` updates. */
export function* updatesOf({ nodes, edges, ranges }: ChannelGraph, max: number = GRAPH_LIMITS.edges): Generator<Update> {
  let left = max - edges.length;
  yield* edges;
  for (const { to, range, covers } of ranges) {
    for (const { first, last } of covers) {
      left -= last - first + 1;
      if (left < 0) throw new GraphTooLargeError(`the channel has more than ${max} updates, too many to be drawn`);
      for (const { name: from } of nodes.slice(first, last + 1)) yield { from, to, type: "skipRange", range };
    }
  }
}

/** By falling version, bundles without one last, then by name. */
export function sortedEntries(entries: readonly ChannelEntry[], versions: ReadonlyMap<string, BundleVersion>): ChannelEntry[] {
  const parsed = new Map(entries.map(({ name }) => [name, versions.get(name)?.parsed]));
  return entries.toSorted((a, b) => compareKnownVersions(parsed.get(b.name), parsed.get(a.name)) || compareText(a.name, b.name));
}

function edgesTo({ name: to, replaces, skips = [] }: ChannelEntry, budget: Budget): GraphEdge[] {
  const edges: GraphEdge[] = [];
  if (replaces && replaces !== to) edges.push({ from: replaces, to, type: "replaces" });
  for (const from of new Set(skips)) if (from !== "" && from !== to) edges.push({ from, to, type: "skips" });
  budget.edges -= edges.length;
  if (budget.edges < 0) throw new GraphTooLargeError("the package has too many updates; ask for one channel");
  return edges;
}

function rangeTo(
  { name: to, skipRange: range }: ChannelEntry,
  names: readonly string[],
  versions: ReadonlyMap<string, BundleVersion>,
  budget: Budget,
): GraphRange[] {
  if (!range) return [];
  chargeComparisons(range, names.length, budget);
  const holds = rangeTest(range);
  const covers: { first: number; last: number }[] = [];
  for (const [at, name] of names.entries()) {
    if (name === to || !holds(versions.get(name))) continue;
    const run = covers.at(-1);
    if (run?.last === at - 1) run.last = at;
    else covers.push({ first: at, last: at });
  }
  return [{ to, range, covers }];
}

/** Takes what comparing `entries` with a range costs from the budget. @throws GraphTooLargeError */
export function chargeComparisons(range: string, entries: number, budget: { comparisons: number }): void {
  budget.comparisons -= entries * Math.ceil(range.length / RANGE_CHARACTERS);
  if (budget.comparisons < 0) throw new GraphTooLargeError("the package has too many ranges over too many entries; ask for one channel");
}

/** Messages by what they are about; the first one counts. */
function messagesOf(deprecations: readonly FbcDeprecations[]): Map<string, string> {
  const messages = new Map<string, string>();
  for (const { entries } of deprecations) {
    for (const { reference, message } of entries) {
      const key = referenceKey(reference.schema, reference.name);
      if (!messages.has(key)) messages.set(key, message);
    }
  }
  return messages;
}

/** What a deprecation is about, as one text. */
export function referenceKey(schema: string, name = ""): string {
  return JSON.stringify([schema, schema === "olm.package" ? "" : name]);
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}

/** Collects the pieces of a text up to a number of bytes. */
export class BoundedText {
  readonly #max: number;
  readonly #pieces: string[] = [];
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws GraphTooLargeError when the text becomes longer than allowed. */
  add(piece: string): void {
    this.reserve(Buffer.byteLength(piece));
    this.#pieces.push(piece);
  }

  /** Adds a piece that is made only if there is room for about `bytes`. @throws GraphTooLargeError */
  addOf(bytes: number, make: () => string): void {
    if (this.#bytes + bytes > this.#max) this.#refuse();
    this.add(make());
  }

  reserve(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#max) this.#refuse();
  }

  get text(): string {
    return this.#pieces.join("");
  }

  #refuse(): never {
    throw new GraphTooLargeError(`the graph has more than ${this.#max} bytes of text; ask for one channel, or for JSON`);
  }
}

/** The update graph of a package as JSON with a newline, written piece by piece. @throws GraphTooLargeError beyond `maxBytes`. */
export function graphJson({ channels, ...head }: UpdateGraph, maxBytes: number = GRAPH_LIMITS.bytes): string {
  const out = new BoundedText(maxBytes);
  const list = (name: string, values: readonly unknown[]): void => {
    out.add(`,"${name}":[`);
    for (const [at, value] of values.entries()) out.add(`${at > 0 ? "," : ""}${JSON.stringify(value)}`);
    out.add("]");
  };
  out.add(`${JSON.stringify(head).slice(0, -1)},"channels":[`);
  for (const [at, { nodes, edges, ranges, ...channel }] of channels.entries()) {
    out.add(`${at > 0 ? "," : ""}${JSON.stringify(channel).slice(0, -1)}`);
    list("nodes", nodes);
    list("edges", edges);
    list("ranges", ranges);
    out.add("}");
  }
  out.add("]}\n");
  return out.text;
}
