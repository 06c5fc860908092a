import { newProblem, type Problem } from "../api/problems.ts";
import { compareNewestFirst, findDefault } from "../fbc/bundleOrder.ts";
import type { PackageContent } from "../fbc/types.ts";
import { explainMissingSupport, findVersionSupport, UNKNOWN_SUPPORT, type VersionSupport } from "../fbc/versionSupport.ts";
import { goQuote } from "../golang/quote.ts";
import { formatCount } from "../text/lists.ts";
import type { Candidate } from "./candidates.ts";
import { applyFilter, type FilterResult, filterCatalog, isInstalledBundle, type ResolutionQuery } from "./filters.ts";
import { formatCandidateVersion } from "./wording.ts";

const MAX_BUNDLES = 3;
const MAX_CATALOGS = 3;

/** Returns the support of a candidate. Undefined if the catalog has no support phases of the package, or the query has no day. */
export function findCandidateSupport(
  { version }: Pick<Candidate, "version">,
  { lifecycle }: Pick<PackageContent, "lifecycle">,
  { support, cluster }: Pick<ResolutionQuery, "support" | "cluster">,
): VersionSupport | undefined {
  return lifecycle && support && findVersionSupport(lifecycle, version?.version, { today: support.today, cluster });
}

/**
 * Filters one catalog's package like `filterCatalog`, and then by support under supportPolicy Enforce. This removes the candidates that are not
 * supported: those whose support phases have ended or not started, that do not support the version of the cluster, or whose support is unknown. It keeps
 * the installed bundle.
 */
export function filterSupported(
  catalog: { name: string; priority: number },
  content: PackageContent,
  query: ResolutionQuery,
): FilterResult {
  const result = filterCatalog(catalog, content, query);
  if (query.support?.policy !== "Enforce") return result;
  const removed = new Map<Candidate, string>();
  for (const candidate of result.all) {
    if (isInstalledBundle(candidate, query)) continue;
    const why = explainMissingSupport(getSupport(candidate, content, query), query.cluster);
    if (why !== undefined) removed.set(candidate, why);
  }
  const remedies = new Map([...removed.keys()].map((candidate) => [candidate, "supportPolicy Warn allows it"]));
  const asks = "that supportPolicy Enforce allows";
  return applyFilter(result, { name: "support", asks, removed, near: suggestSupported(result, removed), remedies });
}

function getSupport(candidate: Candidate, content: PackageContent, query: ResolutionQuery): VersionSupport {
  return findCandidateSupport(candidate, content, query) ?? UNKNOWN_SUPPORT;
}

/** Lists the excluded bundles with the reason, and two alternatives: policy Warn, or a supported version that another filter excludes. */
function suggestSupported({ allowed, all, content }: FilterResult, removed: ReadonlyMap<Candidate, string>): string[] {
  const [highest] = allowed.toSorted(compareNewestFirst);
  const passed = new Set(allowed);
  const [supported] = all.filter((candidate) => !removed.has(candidate) && !passed.has(candidate)).toSorted(compareNewestFirst);
  return [
    ...(content.lifecycle ? [formatUnsupported(allowed, removed)] : ["the catalog has no support phases of this package"]),
    ...(highest ? [`supportPolicy Warn would allow ${formatCandidateVersion(highest)}`] : []),
    ...(supported ? [`version ${formatCandidateVersion(supported)} is supported, but spec or the upgrade edges exclude it`] : []),
  ];
}

/** Formats the highest three, such as `bundle "p.v1.2.0" (its support ended on 2026-01-31), 2 more bundles`. */
function formatUnsupported(candidates: readonly Candidate[], removed: ReadonlyMap<Candidate, string>): string {
  const sorted = candidates.toSorted(compareNewestFirst);
  const reported = sorted.slice(0, MAX_BUNDLES).map((one) => `bundle ${goQuote(one.bundle.name)} (${removed.get(one) ?? "supported"})`);
  const more = sorted.length - MAX_BUNDLES;
  return [...reported, ...(more > 0 ? [formatCount(more, "more bundle")] : [])].join(", ");
}

/**
 * Explains which bundles of the same catalog would have been chosen instead of `best` if supportPolicy Enforce did not exclude them. One sentence for
 * each catalog of at least the same priority, at most three.
 */
export function explainSupportRejections(results: readonly FilterResult[], choice: FilterResult & { readonly best: Candidate }): string[] {
  const sentences = results.flatMap((result) => {
    const filter = result.extraFilters.find(({ name }) => name === "support");
    if (!filter) return [];
    const rejected = new Set(result.rejectedByCluster.map(({ candidate }) => candidate));
    const excluded = result.reachable.filter((candidate) => filter.removed.has(candidate) && !rejected.has(candidate));
    const isSame = result.catalog === choice.catalog;
    if (!isSame && (result.best || result.priority < choice.priority)) return [];
    const better = isSame ? excluded.filter((candidate) => findDefault([choice.best, candidate]) === candidate) : excluded;
    const where = isSame ? "" : ` of catalog ${goQuote(result.catalog)}`;
    return better.length > 0
      ? [`supportPolicy Enforce excludes ${formatUnsupported(better, filter.removed)}${where}; Warn would allow it`]
      : [];
  });
  return sentences.slice(0, MAX_CATALOGS);
}

/** Returns the problem of a chosen bundle that is not supported, or whose support is unknown; none under supportPolicy Ignore. */
export function findSupportProblems(best: Candidate, content: PackageContent, query: ResolutionQuery): Problem[] {
  const { support: request, packageName, cluster } = query;
  if (!request || request.policy === "Ignore") return [];
  const support = getSupport(best, content, query);
  const why = explainMissingSupport(support, cluster);
  if (why === undefined) return [];
  const isUnknown = support.state === "Unknown";
  const message = `bundle ${goQuote(best.bundle.name)} is not supported: ${why}`;
  const next = `olmv1 versions ${packageName} --supported`;
  return [newProblem("VersionNotSupported", { message, next, ...(isUnknown ? { severity: "Info" } : {}) })];
}
