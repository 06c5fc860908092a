import type { CatalogSource } from "../api/clusterExtension.ts";
import { readMaxVersion } from "../bundle/maxOpenShiftVersion.ts";
import { goQuote } from "../golang/quote.ts";
import { isNextAllowed, type MinorVersion } from "../version/clusterVersion.ts";
import { compareVersionRelease } from "../version/version.ts";
import { type Candidate, listEntryNames } from "./candidates.ts";
import { type FilterResult, findClusterConflict, isInRange, parseQuery, type ResolutionQuery } from "./filters.ts";
import type { CatalogPackage } from "./resolution.ts";
import { hasContent } from "./resolve.ts";
import { type BundleMetadata, findDestinations, SearchBudget, type UpgradeTarget } from "./successors.ts";
import { filterSupported } from "./supportPolicy.ts";
import { formatCandidateVersion, formatEnumeration, formatGoList } from "./wording.ts";

/** A request for a bundle of an extension with which the cluster can be upgraded to its next minor version. */
export interface RemedyRequest {
  readonly source: CatalogSource;
  /** The catalogs that `source.selector` selects, by name. */
  readonly catalogs: readonly CatalogPackage[];
  readonly installed?: BundleMetadata | undefined;
  /** Names of the bundles that block the cluster upgrade, regardless of their properties in the catalogs. */
  readonly blocking: readonly string[];
  /** The current version of the cluster. */
  readonly cluster: MinorVersion;
  /** UTC day, YYYY-MM-DD, for supportPolicy. If absent, the policy does not apply. */
  readonly today?: string | undefined;
}

/**
 * What excludes the remedy: the version range or channels in spec, or a missing upgrade edge. `way`: the version itself is allowed, but an
 * intermediate version or edge is not.
 */
interface Limit {
  readonly kind: "range" | "channels" | "edges";
  readonly excludes: "target" | "way";
}

/** The version that allows the cluster upgrade, the path to it and the limits that exclude it; or the information that no such version exists. */
type Remedy =
  | {
      readonly kind: "version";
      readonly version: string;
      readonly bundle: string;
      readonly catalog: string;
      readonly deprecated: boolean;
      /** Intermediate versions, in the order of the upgrades. */
      readonly through: readonly string[];
      /** Empty if spec already allows the version. */
      readonly limits: readonly Limit[];
    }
  /** Names of the searched catalogs and of the unavailable catalogs; both empty if no catalog is selected. */
  | { readonly kind: "none"; readonly requested: readonly string[]; readonly silent: readonly string[] };

/** One stage of the search: the query from spec, with some limits removed. */
interface Stage {
  readonly query: ResolutionQuery;
  readonly without: readonly Limit["kind"][];
}

/**
 * Finds the version to upgrade to. The first of these stages with a result decides:
 * - versions that resolution could choose next
 * - versions that can be reached with several upgrades
 * - the same without the version range of spec, without its channels, or without both
 * - any version in the package
 *
 * In a stage, versions that are not deprecated come first, versions below the installed one come last, and then the lowest is chosen. A bundle allows
 * the cluster upgrade if it has no maximum OpenShift version, or a maximum that is high enough. Unavailable catalogs are ignored. Undefined if spec
 * or the installed version cannot be parsed. Pure. The effort is bounded.
 */
export function findRemedy({ source, catalogs, installed, blocking, cluster, today }: RemedyRequest): Remedy | undefined {
  const parsed = parseQuery(source, installed, { kind: "known", text: "", minor: cluster }, today);
  if (parsed.kind !== "query") return undefined;
  const { query } = parsed;
  const requested = catalogs.filter(({ unavailable }) => unavailable === undefined);
  const lifts = ({ candidate }: UpgradeTarget): boolean => !blocking.includes(candidate.bundle.name) && isHighEnough(candidate, cluster);
  const budget = new SearchBudget();
  for (const stage of listStages(query)) {
    const results = requested.flatMap((one) => (hasContent(one.content) ? [filterSupported(one, one.content, stage.query)] : []));
    results.sort((a, b) => b.priority - a.priority);
    const best =
      pickBest(findNextTargets(results, stage.query).filter(lifts), query) ??
      pickBest(findLaterTargets(results, stage.query, budget).filter(lifts), query);
    if (best) return toRemedy(best, results, query, stage);
  }
  const silent = catalogs.filter((one) => !requested.includes(one));
  return { kind: "none", requested: requested.map(({ name }) => name), silent: silent.map(({ name }) => name) };
}

function isHighEnough({ bundle }: Candidate, cluster: MinorVersion): boolean {
  const max = readMaxVersion(bundle);
  return max.kind === "none" || (max.kind === "stated" && isNextAllowed(max.max, cluster));
}

function listStages(query: ResolutionQuery): Stage[] {
  const { range: _range, ...anyVersion } = query;
  const stages: Stage[] = [{ query, without: [] }];
  if (query.range) stages.push({ query: anyVersion, without: ["range"] });
  if (query.channels.length > 0) stages.push({ query: { ...query, channels: [] }, without: ["channels"] });
  if (query.range && query.channels.length > 0) stages.push({ query: { ...anyVersion, channels: [] }, without: ["range", "channels"] });
  if (query.installed && query.enforceEdges)
    stages.push({ query: { ...anyVersion, channels: [], enforceEdges: false }, without: ["edges"] });
  return stages;
}

