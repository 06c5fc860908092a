import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { type BundleVersion, compareKnownVersions, compileRangeTest, findChannelHeads } from "../bundleOrder.ts";
import type { ChannelEntry, FbcChannel, FbcDeprecations } from "../types.ts";

/** The input of the upgrade graph of a package. */
export interface GraphSource {
  readonly package: string;
  readonly defaultChannel?: string | undefined;
  readonly channels: readonly FbcChannel[];
  /** Versions of bundles by name. Contains only bundles that are in the catalog. */
  readonly versions: ReadonlyMap<string, BundleVersion>;
  readonly deprecations: readonly FbcDeprecations[];
  /** Extensions that have a bundle installed, by bundle name; empty if unknown. */
  readonly installed?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** The kind of an upgrade edge. */
export type EdgeType = "replaces" | "skips" | "skipRange";

/** An upgrade edge from `replaces` or `skips` of an entry: from an older bundle to a newer bundle. */
interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly type: "replaces" | "skips";
}

/** The upgrade edges of the skipRange of one entry. */
export interface GraphRange {
  readonly to: string;
  /** Text of the range in the catalog. */
  readonly range: string;
  /** The nodes in the range except `to`, newest first, as runs of indexes in `nodes` of the channel. Empty for an invalid range. */
  readonly covers: readonly NodeRun[];
}

/** Consecutive nodes, from index `first` to index `last` inclusive. Indexes count from 0. */
interface NodeRun {
  readonly first: number;
  readonly last: number;
}

/** An upgrade edge of any kind. */
export interface Update {
  readonly from: string;
  readonly to: string;
  readonly type: EdgeType;
  /** Text of the range in the catalog, for type skipRange. */
  readonly range?: string;
}

/** An entry of a channel, or a bundle that an entry references. */
export interface GraphNode {
  readonly name: string;
  readonly version?: string;
  /** Whether the node is a head: no entry of the channel replaces or skips it. */
  readonly head?: true;
  /** The message, if the bundle is deprecated. */
  readonly deprecated?: string;
  /** Set if the bundle is not an entry of the channel, but an entry replaces or skips it. */
  readonly absent?: true;
  /** Extensions that have the bundle installed, if any. */
  readonly installed?: readonly string[];
}

/** The upgrade graph of a channel. */
export interface ChannelGraph {
  readonly name: string;
  readonly deprecated?: string;
  /** Entries in descending order of version, followed by absent bundles, sorted by name. */
  readonly nodes: readonly GraphNode[];
  /** Edges in the order of their target nodes, then by type. */
  readonly edges: readonly GraphEdge[];
  /** Ranges in the order of their target nodes. */
  readonly ranges: readonly GraphRange[];
}

/** The upgrade graph of a package. Channels are sorted by name. */
export interface UpdateGraph {
  readonly package: string;
  readonly defaultChannel?: string;
  readonly deprecated?: string;
  readonly channels: readonly ChannelGraph[];
}

/** Limits of graphs, because catalogs are untrusted. */
export interface GraphLimits {
  /** Maximum nodes of one channel. */
  readonly nodes: number;
  /** Maximum edges of all channels together. Counts `replaces` and `skips` and, in drawings, also the edges of ranges. */
  readonly edges: number;
  /** Maximum comparisons of entries with parts of ranges, in all channels together. */
  readonly comparisons: number;
  /** Maximum size of the text in bytes. */
  readonly bytes: number;
}

/** More than ten times the size of the largest real package. Drawings are limited to a quarter of the bytes. */
export const GRAPH_LIMITS: GraphLimits = { nodes: 5_000, edges: 100_000, comparisons: 2_000_000, bytes: 64 * 1024 * 1024 };
export const DRAWING_BYTES: number = GRAPH_LIMITS.bytes / 4;
/** Number of range characters that count as one comparison. Real ranges are shorter. Longer ranges have more parts. */
const RANGE_CHARACTERS = 64;

/** Thrown if a graph exceeds a limit. The message contains the limit. */
export class GraphTooLargeError extends Error {
  override readonly name = "GraphTooLargeError";
}

/**
 * Returns the upgrade graph of a package. Represents each skipRange by runs of entries, so that the size of the graph is proportional to the size of
 * the channels. An invalid range covers no entries, like in resolution.
 * @throws GraphTooLargeError
 */
