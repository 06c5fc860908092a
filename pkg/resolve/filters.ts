import type { CatalogSource } from "../api/clusterExtension.ts";
import { type ClusterVersionConflict, findClusterVersionConflict, readMaxVersion } from "../bundle/maxOpenShiftVersion.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { findDefault } from "../fbc/bundleOrder.ts";
import type { FbcChannel, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { type Constraint, parseConstraint } from "../version/masterminds.ts";
import { compareVersionRelease, type VersionRelease } from "../version/version.ts";
import { type Candidate, listCandidates, listDeprecatedBundles, listEntryNames } from "./candidates.ts";
import { type BundleMetadata, findSuccessorEdges, parseInstalledVersion, type UpgradeEdge } from "./successors.ts";

/** The support policy of a query, and its day. */
interface SupportRule {
  readonly policy: NonNullable<CatalogSource["supportPolicy"]>;
  /** UTC day, YYYY-MM-DD. */
  readonly today: string;
}

/** The requirements of spec.source.catalog and of the installed bundle, parsed once for all catalogs. */
export interface ResolutionQuery {
  readonly packageName: string;
  /** If empty, bundles need not be in a channel. */
  readonly channels: readonly string[];
  /** The version range as text, and parsed. If absent, any version matches. */
  readonly range?: { readonly text: string; readonly constraint: Constraint };
  readonly installed?: BundleMetadata & { readonly parsed: VersionRelease };
  /** False under SelfCertified, which allows any version after the installed one. */
  readonly enforceEdges: boolean;
  /** Name of the installed bundle, even if its version cannot be parsed. This bundle may stay regardless of the cluster's version. */
  readonly installedName?: string;
  /** The cluster version to compare with the maximum version of bundles. */
  readonly cluster: ClusterVersion;
  /** True under clusterVersionPolicy Enforce: a bundle that conflicts with the cluster's version is excluded. */
  readonly enforceClusterVersion: boolean;
  /** Absent if the support of versions does not matter, as in the search for dependencies. */
  readonly support?: SupportRule;
}

/** A parsed query, or the part of it that cannot be parsed. */
export type ParsedQuery =
  | { readonly kind: "query"; readonly query: ResolutionQuery }
  | { readonly kind: "invalidRange"; readonly error: Error }
  /** The installed version cannot be parsed and edges are enforced; `query` assumes that nothing is installed. */
  | { readonly kind: "invalidInstalledVersion"; readonly error: Error; readonly query: ResolutionQuery };

/**
 * Parses the version range and the installed version. Under SelfCertified an invalid installed version is ignored.
 * @param today UTC day, YYYY-MM-DD, for supportPolicy. If absent, the policy does not apply.
 */
export function parseQuery(
  source: CatalogSource,
  installed: BundleMetadata | undefined,
  cluster: ClusterVersion,
  today?: string,
): ParsedQuery {
  const range = parseRange(source.version);
  if (range instanceof Error) return { kind: "invalidRange", error: range };
  const before = parseInstalled(installed);
  const query: ResolutionQuery = {
    packageName: source.packageName,
    channels: source.channels ?? [],
    enforceEdges: source.upgradeConstraintPolicy !== "SelfCertified",
    cluster,
    enforceClusterVersion: source.clusterVersionPolicy === "Enforce",
    ...(today === undefined ? {} : { support: { policy: source.supportPolicy ?? "Ignore", today } }),
    ...(installed ? { installedName: installed.name } : {}),
    ...(range ? { range } : {}),
    ...(before instanceof Error || before === undefined ? {} : { installed: before }),
  };
  if (before instanceof Error && query.enforceEdges) return { kind: "invalidInstalledVersion", error: before, query };
  return { kind: "query", query };
}

function parseRange(text: string | undefined): ResolutionQuery["range"] | Error {
  if (!text) return undefined;
  try {
    return { text, constraint: parseConstraint(text) };
  } catch (err) {
    return new Error(getErrorMessage(err), { cause: err });
  }
}

function parseInstalled(installed: BundleMetadata | undefined): ResolutionQuery["installed"] | Error {
  if (!installed) return undefined;
  try {
    return { ...installed, parsed: parseInstalledVersion(installed) };
  } catch (err) {
    return new Error(getErrorMessage(err), { cause: err });
  }
}

/** A candidate that only the cluster's version excludes, and why. */
export interface ClusterRejection {
  readonly candidate: Candidate;
  readonly conflict: ClusterVersionConflict;
}

/** A filter that runs after those of `filterCatalog`, on the remaining candidates, for rules that need data other than the catalog and the query. */
export interface ExtraFilter {
  /** The name in records, such as `dependencies`. */
  readonly name: string;
  /** The condition of the filter, such as `whose dependencies can be met`. */
  readonly asks: string;
  /** Why each removed candidate was removed, as clauses. */
  readonly removed: ReadonlyMap<Candidate, string>;
  /** Alternatives if no candidate passes, as clauses. */
  readonly near: readonly string[];
  /** Remedies for single removed candidates, as clauses, if known. */
  readonly remedies?: ReadonlyMap<Candidate, string>;
}

/** The result of a query in one catalog: the candidates after each filter, in the catalog's order. */
export interface FilterResult {
  readonly catalog: string;
  readonly priority: number;
  readonly content: PackageContent;
  readonly deprecations: FbcDeprecations | undefined;
  /** The requested channels, see `getRequestedChannels`. */
  readonly channels: readonly FbcChannel[];
  /** Direct successors of the installed bundle; empty if nothing is installed. */
  readonly edges: ReadonlyMap<string, UpgradeEdge>;
  readonly all: readonly Candidate[];
  readonly inChannels: readonly Candidate[];
  readonly inRange: readonly Candidate[];
  readonly reachable: readonly Candidate[];
  /** The reachable candidates that the cluster's version excludes; empty unless the query enforces it. */
  readonly rejectedByCluster: readonly ClusterRejection[];
  /** Filters that ran after the ones above, in order. */
  readonly extraFilters: readonly ExtraFilter[];
  /** The candidates that passed all filters. */
  readonly allowed: readonly Candidate[];
  readonly best: Candidate | undefined;
}

/**
 * Filters one catalog's package: channels, then version range, then upgrade edges, then the cluster's version. A version range never matches a bundle
 * without a valid version. The installed version always passes the upgrade edges.
 */
export function filterCatalog(catalog: { name: string; priority: number }, content: PackageContent, query: ResolutionQuery): FilterResult {
  const deprecations = content.deprecations[0];
  const channels = getRequestedChannels(content, query);
  const entries = listEntryNames(channels);
  const edges = query.installed ? findSuccessorEdges(channels, query.installed) : new Map<string, UpgradeEdge>();
  const all = listCandidates(content, listDeprecatedBundles(deprecations));
  const inChannels = query.channels.length === 0 ? all : all.filter(({ bundle }) => entries.has(bundle.name));
  const inRange = inChannels.filter((candidate) => isInRange(candidate, query));
  const reachable = inRange.filter((candidate) => isReachable(candidate, query, edges));
  const rejectedByCluster = reachable.flatMap((candidate) => {
    const conflict = rejectByCluster(candidate, query);
    return conflict ? [{ candidate, conflict }] : [];
  });
  const rejected = new Set(rejectedByCluster.map(({ candidate }) => candidate));
  const allowed = reachable.filter((candidate) => !rejected.has(candidate));
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
    reachable,
    rejectedByCluster,
    extraFilters: [],
    allowed,
    best: findDefault(allowed),
  };
}

