import type { CatalogSource } from "../api/clusterExtension.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { formatCount } from "../text/lists.ts";
import { NAME_LENGTH, truncate } from "../text/truncate.ts";
import type { Candidate } from "./candidates.ts";
import { listFilterSteps } from "./filterSteps.ts";
import type { FilterResult, ResolutionQuery } from "./filters.ts";
import type { CatalogPackage, FilteredCatalogs, MatchingCatalog, Unresolved, UnresolvedCause, UnresolvedReason } from "./resolution.ts";
import { formatCandidateVersion, formatEnumeration, formatGoList } from "./wording.ts";

const RANGE_HINT = 'write the range like ">=1.2.0 <2.0.0", "1.2.x", "~1.2", "^1.2" or "1.2.3 || >=2.0.0"';

/** Returns the result for an invalid `source.selector`. */
export function describeInvalidSelector(source: CatalogSource, error: string): Unresolved {
  const explanation = "no catalog can be selected until you correct spec.source.catalog.selector";
  return unresolved({ reason: "InvalidSelector", error }, source, `desired catalog selector is invalid: ${error}`, explanation);
}

/** Returns the result for an invalid `source.version`. */
export function describeInvalidVersionRange(source: CatalogSource, error: string): Unresolved {
  const goMessage = `desired version range ${goQuote(source.version ?? "")} is invalid: ${error}`;
  return unresolved({ reason: "InvalidVersionRange", error }, source, goMessage, RANGE_HINT);
}

/** Returns the result for an invalid version of the installed bundle, whose successors are therefore unknown. */
export function describeInvalidInstalledVersion(source: CatalogSource, error: string): Unresolved {
  const explanation =
    "the version of the installed bundle is invalid, so its direct successors are unknown; upgradeConstraintPolicy SelfCertified allows upgrades without them";
  const goMessage = `error walking catalogs: error finding upgrade edges: ${error}`;
  return unresolved({ reason: "InvalidInstalledVersion", error }, source, goMessage, explanation);
}

/** Returns the result for an unavailable catalog that could change the choice. @param first the best match in the other catalogs */
export function describeUnavailableCatalog(
  filtered: FilteredCatalogs,
  blocking: CatalogPackage,
  first: MatchingCatalog | undefined,
): Unresolved {
  const { name, priority, unavailable = "", reports } = blocking;
  const { packageName } = filtered.query;
  const goMessage = `error walking catalogs: error getting package ${goQuote(packageName)} from catalog ${goQuote(name)}: ${unavailable}`;
  const explanation = first
    ? `catalog ${goQuote(name)} (priority ${priority}) may have a better bundle than ${goQuote(first.best.bundle.name)} of catalog ${goQuote(first.catalog)} (priority ${first.priority}); to continue without catalog ${goQuote(name)}, lower its spec.priority or exclude it with spec.source.catalog.selector`
    : "no other catalog has a matching bundle";
  const others = filtered.catalogs.filter((catalog) => catalog.unavailable !== undefined && catalog !== blocking).map(formatUnavailable);
  const more = others.length > 0 ? [`other unavailable catalogs: ${formatEnumeration(others)}`] : [];
  const own = reports === undefined ? [] : [truncate(reports, MAX_ERROR)];
  return unresolved(
    { reason: "CatalogUnavailable", blocking, filtered },
    filtered.source,
    goMessage,
    [...own, explanation, ...more].join("; "),
  );
}

/** Returns the result if no bundle in any catalog passed the filters. */
export function describeNoMatchingBundle(filtered: FilteredCatalogs): Unresolved {
  const explanation = explainNothing(listSearchedCatalogs(filtered), filtered.results, filtered.query);
  return unresolved({ reason: "NoMatchingBundle", filtered }, filtered.source, formatNotFound(filtered, []), explanation);
}

/** Returns the result if several catalogs with the same priority have a matching bundle. @param matching all catalogs with a matching bundle */
export function describeAmbiguousCatalogs(
  filtered: FilteredCatalogs,
  tied: readonly MatchingCatalog[],
  matching: readonly MatchingCatalog[],
): Unresolved {
  const goMessage = formatNotFound(filtered, matching.map(({ catalog }) => catalog).sort());
  return unresolved({ reason: "AmbiguousCatalogs", tied, filtered }, filtered.source, goMessage, explainTie(tied));
}

