import type { CatalogSource } from "../api/clusterExtension.ts";
import { newProblem, type Problem } from "../api/problems.ts";
import { formatClusterVersionWarning } from "../bundle/maxOpenShiftVersion.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { findDefault } from "../fbc/bundleOrder.ts";
import type { PackageContent } from "../fbc/types.ts";
import { compareText } from "../text/compare.ts";
import { type Candidate, parseBundleVersion } from "./candidates.ts";
import { explainChoice, findWarnings } from "./explain.ts";
import { explainClusterRejections } from "./filterSteps.ts";
import { type FilterResult, findClusterConflict, findEdge, parseQuery, type ResolutionQuery } from "./filters.ts";
import { compileSelector } from "./labelSelector.ts";
import type {
  CatalogPackage,
  FilteredCatalogs,
  FilterRequest,
  MatchingCatalog,
  Resolution,
  ResolveRequest,
  SuccessfulResolution,
  Unresolved,
} from "./resolution.ts";
import { explainSupportRejections, filterSupported, findCandidateSupport, findSupportProblems } from "./supportPolicy.ts";
import {
  describeAmbiguousCatalogs,
  describeInvalidBundleVersion,
  describeInvalidInstalledVersion,
  describeInvalidSelector,
  describeInvalidVersionRange,
  describeNoMatchingBundle,
  describeUnavailableCatalog,
  explainUnavailable,
  formatUnavailable,
} from "./unresolved.ts";
import { formatEnumeration } from "./wording.ts";

const NOTHING_TO_COMPARE = "clusterVersionPolicy Enforce has no effect: not an OpenShift cluster and --cluster-version is not set";

/**
 * Chooses the bundle of a package to install, in three stages: select the catalogs, filter the candidates of each, choose the best one.
 * Dependencies are not checked. Pure: no clock, no I/O; the order of catalogs does not matter. Linear in bundles and channel entries.
 * @see operator-controller df2c201d internal/operator-controller/resolve/catalog.go
 */
export function resolve(request: ResolveRequest): Resolution {
  const selection = selectCatalogs(request.source, request.catalogs, (catalog) => catalog);
  if (selection.kind === "unresolved") return selection;
  const filtered = filterCandidates({ ...request, catalogs: selection.catalogs });
  return filtered.kind === "unresolved" ? filtered : chooseBest(filtered);
}

/** The catalogs that a selector selects, by name. */
export interface SelectedCatalogs<C> {
  readonly kind: "catalogs";
  readonly catalogs: C[];
}

/**
 * Selects catalogs by `source.selector`. This is the only function that parses the selector. Evaluates it once for each catalog.
 * @param metadataOf returns the catalog's name and labels
 */
export function selectCatalogs<C>(
  source: CatalogSource,
  catalogs: readonly C[],
  metadataOf: (catalog: C) => { readonly name: string; readonly labels?: Readonly<Record<string, string>> | undefined },
): SelectedCatalogs<C> | Unresolved {
  const { error, matches } = compileSelector(source.selector);
  if (error !== undefined) return describeInvalidSelector(source, error);
  const selected = catalogs.filter((catalog) => matches(metadataOf(catalog).labels ?? {}));
  return { kind: "catalogs", catalogs: selected.sort((a, b) => compareText(metadataOf(a).name, metadataOf(b).name)) };
}

/**
 * Filters the package of each selected catalog by channels, version range and upgrade edges and, under clusterVersionPolicy Enforce, by the cluster's
 * version, and under supportPolicy Enforce by support. Parses the range and the installed version once, and reports which of them is invalid.
 */
export function filterCandidates(request: FilterRequest): FilteredCatalogs | Unresolved {
  const { source, catalogs, installed, installedFrom, cluster = { kind: "none" }, today } = request;
  const parsed = parseQuery(source, installed, cluster, today);
  if (parsed.kind === "invalidRange") return describeInvalidVersionRange(source, parsed.error.message);
  if (parsed.kind === "invalidInstalledVersion" && catalogs.some(({ content }) => hasContent(content)))
    return describeInvalidInstalledVersion(source, parsed.error.message);
  const { query } = parsed;
  const results = catalogs.flatMap((catalog) =>
    catalog.unavailable === undefined && hasContent(catalog.content) ? [filterSupported(catalog, catalog.content, query)] : [],
  );
  return { kind: "candidates", source, query, installed, installedFrom, catalogs, results };
}

/** Reports whether a catalog contains anything about the package. */
export function hasContent(content: PackageContent | undefined): content is PackageContent {
  if (!content) return false;
  const { channels, bundles, deprecations, others } = content;
  return content.package !== undefined || channels.length + bundles.length + deprecations.length + others > 0;
}

/**
 * Chooses the best candidate. Within a catalog, candidates that are not deprecated are preferred, then the highest version. Among the catalogs, those
 * whose best candidate is not deprecated are preferred, then the highest priority. Two catalogs of the same highest priority make the choice
 * ambiguous. An unavailable catalog blocks the choice only if its content could change it.
 */
