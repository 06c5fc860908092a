import type { CatalogSource } from "../api/clusterExtension.ts";
import { type ClusterObjection, maxVersionOf, objectionTo } from "../bundle/maxOpenShiftVersion.ts";
import { messageOf } from "../errors/errors.ts";
import { defaultOf } from "../fbc/bundleOrder.ts";
import type { DeprecationReference, FbcChannel, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { type Constraint, parseConstraint } from "../version/masterminds.ts";
import { compareVersionRelease, type VersionRelease } from "../version/version.ts";
import { type Candidate, candidatesFrom, entryNames } from "./candidates.ts";
import { type Edge, type InstalledBundle, installedVersion, successorEdges } from "./successors.ts";

/** What deprecation is asked about. */
export interface DeprecationQuery {
  /** Channels named in spec; none means every channel of the package. */
  readonly channels?: readonly string[] | undefined;
  /** The installed bundle, if there is one. */
  readonly bundleName?: string | undefined;
}

/** The messages of deprecation, in the catalog's order; empty messages are left out. */
export interface DeprecationMessages {
  package: string[];
  channel: string[];
  bundle: string[];
}

/**
 * What a catalog's deprecations say about the package, about the channels asked for and about one bundle.
 * Without channels in the query all deprecated channels are told, whether the bundle is in them or not.
 * @see operator-controller internal/operator-controller/controllers/clusterextension_controller.go SetDeprecationStatus
 */
export function deprecationsFor(
  deprecations: FbcDeprecations | undefined,
  { channels = [], bundleName }: DeprecationQuery,
): DeprecationMessages {
  const messages = (isMeant: (reference: DeprecationReference) => boolean): string[] =>
    (deprecations?.entries ?? []).filter(({ reference, message }) => message !== "" && isMeant(reference)).map(({ message }) => message);
  return {
    package: messages(({ schema }) => schema === "olm.package"),
    channel: messages(({ schema, name }) => schema === "olm.channel" && (channels.length === 0 || channels.includes(name ?? ""))),
    bundle: messages(({ schema, name }) => schema === "olm.bundle" && bundleName !== undefined && name === bundleName),
  };
}

/** Names of the bundles that are deprecated themselves; a deprecated channel or package does not make its bundles so. */
export function deprecatedBundles(deprecations: FbcDeprecations | undefined): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { reference } of deprecations?.entries ?? []) if (reference.schema === "olm.bundle") names.add(reference.name ?? "");
  return names;
}

/** What is asked of every catalog. */
export interface Query {
  readonly packageName: string;
  /** None: bundles need not be in any channel. */
  readonly channels: readonly string[];
  /** As written, with what it means; absent: any version. */
  readonly range?: { readonly text: string; readonly constraint: Constraint };
  readonly installed?: InstalledBundle & { readonly parsed: VersionRelease };
  /** False under SelfCertified: any version may follow the installed one. */
  readonly edgesDecide: boolean;
  /** Name of the installed bundle, also where its version cannot be read: it may stay whatever the cluster's version is. */
  readonly keeps?: string;
  /** What bundles state their maximum for. */
  readonly cluster: ClusterVersion;
  /** True under clusterVersionPolicy Enforce: a bundle that the cluster's version speaks against is not moved to. */
  readonly clusterDecides: boolean;
}

/** A candidate that only the cluster's version rules out, and why. */
export interface RuledOut {
  readonly candidate: Candidate;
  readonly objection: ClusterObjection;
}

/** A filter that runs after those of `findIn`, on what they left: for rules that take more than the catalog and the query to judge. */
export interface LaterFilter {
  /** As records name it, such as `dependencies`. */
  readonly name: string;
  /** What it asks for, such as `whose dependencies can be met`. */
  readonly asks: string;
  /** Why it removed a candidate, a clause each. */
  readonly removed: ReadonlyMap<Candidate, string>;
  /** What would have been near where it left nothing, clauses. */
  readonly near: readonly string[];
  /** What would let a removed candidate through, a clause each, where that is known of single ones. */
  readonly remedies?: ReadonlyMap<Candidate, string>;
}

/** What one catalog has for a query: after each filter the candidates that are left, in the catalog's order. */
export interface Findings {
  readonly catalog: string;
  readonly priority: number;
  readonly content: PackageContent;
  readonly deprecations: FbcDeprecations | undefined;
  /** The channels that count: those asked for, or all. */
  readonly channels: readonly FbcChannel[];
  /** Direct successors of the installed bundle; empty when nothing is installed. */
  readonly edges: ReadonlyMap<string, Edge>;
  readonly all: readonly Candidate[];
  readonly inChannels: readonly Candidate[];
  readonly inRange: readonly Candidate[];
  readonly eligible: readonly Candidate[];
  /** Of the eligible ones those that the cluster's version rules out; none unless it decides. */
  readonly ruledOut: readonly RuledOut[];
  /** Filters that went over the candidates after these, in their order. */
  readonly later: readonly LaterFilter[];
  /** What all of them left. */
  readonly allowed: readonly Candidate[];
  readonly best: Candidate | undefined;
}

