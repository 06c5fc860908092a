import { compareText } from "../../api/compareText.ts";
import { channelHeads } from "../summary/channelHeads.ts";
import type { ChannelEntry, FbcChannel, FbcDeprecations } from "../types.ts";
import { type BundleVersion, compareKnownVersions, rangeTest } from "./bundleVersion.ts";

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

/** A possible update: from an older bundle to a newer one. */
export interface GraphEdge {
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
  /** Of all channels together. */
  readonly edges: number;
  /** Comparisons of an entry with a range, of all channels together. */
  readonly comparisons: number;
}

/** Room for more than ten times the largest real package. */
export const GRAPH_LIMITS: GraphLimits = { nodes: 5_000, edges: 100_000, comparisons: 2_000_000 };

/** A graph is beyond the limits; the text says which. */
export class GraphTooLargeError extends Error {
  override readonly name = "GraphTooLargeError";
}

/**
 * The update graph of a package, with every skipRange resolved to the entries of its channel that it holds. A range that cannot be read leads
 * from nowhere, as in resolution.
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
    edges: entries.flatMap((entry) => edgesTo(entry, entries, versions, budget)),
  };
}

/** By falling version, bundles without one last, then by name. */
export function sortedEntries(entries: readonly ChannelEntry[], versions: ReadonlyMap<string, BundleVersion>): ChannelEntry[] {
  const parsed = new Map(entries.map(({ name }) => [name, versions.get(name)?.parsed]));
  return entries.toSorted((a, b) => compareKnownVersions(parsed.get(b.name), parsed.get(a.name)) || compareText(a.name, b.name));
}

function edgesTo(
  { name: to, replaces, skips = [], skipRange }: ChannelEntry,
  entries: readonly ChannelEntry[],
  versions: ReadonlyMap<string, BundleVersion>,
  budget: Budget,
): GraphEdge[] {
  const edges: GraphEdge[] = [];
  if (replaces && replaces !== to) edges.push({ from: replaces, to, type: "replaces" });
  for (const from of new Set(skips)) if (from !== "" && from !== to) edges.push({ from, to, type: "skips" });
  if (skipRange) {
    const holds = rangeTest(skipRange);
    budget.comparisons -= entries.length;
    if (budget.comparisons < 0) throw new GraphTooLargeError("the package has too many ranges over too many entries to be drawn");
    for (const { name: from } of entries) {
      if (from !== to && holds(versions.get(from))) edges.push({ from, to, type: "skipRange", range: skipRange });
    }
  }
  budget.edges -= edges.length;
  if (budget.edges < 0) throw new GraphTooLargeError("the package has too many updates to be drawn; ask for one channel");
  return edges;
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

function referenceKey(schema: string, name = ""): string {
  return JSON.stringify([schema, schema === "olm.package" ? "" : name]);
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
