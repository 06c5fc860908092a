import type { CatalogSource } from "../api/clusterExtension.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { formatCount } from "../text/lists.ts";
import { NAME_LENGTH, truncate } from "../text/truncate.ts";
import type { Candidate } from "./candidates.ts";
import { filterSteps } from "./filterSteps.ts";
import type { FilterResult, ResolutionQuery } from "./filters.ts";
import type { CatalogPackage, FilteredCatalogs, MatchingCatalog, Unresolved, UnresolvedCause, UnresolvedReason } from "./resolution.ts";
import { formatCandidateVersion, formatEnumeration, formatGoList } from "./wording.ts";

const RANGE_HINT = 'a range is written like ">=1.2.0 <2.0.0", "1.2.x", "~1.2", "^1.2" or "1.2.3 || >=2.0.0"';

/** Says that `source.selector` cannot be parsed. */
export function invalidSelector(source: CatalogSource, error: string): Unresolved {
  const explanation = "no catalog can be chosen until spec.source.catalog.selector is corrected";
  return unresolved({ reason: "InvalidSelector", error }, source, `desired catalog selector is invalid: ${error}`, explanation);
}

/** Says that `source.version` cannot be parsed. */
export function invalidVersionRange(source: CatalogSource, error: string): Unresolved {
  const goMessage = `desired version range ${goQuote(source.version ?? "")} is invalid: ${error}`;
  return unresolved({ reason: "InvalidVersionRange", error }, source, goMessage, RANGE_HINT);
}

/** Says that the version of the installed bundle cannot be parsed, so that its successors are not known. */
export function invalidInstalledVersion(source: CatalogSource, error: string): Unresolved {
  const explanation =
    "the version of what is installed cannot be read, so its successors are unknown; upgradeConstraintPolicy SelfCertified does without";
  const goMessage = `error walking catalogs: error finding upgrade edges: ${error}`;
  return unresolved({ reason: "InvalidInstalledVersion", error }, source, goMessage, explanation);
}

/** Says that a catalog cannot answer whose answer could change the choice. @param first the best match of the others. */
export function catalogUnavailable(filtered: FilteredCatalogs, blocking: CatalogPackage, first: MatchingCatalog | undefined): Unresolved {
  const { name, priority, unavailable = "", reports } = blocking;
  const { packageName } = filtered.query;
  const goMessage = `error walking catalogs: error getting package ${goQuote(packageName)} from catalog ${goQuote(name)}: ${unavailable}`;
  const explanation = first
    ? `catalog ${goQuote(name)} of priority ${priority} may have a better bundle than ${goQuote(first.best.bundle.name)} of catalog ${goQuote(first.catalog)} (priority ${first.priority}); a lower spec.priority, or a selector without it, lets resolution go on`
    : "no other catalog has a bundle that fits";
  const others = filtered.catalogs.filter((catalog) => catalog.unavailable !== undefined && catalog !== blocking).map(formatUnavailable);
  const more = others.length > 0 ? [`catalogs not asked either: ${formatEnumeration(others)}`] : [];
  const own = reports === undefined ? [] : [truncate(reports, MAX_ERROR)];
  return unresolved(
    { reason: "CatalogUnavailable", blocking, filtered },
    filtered.source,
    goMessage,
    [...own, explanation, ...more].join("; "),
  );
}

/** Says that the filters left no bundle in any catalog. */
export function noMatchingBundle(filtered: FilteredCatalogs): Unresolved {
  const explanation = explainNothing(searchedCatalogs(filtered), filtered.results, filtered.query);
  return unresolved({ reason: "NoMatchingBundle", filtered }, filtered.source, notFoundMessage(filtered, []), explanation);
}

/** Says that catalogs of the same priority have a best bundle. @param matching all catalogs that have one. */
export function ambiguousCatalogs(
  filtered: FilteredCatalogs,
  tied: readonly MatchingCatalog[],
  matching: readonly MatchingCatalog[],
): Unresolved {
  const goMessage = notFoundMessage(filtered, matching.map(({ catalog }) => catalog).sort());
  return unresolved({ reason: "AmbiguousCatalogs", tied, filtered }, filtered.source, goMessage, explainTie(tied));
}

