import { formatClusterVersionConflict } from "../bundle/maxOpenShiftVersion.ts";
import { compareNewestFirst, findDefault } from "../fbc/bundleOrder.ts";
import type { FbcChannel } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { formatCount } from "../text/lists.ts";
import { truncate } from "../text/truncate.ts";
import type { Candidate } from "./candidates.ts";
import { type ClusterRejection, type FilterResult, findClusterConflict, isInRange, type ResolutionQuery } from "./filters.ts";
import { findDestinations, SearchBudget } from "./successors.ts";
import { formatCandidateVersion, formatGoList } from "./wording.ts";

const MAX_BUNDLES = 3;
const MAX_CATALOGS = 3;

/**
 * Explains which bundles would have been chosen instead of `choice` if clusterVersionPolicy Enforce did not exclude them: one sentence for each
 * catalog, at most three. Empty if there are none.
 */
export function explainClusterRejections(results: readonly FilterResult[], choice: FilterResult & { readonly best: Candidate }): string[] {
  const sentences = results.flatMap((result) => {
    const better = findBetter(choice, result);
    const where = result.catalog === choice.catalog ? "" : ` of catalog ${goQuote(result.catalog)}`;
    return better.length > 0 ? [`clusterVersionPolicy Enforce excludes ${formatRejections(better)}${where}; Warn would allow it`] : [];
  });
  return sentences.slice(0, MAX_CATALOGS);
}

function findBetter(
  { catalog, priority, best }: FilterResult & { readonly best: Candidate },
  result: FilterResult,
): readonly ClusterRejection[] {
  if (result.catalog === catalog) return result.rejectedByCluster.filter(({ candidate }) => findDefault([best, candidate]) === candidate);
  return result.best || result.priority < priority ? [] : result.rejectedByCluster;
}

/** Formats the highest three, such as `bundle "p.v1.2.0" (its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18), 2 more bundles`. */
function formatRejections(rejections: readonly ClusterRejection[]): string {
  const sorted = rejections.toSorted((a, b) => compareNewestFirst(a.candidate, b.candidate));
  const reported = sorted
    .slice(0, MAX_BUNDLES)
    .map(({ candidate, conflict }) => `bundle ${goQuote(candidate.bundle.name)} (${formatClusterVersionConflict(conflict)})`);
  const more = sorted.length - MAX_BUNDLES;
  return [...reported, ...(more > 0 ? [formatCount(more, "more bundle")] : [])].join(", ");
}

/** Maximum number of comparisons in the search for a sequence of upgrades, see `SearchBudget`. It takes several milliseconds. */
const MAX_COMPARISONS = 100_000;

/** Lists the existing channels if no requested channel has a bundle. */
function suggestChannels({ content }: FilterResult): string[] {
  return [`the package has channels ${formatGoList(channelNames(content.channels))}`];
}

/**
 * Lists alternatives if no version matches: the highest version, a matching version in other channels, and a prerelease that the range would contain
 * if it matched prereleases.
 */
function suggestForRange({ all, inChannels, content }: FilterResult, query: ResolutionQuery): string[] {
  const near = [`the highest version ${query.channels.length > 0 ? "in these channels " : ""}is ${formatHighestVersion(inChannels)}`];
  const elsewhere = highest(all.filter((candidate) => isInRange(candidate, query)));
  if (elsewhere) {
    const names = listCandidateChannels(elsewhere, { content }).toSorted();
    near.push(
      `version ${formatCandidateVersion(elsewhere)} matches, but is ${names.length > 0 ? `only in channels ${formatGoList(names)}` : "in no channel"}`,
    );
  }
  const prerelease = highest(inChannels.filter((candidate) => isPrereleaseInRange(candidate, query)));
  if (prerelease)
    near.push(
      `${formatCandidateVersion(prerelease)} is a prerelease: only ranges that contain a prerelease, such as ">=1.0.0-0", match prereleases`,
    );
  return near;
}

/** Reports whether the candidate is a prerelease of a version that the range contains. */
function isPrereleaseInRange(candidate: Candidate, query: ResolutionQuery): boolean {
  const { version } = candidate;
  if (!version || version.version.prerelease.length === 0) return false;
  return isInRange({ ...candidate, version: { ...version, version: { ...version.version, prerelease: [] } } }, query);
}