export function chooseBest(filtered: FilteredCatalogs): Resolution {
  const [first, ...rest] = rankCatalogs(filtered.results);
  const blocking = findBlockingCatalog(filtered);
  if (blocking) return describeUnavailableCatalog(filtered, blocking, first);
  if (!first) return describeNoMatchingBundle(filtered);
  const tied = rest.filter(({ priority }) => priority === first.priority);
  if (tied.length > 0) return describeAmbiguousCatalogs(filtered, [first, ...tied], [first, ...rest]);
  try {
    return toResolved(first, first.best.version ?? parseBundleVersion(first.best.bundle), filtered);
  } catch (err) {
    return describeInvalidBundleVersion(filtered, first, getErrorMessage(err));
  }
}

function toResolved(chosen: MatchingCatalog, version: SuccessfulResolution["version"], filtered: FilteredCatalogs): SuccessfulResolution {
  const { best, catalog, deprecations } = chosen;
  const { query, results, catalogs } = filtered;
  const passedOver = results.filter((result) => result.best && result.catalog !== catalog);
  const unavailable = catalogs.filter((one) => one.unavailable !== undefined).map(formatUnavailable);
  const rejections = explainClusterRejections(results, chosen);
  const unsupported = explainSupportRejections(results, chosen);
  const support = findCandidateSupport(best, chosen.content, query);
  const edge = findEdge(best, query, chosen.edges);
  const newest = findDefault(chosen.all.filter((candidate) => !candidate.deprecated && candidate.version));
  return {
    kind: "resolved",
    bundle: best.bundle,
    version,
    catalog,
    deprecations,
    explanation: explainChoice(chosen, best, query, passedOver, unavailable, [...rejections, ...unsupported]),
    problems: [
      ...[...findClusterProblems(best, query), ...rejections].map((message) => newProblem("ClusterVersionNotSupported", { message })),
      ...findSupportProblems(best, chosen.content, query),
      ...listUnavailableProblems(catalogs),
    ],
    newest: newest?.version,
    warnings: findWarnings(chosen, best, query),
    ...(edge ? { edge } : {}),
    ...(support ? { support } : {}),
    filtered,
  };
}

function listUnavailableProblems(catalogs: readonly CatalogPackage[]): Problem[] {
  const unavailable = catalogs.filter((one) => one.unavailable !== undefined);
  if (unavailable.length === 0) return [];
  const message = `unavailable catalogs: ${formatEnumeration(unavailable.map(formatUnavailable))}`;
  return [
    newProblem("CatalogUnavailable", {
      message,
      details: unavailable.map((one) => ({ name: one.name, message: explainUnavailable(one) })),
    }),
  ];
}

/**
 * Returns problems about the cluster version: clusterVersionPolicy has no version to compare with, or the chosen bundle may not support the cluster.
 */
function findClusterProblems(best: Candidate, query: ResolutionQuery): string[] {
  const { cluster, enforceClusterVersion } = query;
  if (enforceClusterVersion && cluster.kind === "none") return [NOTHING_TO_COMPARE];
  const conflict = findClusterConflict(best, query);
  return conflict && conflict.kind !== "unknown" ? [formatClusterVersionWarning(best.bundle.name, conflict)] : [];
}

/**
 * Returns the catalogs with a best candidate, highest priority first, otherwise in the given order. Catalogs whose best candidate is deprecated are
 * only included if there are no others.
 */
export function rankCatalogs(results: readonly FilterResult[]): MatchingCatalog[] {
  const matching = results.flatMap((result) => (result.best ? [{ ...result, best: result.best }] : []));
  const supported = matching.filter(({ best }) => !best.deprecated);
  return (supported.length > 0 ? supported : matching).sort((a, b) => b.priority - a.priority);
}

/** Returns the first selected catalog, by name, that is unavailable and could change the choice. */
export function findBlockingCatalog(filtered: FilteredCatalogs): CatalogPackage | undefined {
  const unavailable = filtered.catalogs.filter((catalog) => catalog.unavailable !== undefined);
  if (unavailable.length === 0) return undefined;
  const [first] = rankCatalogs(filtered.results);
  return unavailable.find((catalog) => couldChange(catalog, first, filtered));
}

/**
 * Reports whether the content of an unavailable catalog could change the choice. The first matching row decides:
 *
 * | when it was last available, no bundle passed the filters                             | no  |
 * | it was never available, and the best match is in the catalog of the installed bundle | no  |
 * | no other catalog matches, or only with deprecated bundles                            | yes |
 * | its priority is not lower than that of the best match                                | yes |
 *
 * The second row allows updates from the catalog of the installed bundle while another catalog is new or broken. Any other catalog does not replace
 * an unavailable catalog, because that could install content from a source that you did not choose.
 */
function couldChange(catalog: CatalogPackage, first: MatchingCatalog | undefined, { query, installedFrom }: FilteredCatalogs): boolean {
  const { lastKnown, priority } = catalog;
  if (lastKnown && !(hasContent(lastKnown.content) && filterSupported(catalog, lastKnown.content, query).best)) return false;
  if (!lastKnown && first && first.catalog === installedFrom) return false;
  return !first || first.best.deprecated || priority >= first.priority;
}