/** Returns the result if the best bundle has no valid version. */
export function describeInvalidBundleVersion(filtered: FilteredCatalogs, { catalog, best }: MatchingCatalog, error: string): Unresolved {
  const bundle = best.bundle.name;
  const goMessage = `error getting resolved bundle version for bundle ${goQuote(bundle)}: ${error}`;
  const explanation = `no matching bundle of catalog ${goQuote(catalog)} has a valid version`;
  return unresolved({ reason: "InvalidBundleVersion", catalog, bundle, error, filtered }, filtered.source, goMessage, explanation);
}

function unresolved(cause: UnresolvedCause, source: CatalogSource, goMessage: string, explanation: string): Unresolved {
  return { kind: "unresolved", ...cause, source, goMessage, explanation, message: `${goMessage}; ${explanation}` };
}

function listSearchedCatalogs({ catalogs }: FilteredCatalogs): string[] {
  return catalogs.flatMap(({ name, unavailable }) => (unavailable === undefined ? [name] : []));
}

/** Maximum length of the reason why a catalog is unavailable, in characters. */
const MAX_ERROR = 300;
const MAX_SENTENCES = 3;

/**
 * Explains why no catalog has a bundle for the query: how many candidates passed each filter in each catalog, up to the first filter that none
 * passed, and the alternatives. Catalogs with the same explanation share a sentence; there are at most three.
 * @param searched names of the available catalogs, in order
 * @param results results of those that contain the package, in order; each without a best candidate
 */
function explainNothing(searched: readonly string[], results: readonly FilterResult[], query: ResolutionQuery): string {
  if (searched.length === 0) return "no catalog to resolve from: spec.source.catalog.selector selects no available catalog";
  if (results.length === 0) return `none of the catalogs ${formatGoList(searched)} contains package ${goQuote(query.packageName)}`;
  const catalogsBySentence = new Map<string, string[]>();
  for (const one of results) {
    const sentence = explainEmpty(one, query);
    catalogsBySentence.set(sentence, [...(catalogsBySentence.get(sentence) ?? []), one.catalog]);
  }
  const sentences = [...catalogsBySentence].map(([sentence, catalogs]) => {
    const [only = "", ...others] = catalogs;
    return `${others.length === 0 ? `catalog ${goQuote(only)}` : `catalogs ${formatGoList(catalogs)}`}: ${sentence}`;
  });
  const more = sentences.length - MAX_SENTENCES;
  return [
    ...sentences.slice(0, MAX_SENTENCES),
    ...(more > 0 ? [`${formatCount(more, "more catalog")} without a matching bundle`] : []),
  ].join("; ");
}

/** Formats the steps, such as `6 bundles, 2 in channels [beta], none matching "3.0.0": the highest version in these channels is 1.0.2`. */
function explainEmpty(result: FilterResult, query: ResolutionQuery): string {
  const { all } = result;
  if (all.length === 0) return "the package has no bundles";
  const left = [formatCount(all.length, "bundle")];
  for (const step of listFilterSteps(result, query)) {
    left.push(`${step.left.length === 0 ? "none" : step.left.length} ${step.asks}`);
    if (step.left.length === 0) return `${left.join(", ")}: ${step.near().join(", ")}`;
  }
  return left.join(", ");
}

/** Returns the text of the Go implementation, byte for byte. @param catalogs the catalogs of an ambiguous choice */
function formatNotFound({ query: { packageName, range, channels }, installed }: FilteredCatalogs, catalogs: readonly string[]): string {
  return [
    ...(installed ? [`error upgrading from currently installed version ${goQuote(installed.version)}:`] : []),
    `${catalogs.length > 1 ? "found bundles" : "no bundles found"} for package ${goQuote(packageName)}`,
    ...(range ? [`matching version ${goQuote(range.text)}`] : []),
    ...(channels.length > 0 ? [`in channels [${channels.join(" ")}]`] : []),
    ...(catalogs.length > 1 ? [`in multiple catalogs with the same priority [${catalogs.join(" ")}]`] : []),
  ].join(" ");
}

/** Lists the tied bundles and explains how to break the tie. */
function explainTie(tied: readonly MatchingCatalog[]): string {
  const offers = tied.map(({ catalog, best }) => `catalog ${goQuote(catalog)} has ${goQuote(best.bundle.name)}`);
  return `${offers.join(", ")}, each with priority ${tied[0]?.priority ?? 0}: raise the spec.priority of one catalog, or select one with spec.source.catalog.selector`;
}

/** Formats an unavailable catalog and the reason, in a few hundred characters. */
export function formatUnavailable(catalog: CatalogPackage): string {
  return `${goQuote(catalog.name)} (${truncate(explainUnavailable(catalog), MAX_ERROR)})`;
}