/**
 * Lists the successors of the installed bundle, the upgrade path to the highest version in range, and the version that SelfCertified would
 * allow.
 */
function suggestSuccessors(result: FilterResult, query: ResolutionQuery): string[] {
  const { inRange, inChannels, edges, all } = result;
  const { installed } = query;
  const name = installed?.name ?? "";
  const reachable = inChannels.filter(({ bundle }) => edges.has(bundle.name)).sort(compareNewestFirst);
  return [
    reachable.length > 0
      ? `its direct successors are ${formatGoList(reachable.map(formatCandidateVersion))}`
      : "no channel entry replaces it, skips it or includes its version in skipRange",
    ...(all.some(({ bundle }) => bundle.name === name) ? [] : ["the catalog does not contain the installed bundle"]),
    ...findUpgradePath(result, query),
    `upgradeConstraintPolicy SelfCertified would allow ${formatHighestVersion(inRange)}`,
  ];
}

/** Returns the upgrade path to the highest version in range that can be reached with several upgrades within the channels. */
function findUpgradePath({ catalog, channels, inChannels, inRange }: FilterResult, { installed }: ResolutionQuery): string[] {
  if (!installed) return [];
  const map = { catalog, channels, candidates: inChannels };
  const desired = new Set(inRange);
  const result = findDestinations([map], installed, new SearchBudget(MAX_COMPARISONS)).filter(({ candidate }) => desired.has(candidate));
  const [best] = result.sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
  if (!best) return [];
  return [
    `the upgrade path to ${formatCandidateVersion(best.candidate)} goes through ${formatGoList(best.through.map(formatCandidateVersion))}, which spec.source.catalog.version excludes`,
  ];
}

/** Lists the excluded bundles with the reason, and two alternatives: policy Warn, or another version of the package. */
function suggestForCluster({ all, rejectedByCluster, reachable }: FilterResult, query: ResolutionQuery): string[] {
  const others = without(all, new Set(reachable)).filter((candidate) => findClusterConflict(candidate, query) === undefined);
  return [
    formatRejections(rejectedByCluster),
    `clusterVersionPolicy Warn would allow ${formatHighestVersion(reachable)}`,
    ...(others.length > 0
      ? [`the highest version that supports the cluster is ${formatHighestVersion(others)}, but spec or the upgrade edges exclude it`]
      : []),
  ];
}

/** Returns the names of the channels that contain a candidate, in the order of the catalog. */
function listCandidateChannels({ bundle }: Candidate, { content }: Pick<FilterResult, "content">): string[] {
  return content.channels.filter(({ entries }) => entries.some(({ name }) => name === bundle.name)).map(({ name }) => name);
}

function channelNames(channels: readonly FbcChannel[]): string[] {
  return channels.map(({ name }) => name).sort();
}

function highest(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.toSorted(compareNewestFirst)[0];
}

function formatHighestVersion(candidates: readonly Candidate[]): string {
  const best = highest(candidates);
  return best ? formatCandidateVersion(best) : "none";
}

/** The result of one filter on the candidates of one catalog. */
export interface FilterStep {
  /** The name in records: channels, versionRange, upgradeEdges, clusterVersion, deprecation, or the name of an extra filter. */
  readonly name: string;
  /** The condition of the filter, such as `in channels [beta]`. */
  readonly asks: string;
  /** The candidates that pass, in the catalog's order. */
  readonly left: readonly Candidate[];
  readonly removed: readonly Candidate[];
  /** Returns why a candidate was removed, as a clause. */
  readonly rule: (candidate: Candidate) => string;
  /** Returns alternatives if no candidate passes, as clauses. */
  readonly near: () => string[];
}

/** The description of a filter of `filterCatalog`. */
interface Description {
  readonly name: string;
  /** Undefined if the query does not use the filter. */
  readonly asks: (query: ResolutionQuery, result: FilterResult) => string | undefined;
  readonly left: (result: FilterResult) => readonly Candidate[];
  readonly rule: (candidate: Candidate, result: FilterResult, query: ResolutionQuery) => string;
  readonly near: (result: FilterResult, query: ResolutionQuery) => string[];
}