/** Returns the versions that resolution could choose next. If edges are not enforced, excludes older versions. */
function findNextTargets(results: readonly FilterResult[], query: ResolutionQuery): UpgradeTarget[] {
  return results.flatMap(({ catalog, allowed }) =>
    allowed
      .filter((candidate) => candidate.version && (query.enforceEdges || !isOlder(candidate, query)))
      .map((candidate) => ({ catalog, candidate, through: [] })),
  );
}

/** Returns the versions that are more than one upgrade away. */
function findLaterTargets(results: readonly FilterResult[], query: ResolutionQuery, budget: SearchBudget): UpgradeTarget[] {
  const { installed, enforceEdges, enforceClusterVersion } = query;
  if (!installed || !enforceEdges) return [];
  const maps = results.map(({ catalog, channels, inRange, extraFilters }) => {
    const isLeft = (candidate: Candidate): boolean => extraFilters.every(({ removed }) => !removed.has(candidate));
    const candidates = inRange.filter(
      (candidate) => isLeft(candidate) && (!enforceClusterVersion || findClusterConflict(candidate, query) === undefined),
    );
    return { catalog, channels, candidates };
  });
  return findDestinations(maps, installed, budget);
}

function isOlder({ version }: Candidate, { installed }: ResolutionQuery): boolean {
  return installed !== undefined && version !== undefined && compareVersionRelease(version, installed.parsed) < 0;
}

/** Returns the first target in the order that `findRemedy` documents; among equal ones, the first in the list. */
function pickBest(found: readonly UpgradeTarget[], query: ResolutionQuery): UpgradeTarget | undefined {
  const order = ({ candidate: a }: UpgradeTarget, { candidate: b }: UpgradeTarget): number =>
    Number(a.deprecated) - Number(b.deprecated) ||
    Number(isOlder(a, query)) - Number(isOlder(b, query)) ||
    (a.version && b.version ? compareVersionRelease(a.version, b.version) : 0);
  return found.toSorted(order)[0];
}

function toRemedy(
  { catalog, candidate, through }: UpgradeTarget,
  results: readonly FilterResult[],
  query: ResolutionQuery,
  { without }: Stage,
): Remedy {
  const content = results.find((one) => one.catalog === catalog)?.content;
  const named = listEntryNames(content?.channels.filter(({ name }) => query.channels.includes(name)) ?? []);
  const isIn = {
    range: isInRange(candidate, query),
    channels: query.channels.length === 0 || named.has(candidate.bundle.name),
    edges: false,
  };
  const left = without.includes("edges") ? (["range", "channels", "edges"] as const).filter((kind) => !isIn[kind]) : without;
  return {
    kind: "version",
    version: formatCandidateVersion(candidate),
    bundle: candidate.bundle.name,
    catalog,
    deprecated: candidate.deprecated,
    through: through.map(formatCandidateVersion),
    limits: left.map((kind) => ({ kind, excludes: isIn[kind] ? "way" : "target" })),
  };
}

const UNINSTALL = "uninstall the extension to upgrade the cluster";

/**
 * Formats a remedy as a clause, such as `version 1.1.0 of catalog "x" allows the cluster upgrade`. Uses the terms of spec; adds at most some
 * hundred characters to the values of spec.
 */
export function formatRemedy(remedy: Remedy, source: CatalogSource, installed: BundleMetadata | undefined): string {
  if (remedy.kind === "none") return formatNoRemedy(remedy, installed);
  const { version, catalog, deprecated, through, limits } = remedy;
  const subject = `version ${version}${deprecated ? " (deprecated)" : ""} of catalog ${goQuote(catalog)}`;
  if (through.length + limits.length === 0) return `${subject} allows the cluster upgrade`;
  const after = through.length > 0 ? `, after upgrades to ${formatEnumeration(through)}` : "";
  const but = limits.map((limit) => formatLimit(limit, source, installed)).join(", and ");
  return `${subject} would allow the cluster upgrade${after}${but === "" ? "" : `, but ${but}`}`;
}

function formatLimit({ kind, excludes }: Limit, source: CatalogSource, installed: BundleMetadata | undefined): string {
  if (kind === "range") {
    return `spec.source.catalog.version ${goQuote(source.version ?? "")} excludes ${excludes === "target" ? "it" : "an intermediate version"}`;
  }
  if (kind === "channels") {
    const field = `spec.source.catalog.channels ${formatGoList(source.channels ?? [])}`;
    return excludes === "target" ? `it is not in ${field}` : `the upgrade edges to it are not in ${field}`;
  }
  return `it has no upgrade path from ${goQuote(installed?.name ?? "")}: only upgradeConstraintPolicy SelfCertified allows it`;
}

function formatNoRemedy({ requested: asked, silent }: Remedy & { kind: "none" }, installed: BundleMetadata | undefined): string {
  if (asked.length + silent.length === 0)
    return `cannot search for another version, because spec.source.catalog.selector selects no catalog; ${UNINSTALL}`;
  if (asked.length === 0) return `${formatCatalogs(silent)} cannot be searched for a version that allows the cluster upgrade`;
  const unsure = silent.length > 0 ? ` (${formatCatalogs(silent)} cannot be searched)` : "";
  return `no ${installed ? "newer version" : "version"} in ${formatCatalogs(asked)} allows the cluster upgrade${unsure}; ${UNINSTALL}`;
}

function formatCatalogs(names: readonly string[]): string {
  return `${names.length === 1 ? "catalog" : "catalogs"} ${formatEnumeration(names.map(goQuote))}`;
}