/** Says that the best bundle has no version that can be parsed. */
export function invalidBundleVersion(filtered: FilteredCatalogs, { catalog, best }: MatchingCatalog, error: string): Unresolved {
  const bundle = best.bundle.name;
  const goMessage = `error getting resolved bundle version for bundle ${goQuote(bundle)}: ${error}`;
  const explanation = `no bundle of catalog ${goQuote(catalog)} that fits has a version that can be read`;
  return unresolved({ reason: "InvalidBundleVersion", catalog, bundle, error, filtered }, filtered.source, goMessage, explanation);
}

function unresolved(cause: UnresolvedCause, source: CatalogSource, goMessage: string, explanation: string): Unresolved {
  return { kind: "unresolved", ...cause, source, goMessage, explanation, message: `${goMessage}; ${explanation}` };
}

function searchedCatalogs({ catalogs }: FilteredCatalogs): string[] {
  return catalogs.flatMap(({ name, unavailable }) => (unavailable === undefined ? [name] : []));
}

/** Longest reason why a catalog cannot answer, in characters. */
const MAX_ERROR = 300;
const MAX_SENTENCES = 3;

/**
 * Why no catalog has a bundle for the query: for each catalog how many candidates every filter left, up to the one that left none,
 * and what would have been near. Catalogs of which the same is true share a sentence; there are at most three.
 * @param searched names of the catalogs that answered, in order.
 * @param results of those that have the package, in order; each without a best candidate.
 */
function explainNothing(searched: readonly string[], results: readonly FilterResult[], query: ResolutionQuery): string {
  if (searched.length === 0) return "there is no catalog to resolve from: none is available that spec.source.catalog.selector selects";
  if (results.length === 0) return `package ${goQuote(query.packageName)} is in none of the catalogs ${formatGoList(searched)}`;
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
  return [...sentences.slice(0, MAX_SENTENCES), ...(more > 0 ? [`${formatCount(more, "more catalog")} without one`] : [])].join("; ");
}

/** Such as `6 bundles, 2 in channels [beta], none matching "3.0.0": the highest there is 1.0.2`. */
function explainEmpty(result: FilterResult, query: ResolutionQuery): string {
  const { all } = result;
  if (all.length === 0) return "the package has no bundles";
  const left = [formatCount(all.length, "bundle")];
  for (const step of filterSteps(result, query)) {
    left.push(`${step.left.length === 0 ? "none" : step.left.length} ${step.asks}`);
    if (step.left.length === 0) return `${left.join(", ")}: ${step.near().join(", ")}`;
  }
  return left.join(", ");
}

/** Returns Go's text, byte for byte; `catalogs` are those between which the choice is ambiguous. */
function notFoundMessage({ query: { packageName, range, channels }, installed }: FilteredCatalogs, catalogs: readonly string[]): string {
  return [
    ...(installed ? [`error upgrading from currently installed version ${goQuote(installed.version)}:`] : []),
    `${catalogs.length > 1 ? "found bundles" : "no bundles found"} for package ${goQuote(packageName)}`,
    ...(range ? [`matching version ${goQuote(range.text)}`] : []),
    ...(channels.length > 0 ? [`in channels [${channels.join(" ")}]`] : []),
    ...(catalogs.length > 1 ? [`in multiple catalogs with the same priority [${catalogs.join(" ")}]`] : []),
  ].join(" ");
}

/** Names the bundles between which it is a tie, and how to decide it. */
function explainTie(tied: readonly MatchingCatalog[]): string {
  const offers = tied.map(({ catalog, best }) => `catalog ${goQuote(catalog)} has ${goQuote(best.bundle.name)}`);
  return `${offers.join(", ")}, each at priority ${tied[0]?.priority ?? 0}: raise spec.priority of one, or select one with spec.source.catalog.selector`;
}