/** Returns why a catalog is unavailable, and its own status; empty if it is available. Not truncated. */
export function explainUnavailable({ unavailable = "", reports }: CatalogPackage): string {
  return reports === undefined ? unavailable : `${unavailable}; ${reports}`;
}

/** A bundle that a filter excluded. */
interface ExcludedBundle {
  readonly catalog: string;
  readonly bundle: string;
  readonly version?: string;
  /** Name of the filter: channels, versionRange, upgradeEdges, clusterVersion, deprecation or dependencies. */
  readonly rule: string;
  /** Why, as a clause. */
  readonly text: string;
}

/** Why there is no bundle to install, as JSON of at most a few kilobytes. Contains only information that messages contain too. */
export interface UnresolvedDetails {
  readonly reason: UnresolvedReason;
  /** The requested package. */
  readonly package: string;
  readonly version?: string;
  readonly channels?: readonly string[];
  readonly installed?: { readonly bundle: string; readonly version: string };
  /** Why a part of the input, or of the best bundle, is invalid. */
  readonly error?: string;
  /** Names of the selected available catalogs; at most ten. */
  readonly searched: readonly string[];
  /** The selected unavailable catalogs, starting with the one that blocks the choice; at most ten. */
  readonly unavailable: readonly { readonly catalog: string; readonly error: string }[];
  /** The catalogs of an ambiguous choice; at most ten. */
  readonly ambiguous?: readonly { readonly catalog: string; readonly bundle: string }[];
  /** The newest bundles that filters excluded, newest first; at most ten, and the number of the others. */
  readonly excluded: readonly ExcludedBundle[];
  readonly moreExcluded: number;
}

const MAX_DETAILS = 10;

/** Returns the data of a failed resolution, bounded to fit into a status. */
export function getUnresolvedDetails(failed: Unresolved): UnresolvedDetails {
  const { reason, source, filtered } = failed;
  const { channels = [], version } = source;
  const installed = filtered?.installed;
  const blocking = reason === "CatalogUnavailable" ? [failed.blocking] : [];
  const others = (filtered?.catalogs ?? []).filter((one) => one.unavailable !== undefined && !blocking.includes(one));
  const excluded = filtered ? listExcludedBundles(filtered) : [];
  return {
    reason,
    package: truncateName(source.packageName),
    ...(version ? { version: truncateName(version) } : {}),
    ...(channels.length > 0 ? { channels: channels.slice(0, MAX_DETAILS).map(truncateName) } : {}),
    ...(installed ? { installed: { bundle: truncateName(installed.name), version: truncateName(installed.version) } } : {}),
    ...("error" in failed ? { error: bound(failed.error, MAX_ERROR) } : {}),
    searched: filtered ? listSearchedCatalogs(filtered).slice(0, MAX_DETAILS) : [],
    unavailable: [...blocking, ...others]
      .slice(0, MAX_DETAILS)
      .map((catalog) => ({ catalog: catalog.name, error: bound(explainUnavailable(catalog), MAX_ERROR) })),
    ...(reason === "AmbiguousCatalogs"
      ? { ambiguous: failed.tied.slice(0, MAX_DETAILS).map(({ catalog, best }) => ({ catalog, bundle: truncateName(best.bundle.name) })) }
      : {}),
    excluded: excluded.slice(0, MAX_DETAILS).map(({ catalog, candidate, rule, text }) => ({
      catalog,
      bundle: truncateName(candidate.bundle.name),
      ...(candidate.version ? { version: truncateName(formatCandidateVersion(candidate)) } : {}),
      rule,
      text: bound(text(), MAX_ERROR),
    })),
    moreExcluded: Math.max(0, excluded.length - MAX_DETAILS),
  };
}

interface Excluded {
  readonly catalog: string;
  readonly candidate: Candidate;
  readonly rule: string;
  readonly text: () => string;
}

function listExcludedBundles({ results, query }: FilteredCatalogs): Excluded[] {
  const all = results.flatMap((result) =>
    listFilterSteps(result, query).flatMap(({ name, removed, rule }) =>
      removed.map((candidate) => ({ catalog: result.catalog, candidate, rule: name, text: () => rule(candidate) })),
    ),
  );
  return all.sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
}

/** Catalog authors choose names and versions, which may have any length. */
function truncateName(name: string): string {
  return bound(name, NAME_LENGTH);
}

function bound(text: string, length: number): string {
  return truncate(text, length).toWellFormed();
}