/** Returns `result` after one more filter. */
export function applyFilter(result: FilterResult, filter: ExtraFilter): FilterResult {
  const allowed = result.allowed.filter((candidate) => !filter.removed.has(candidate));
  return { ...result, extraFilters: [...result.extraFilters, filter], allowed, best: findDefault(allowed) };
}

/** Returns the channels in the query, or all channels of the package if the query has none. */
export function getRequestedChannels({ channels }: PackageContent, query: ResolutionQuery): readonly FbcChannel[] {
  return query.channels.length === 0 ? channels : channels.filter(({ name }) => query.channels.includes(name));
}

/** Reports whether the query's range contains the candidate's version. Always true without a range; false for a version that cannot be parsed. */
export function isInRange({ version }: Pick<Candidate, "version">, { range }: ResolutionQuery): boolean {
  return range === undefined || (version !== undefined && range.constraint.contains(version.version));
}

/** Reports whether the installed bundle may be upgraded to the candidate. Always true if edges are not enforced or nothing is installed. */
export function isReachable(candidate: Candidate, query: ResolutionQuery, edges: ReadonlyMap<string, UpgradeEdge>): boolean {
  return !query.installed || !query.enforceEdges || findEdge(candidate, query, edges) !== undefined;
}

/**
 * Returns the edge from the installed bundle to the candidate: an upgrade edge, or `stay` for the installed bundle itself and for other bundles of
 * the same version. Undefined if there is no edge.
 */
export function findEdge(
  { bundle, version }: Candidate,
  { installed }: ResolutionQuery,
  edges: ReadonlyMap<string, UpgradeEdge>,
): UpgradeEdge | undefined {
  if (!installed) return undefined;
  const sameVersion = version !== undefined && compareVersionRelease(version, installed.parsed) === 0;
  if (sameVersion && bundle.name === installed.name) return { channel: "", via: "stay" };
  return edges.get(bundle.name) ?? (sameVersion ? { channel: "", via: "stay" } : undefined);
}

/** Returns why the cluster's version excludes the candidate; undefined if it does not. It never excludes the installed bundle. */
export function rejectByCluster(candidate: Candidate, query: ResolutionQuery): ClusterVersionConflict | undefined {
  if (!query.enforceClusterVersion || isInstalledBundle(candidate, query)) return undefined;
  return findClusterConflict(candidate, query);
}

/** Returns how the candidate conflicts with the cluster's version, even if the query does not enforce the cluster version. */
export function findClusterConflict({ bundle }: Candidate, { cluster }: ResolutionQuery): ClusterVersionConflict | undefined {
  return findClusterVersionConflict(readMaxVersion(bundle), cluster);
}

/** Reports whether the candidate is the installed bundle itself. */
export function isInstalledBundle({ bundle, version }: Candidate, { installedName, installed }: ResolutionQuery): boolean {
  if (bundle.name !== installedName) return false;
  return installed === undefined || (version !== undefined && compareVersionRelease(version, installed.parsed) === 0);
}

/** Reports whether a candidate is newer than the installed bundle. */
export function isNewerThanInstalled({ version }: Candidate, { installed }: ResolutionQuery): boolean {
  return installed !== undefined && version !== undefined && compareVersionRelease(version, installed.parsed) > 0;
}