/**
 * Filters one catalog's package: channels, then version range, then upgrade edges, then the cluster's version.
 * A bundle without a readable version is in no range. The installed version is always a legal target of an upgrade.
 */
export function findIn(catalog: { name: string; priority: number }, content: PackageContent, query: Query): Findings {
  const deprecations = content.deprecations[0];
  const all = candidatesFrom(content, deprecatedBundles(deprecations));
  const channels = query.channels.length === 0 ? content.channels : content.channels.filter(({ name }) => query.channels.includes(name));
  const names = entryNames(channels);
  const inChannels = query.channels.length === 0 ? all : all.filter(({ bundle }) => names.has(bundle.name));
  const inRange = inChannels.filter((candidate) => isInRange(candidate, query));
  const edges = query.installed ? successorEdges(channels, query.installed) : new Map<string, Edge>();
  const eligible = inRange.filter((candidate) => !query.installed || !query.edgesDecide || edgeTo(candidate, query, edges) !== undefined);
  const ruledOut = query.clusterDecides ? eligible.flatMap((candidate) => ruledOutOf(candidate, query)) : [];
  const out = new Set(ruledOut.map(({ candidate }) => candidate));
  const allowed = eligible.filter((candidate) => !out.has(candidate));
  return {
    catalog: catalog.name,
    priority: catalog.priority,
    content,
    deprecations,
    channels,
    edges,
    all,
    inChannels,
    inRange,
    eligible,
    ruledOut,
    later: [],
    allowed,
    best: defaultOf(allowed),
  };
}

/** `findings` after one more filter. */
export function narrowed(findings: Findings, filter: LaterFilter): Findings {
  const allowed = findings.allowed.filter((candidate) => !filter.removed.has(candidate));
  return { ...findings, later: [...findings.later, filter], allowed, best: defaultOf(allowed) };
}

function ruledOutOf(candidate: Candidate, query: Query): RuledOut[] {
  const objection = isInstalled(candidate, query) ? undefined : objectionOf(candidate, query);
  return objection ? [{ candidate, objection }] : [];
}

/** What the cluster's version has against the candidate, whether that decides or not. */
export function objectionOf({ bundle }: Candidate, { cluster }: Query): ClusterObjection | undefined {
  return objectionTo(maxVersionOf(bundle), cluster);
}

/** Whether the candidate is the very bundle that is installed. */
export function isInstalled({ bundle, version }: Candidate, { keeps, installed }: Query): boolean {
  if (bundle.name !== keeps) return false;
  return installed === undefined || (version !== undefined && compareVersionRelease(version, installed.parsed) === 0);
}

/** Whether the query's range, if it has one, contains the candidate. */
export function isInRange({ version }: Candidate, { range }: Query): boolean {
  return range === undefined || (version !== undefined && range.constraint.contains(version.version));
}

/** How the candidate may follow what is installed: as that bundle itself, by an edge, or as another bundle of the same version. */
export function edgeTo({ bundle, version }: Candidate, { installed }: Query, edges: ReadonlyMap<string, Edge>): Edge | undefined {
  if (!installed) return undefined;
  const sameVersion = version !== undefined && compareVersionRelease(version, installed.parsed) === 0;
  if (sameVersion && bundle.name === installed.name) return { channel: "", via: "stay" };
  return edges.get(bundle.name) ?? (sameVersion ? { channel: "", via: "stay" } : undefined);
}

/** What a source asks of every catalog, or what of it cannot be read. */
export type ReadQuery =
  | { readonly kind: "read"; readonly query: Query }
  | { readonly kind: "badRange"; readonly error: Error }
  /** The version of what is installed cannot be read and edges decide; `query` is as if nothing were installed. */
  | { readonly kind: "badInstalled"; readonly error: Error; readonly query: Query };

/** Reads version range and installed version. Under SelfCertified an installed version that cannot be read counts as none. */
export function readQuery(source: CatalogSource, installed: InstalledBundle | undefined, cluster: ClusterVersion): ReadQuery {
  const range = rangeFrom(source.version);
  if (range instanceof Error) return { kind: "badRange", error: range };
  const before = readInstalled(installed);
  const query: Query = {
    packageName: source.packageName,
    channels: source.channels ?? [],
    edgesDecide: source.upgradeConstraintPolicy !== "SelfCertified",
    cluster,
    clusterDecides: source.clusterVersionPolicy === "Enforce",
    ...(installed ? { keeps: installed.name } : {}),
    ...(range ? { range } : {}),
    ...(before instanceof Error || before === undefined ? {} : { installed: before }),
  };
  if (before instanceof Error && query.edgesDecide) return { kind: "badInstalled", error: before, query };
  return { kind: "read", query };
}

function rangeFrom(text: string | undefined): Query["range"] | Error {
  if (!text) return undefined;
  try {
    return { text, constraint: parseConstraint(text) };
  } catch (err) {
    return new Error(messageOf(err), { cause: err });
  }
}

function readInstalled(installed: InstalledBundle | undefined): Query["installed"] | Error {
  if (!installed) return undefined;
  try {
    return { ...installed, parsed: installedVersion(installed) };
  } catch (err) {
    return new Error(messageOf(err), { cause: err });
  }
}