export function buildUpdateGraph(source: GraphSource, limits: GraphLimits = GRAPH_LIMITS): UpdateGraph {
  const budget = { edges: limits.edges, comparisons: limits.comparisons };
  const deprecated = collectMessages(source.deprecations);
  const channels = source.channels
    .toSorted((a, b) => compareText(a.name, b.name))
    .map((channel) => channelGraph(channel, source, deprecated, limits, budget));
  return {
    package: source.package,
    ...optional("defaultChannel", source.defaultChannel),
    ...optional("deprecated", deprecated.get(getReferenceKey("olm.package"))),
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
  const entries = sortEntries(channel.entries, versions);
  const names = new Set(entries.map(({ name }) => name));
  const ordered = [...names];
  const heads = new Set(findChannelHeads(entries.map(({ skips = [], ...entry }) => ({ ...entry, skips }))));
  const referred = new Set(entries.flatMap(({ replaces = "", skips = [] }) => [replaces, ...skips]));
  const absent = [...referred].filter((name) => name !== "" && !names.has(name)).sort(compareText);
  if (entries.length + absent.length > limits.nodes)
    throw new GraphTooLargeError(
      `the graph of channel "${channel.name}" has ${entries.length + absent.length} bundles, including replaced and skipped ones, more than the limit of ${limits.nodes}`,
    );
  const node = (name: string): GraphNode => ({
    name,
    ...optional("version", versions.get(name)?.text),
    ...(heads.has(name) ? { head: true } : {}),
    ...optional("deprecated", deprecated.get(getReferenceKey("olm.bundle", name))),
    ...(names.has(name) ? {} : { absent: true }),
    ...optional("installed", installed?.get(name)),
  });
  return {
    name: channel.name,
    ...optional("deprecated", deprecated.get(getReferenceKey("olm.channel", channel.name))),
    nodes: [...names, ...absent].map(node),
    edges: entries.flatMap((entry) => edgesTo(entry, budget)),
    ranges: entries.flatMap((entry) => rangeTo(entry, ordered, versions, budget)),
  };
}

/** Lists all upgrade edges of a channel, including each edge of ranges. @throws GraphTooLargeError after `max` edges. */
export function* listUpdates({ name, nodes, edges, ranges }: ChannelGraph, max: number = GRAPH_LIMITS.edges): Generator<Update> {
  let left = max - edges.length;
  yield* edges;
  for (const { to, range, covers } of ranges) {
    for (const { first, last } of covers) {
      left -= last - first + 1;
      if (left < 0) throw new GraphTooLargeError(`channel ${goQuote(name)} has more than ${max} upgrade edges, too many to draw`);
      for (const { name: from } of nodes.slice(first, last + 1)) yield { from, to, type: "skipRange", range };
    }
  }
}

/** Sorts entries in descending order of version, then by name. Entries without a version are last. */
export function sortEntries(entries: readonly ChannelEntry[], versions: ReadonlyMap<string, BundleVersion>): ChannelEntry[] {
  const parsed = new Map(entries.map(({ name }) => [name, versions.get(name)?.parsed]));
  return entries.toSorted((a, b) => compareKnownVersions(parsed.get(b.name), parsed.get(a.name)) || compareText(a.name, b.name));
}

function edgesTo({ name: to, replaces, skips = [] }: ChannelEntry, budget: Budget): GraphEdge[] {
  const edges: GraphEdge[] = [];
  if (replaces && replaces !== to) edges.push({ from: replaces, to, type: "replaces" });
  for (const from of new Set(skips)) if (from !== "" && from !== to) edges.push({ from, to, type: "skips" });
  budget.edges -= edges.length;
  if (budget.edges < 0) throw new GraphTooLargeError("the package has too many upgrade edges");
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
  const holds = compileRangeTest(range);
  const covers: { first: number; last: number }[] = [];
  for (const [at, name] of names.entries()) {
    if (name === to || !holds(versions.get(name))) continue;
    const run = covers.at(-1);
    if (run?.last === at - 1) run.last = at;
    else covers.push({ first: at, last: at });
  }
  return [{ to, range, covers }];
}

/** Subtracts the cost of comparing `entries` entries with a range from the budget. @throws GraphTooLargeError */
export function chargeComparisons(range: string, entries: number, budget: { comparisons: number }): void {
  budget.comparisons -= entries * Math.ceil(range.length / RANGE_CHARACTERS);
  if (budget.comparisons < 0) throw new GraphTooLargeError("the package has too many skip ranges for its number of entries");
}

/** Returns deprecation messages by `getReferenceKey`. Uses the first message for each key. */
function collectMessages(deprecations: readonly FbcDeprecations[]): Map<string, string> {
  const messages = new Map<string, string>();
  for (const { entries } of deprecations) {
    for (const { reference, message } of entries) {
      const key = getReferenceKey(reference.schema, reference.name);
      if (!messages.has(key)) messages.set(key, message);
    }
  }
  return messages;
}

/** Returns a key for the target of a deprecation. */
export function getReferenceKey(schema: string, name = ""): string {
  return JSON.stringify([schema, schema === "olm.package" ? "" : name]);
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}

/** Builds a text with a limited number of bytes. */
export class BoundedText {
  readonly #max: number;
  readonly #pieces: string[] = [];
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Appends a piece. @throws GraphTooLargeError if the text exceeds the limit. */
  add(piece: string): void {
    this.reserve(Buffer.byteLength(piece));
    this.#pieces.push(piece);
  }

  /** Appends a piece. Creates the piece only if about `bytes` more bytes fit. @throws GraphTooLargeError */
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
    throw new GraphTooLargeError(`the graph has more than ${this.#max} bytes of text`);
  }
}

/** Formats the upgrade graph of a package as JSON with a final newline. @throws GraphTooLargeError beyond `maxBytes`. */
export function renderGraphJson({ channels, ...head }: UpdateGraph, maxBytes: number = GRAPH_LIMITS.bytes): string {
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