/** Formats a catalog that cannot answer, and why, in some hundred characters. */
export function formatUnavailable(catalog: CatalogPackage): string {
  return `${goQuote(catalog.name)} (${truncate(explainUnavailable(catalog), MAX_ERROR)})`;
}

/** Returns why a catalog cannot answer, and what it reports about itself; empty for one that can. Not truncated. */
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
  /** Why, a clause. */
  readonly text: string;
}

/** Why there is no bundle to install, for programs: plain JSON of some kilobytes at most, with nothing in it that messages do not hold. */
export interface UnresolvedDetails {
  readonly reason: UnresolvedReason;
  /** What was asked for. */
  readonly package: string;
  readonly version?: string;
  readonly channels?: readonly string[];
  readonly installed?: { readonly bundle: string; readonly version: string };
  /** Why a part of the input, or of the best bundle, cannot be parsed. */
  readonly error?: string;
  /** Names of the selected catalogs that answered; at most ten. */
  readonly searched: readonly string[];
  /** The selected catalogs that cannot answer; the one that blocks the choice comes first. At most ten. */
  readonly unavailable: readonly { readonly catalog: string; readonly error: string }[];
  /** The catalogs between which the choice is ambiguous; at most ten. */
  readonly ambiguous?: readonly { readonly catalog: string; readonly bundle: string }[];
  /** The newest bundles that filters excluded, newest first; at most ten, and how many more there are. */
  readonly excluded: readonly ExcludedBundle[];
  readonly moreExcluded: number;
}

const MAX_DETAILS = 10;

/** Returns the data of a failed resolution, bounded, so that a status can hold it. */
export function unresolvedDetails(failed: Unresolved): UnresolvedDetails {
  const { reason, source, filtered } = failed;
  const { channels = [], version } = source;
  const installed = filtered?.installed;
  const blocking = reason === "CatalogUnavailable" ? [failed.blocking] : [];
  const others = (filtered?.catalogs ?? []).filter((one) => one.unavailable !== undefined && !blocking.includes(one));
  const excluded = filtered ? excludedBundles(filtered) : [];
  return {
    reason,
    package: boundName(source.packageName),
    ...(version ? { version: boundName(version) } : {}),
    ...(channels.length > 0 ? { channels: channels.slice(0, MAX_DETAILS).map(boundName) } : {}),
    ...(installed ? { installed: { bundle: boundName(installed.name), version: boundName(installed.version) } } : {}),
    ...("error" in failed ? { error: bound(failed.error, MAX_ERROR) } : {}),
    searched: filtered ? searchedCatalogs(filtered).slice(0, MAX_DETAILS) : [],
    unavailable: [...blocking, ...others]
      .slice(0, MAX_DETAILS)
      .map((catalog) => ({ catalog: catalog.name, error: bound(explainUnavailable(catalog), MAX_ERROR) })),
    ...(reason === "AmbiguousCatalogs"
      ? { ambiguous: failed.tied.slice(0, MAX_DETAILS).map(({ catalog, best }) => ({ catalog, bundle: boundName(best.bundle.name) })) }
      : {}),
    excluded: excluded.slice(0, MAX_DETAILS).map(({ catalog, candidate, rule, text }) => ({
      catalog,
      bundle: boundName(candidate.bundle.name),
      ...(candidate.version ? { version: boundName(formatCandidateVersion(candidate)) } : {}),
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

function excludedBundles({ results, query }: FilteredCatalogs): Excluded[] {
  const all = results.flatMap((result) =>
    filterSteps(result, query).flatMap(({ name, removed, rule }) =>
      removed.map((candidate) => ({ catalog: result.catalog, candidate, rule: name, text: () => rule(candidate) })),
    ),
  );
  return all.sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
}

/** Names and versions are the catalog author's, and may be of any length. */
function boundName(name: string): string {
  return bound(name, NAME_LENGTH);
}

function bound(text: string, length: number): string {
  return truncate(text, length).toWellFormed();
}