/** Maximum length of a reported deprecation message, in characters. */
const MAX_MESSAGE = 200;

const CHANNELS: Description = {
  name: "channels",
  asks: ({ channels }) => (channels.length > 0 ? `in channels ${formatGoList(channels)}` : undefined),
  left: ({ inChannels }) => inChannels,
  rule: (candidate, result) => `it is in ${formatCandidateChannels(listCandidateChannels(candidate, result))}`,
  near: suggestChannels,
};
const VERSION_RANGE: Description = {
  name: "versionRange",
  asks: ({ range }) => range && `matching ${goQuote(range.text)}`,
  left: ({ inRange }) => inRange,
  rule: ({ version }, _, { range }) => (version ? `${goQuote(range?.text ?? "")} excludes it` : "it has no valid version"),
  near: suggestForRange,
};
const UPGRADE_EDGES: Description = {
  name: "upgradeEdges",
  asks: ({ installed, enforceEdges }) => (installed && enforceEdges ? `a direct successor of ${goQuote(installed.name)}` : undefined),
  left: ({ reachable }) => reachable,
  rule: (_, __, { installed, channels }) =>
    `it has no upgrade edge from ${goQuote(installed?.name ?? "")}${channels.length > 0 ? ` in channels ${formatGoList(channels)}` : ""}`,
  near: suggestSuccessors,
};
const CLUSTER_VERSION: Description = {
  name: "clusterVersion",
  asks: ({ enforceClusterVersion, cluster }) =>
    enforceClusterVersion && cluster.kind !== "none" ? "that clusterVersionPolicy Enforce allows" : undefined,
  left: ({ rejectedByCluster, reachable }) => without(reachable, new Set(rejectedByCluster.map(({ candidate }) => candidate))),
  rule: (candidate, { rejectedByCluster }) => {
    const rejection = rejectedByCluster.find((one) => one.candidate === candidate);
    return rejection ? formatClusterVersionConflict(rejection.conflict) : "";
  },
  near: suggestForCluster,
};
/** The filters of `filterCatalog` in the order in which they run. */
const FILTERS: readonly Description[] = [CHANNELS, VERSION_RANGE, UPGRADE_EDGES, CLUSTER_VERSION];

/**
 * Lists the filters that the query uses, in order, with the candidates of a catalog that passed each of them. The last filter removes deprecated
 * candidates if others are left.
 */
export function listFilterSteps(result: FilterResult, query: ResolutionQuery): FilterStep[] {
  const steps: FilterStep[] = [];
  let before = result.all;
  const add = (step: Omit<FilterStep, "removed">): void => {
    steps.push({ ...step, removed: without(before, new Set(step.left)) });
    before = step.left;
  };
  for (const { name, asks, left, rule, near } of FILTERS) {
    const requested = asks(query, result);
    if (requested === undefined) continue;
    add({
      name,
      asks: requested,
      left: left(result),
      rule: (candidate) => rule(candidate, result, query),
      near: () => near(result, query),
    });
  }
  for (const { name, asks, removed, near } of result.extraFilters)
    add({
      name,
      asks,
      left: before.filter((candidate) => !removed.has(candidate)),
      rule: (candidate) => removed.get(candidate) ?? "",
      near: () => [...near],
    });
  const supported = before.filter(({ deprecated }) => !deprecated);
  if (supported.length > 0 && supported.length < before.length)
    add({ name: "deprecation", asks: "not deprecated", left: supported, rule: (one) => deprecationRule(one, result), near: () => [] });
  return steps;
}

/** Formats channels of a candidate, such as `channels [a b]` or `no channel`. */
export function formatCandidateChannels(names: readonly string[]): string {
  return names.length > 0 ? `channels ${formatGoList(names.toSorted())}` : "no channel";
}

function deprecationRule({ bundle }: Candidate, { deprecations }: FilterResult): string {
  const entry = deprecations?.entries.find(({ reference }) => reference.schema === "olm.bundle" && reference.name === bundle.name);
  return entry?.message ? `it is deprecated: ${truncate(entry.message, MAX_MESSAGE)}` : "it is deprecated";
}

function without(all: readonly Candidate[], left: ReadonlySet<Candidate>): Candidate[] {
  return all.filter((candidate) => !left.has(candidate));
}
