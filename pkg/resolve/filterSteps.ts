import { formatClusterVersionConflict } from "../bundle/maxOpenShiftVersion.ts";
import { compareNewestFirst, defaultOf } from "../fbc/bundleOrder.ts";
import type { FbcChannel } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { formatCount } from "../text/lists.ts";
import { truncate } from "../text/truncate.ts";
import { type Candidate, entryNames } from "./candidates.ts";
import { type ClusterRejection, type FilterResult, findClusterConflict, isInRange, type ResolutionQuery } from "./filters.ts";
import { destinationsFrom, SearchBudget } from "./successors.ts";
import { formatCandidateVersion, formatGoList } from "./wording.ts";

const MAX_BUNDLES = 3;
const MAX_CATALOGS = 3;

/**
 * Explains which bundles clusterVersionPolicy Enforce excludes that would have been chosen in place of `choice`: one sentence a catalog, at most
 * three. Empty when it excludes nothing better.
 */
export function explainClusterRejections(results: readonly FilterResult[], choice: FilterResult & { readonly best: Candidate }): string[] {
  const sentences = results.flatMap((result) => {
    const better = findBetter(choice, result);
    const where = result.catalog === choice.catalog ? "" : ` of catalog ${goQuote(result.catalog)}`;
    return better.length > 0 ? [`clusterVersionPolicy Enforce does not move to ${formatRejections(better)}${where}; Warn would`] : [];
  });
  return sentences.slice(0, MAX_CATALOGS);
}

function findBetter(
  { catalog, priority, best }: FilterResult & { readonly best: Candidate },
  result: FilterResult,
): readonly ClusterRejection[] {
  if (result.catalog === catalog) return result.rejectedByCluster.filter(({ candidate }) => defaultOf([best, candidate]) === candidate);
  return result.best || result.priority < priority ? [] : result.rejectedByCluster;
}

/** Such as `bundle "p.v1.2.0" (its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18), 2 more bundles`; the highest three are told. */
function formatRejections(rejections: readonly ClusterRejection[]): string {
  const sorted = rejections.toSorted((a, b) => compareNewestFirst(a.candidate, b.candidate));
  const told = sorted
    .slice(0, MAX_BUNDLES)
    .map(({ candidate, conflict }) => `bundle ${goQuote(candidate.bundle.name)} (${formatClusterVersionConflict(conflict)})`);
  const more = sorted.length - MAX_BUNDLES;
  return [...told, ...(more > 0 ? [formatCount(more, "more bundle")] : [])].join(", ");
}

/** Channel entries that are looked at for a way of several upgrades: some milliseconds. */
const SEARCHED_ENTRIES = 50_000;

/** The channels that there are, where none of those asked for has a bundle. */
function nearChannels({ content }: FilterResult): string[] {
  return [`the package has channels ${formatGoList(channelNames(content.channels))}`];
}

/** What there is where no version matches: the highest, one that matches in other channels, a prerelease that only the rules keep out. */
function nearRange({ all, inChannels, content }: FilterResult, query: ResolutionQuery): string[] {
  const near = [`the highest ${query.channels.length > 0 ? "there " : ""}is ${highestVersion(inChannels)}`];
  const elsewhere = highest(all.filter((candidate) => isInRange(candidate, query)));
  if (elsewhere) {
    const names = channelNames(content.channels.filter((channel) => entryNames([channel]).has(elsewhere.bundle.name)));
    near.push(
      `version ${formatCandidateVersion(elsewhere)} matches, it is in ${names.length > 0 ? `channels ${formatGoList(names)}` : "no channel"}`,
    );
  }
  const prerelease = highest(inChannels.filter((candidate) => isPrereleaseOf(candidate, query)));
  if (prerelease)
    near.push(
      `${formatCandidateVersion(prerelease)} is a prerelease: only a range that names one, such as ">=1.0.0-0", has prereleases in it`,
    );
  return near;
}

/** True for a prerelease whose release the range would contain. */
function isPrereleaseOf(candidate: Candidate, query: ResolutionQuery): boolean {
  const { version } = candidate;
  if (!version || version.version.prerelease.length === 0) return false;
  return isInRange({ ...candidate, version: { ...version, version: { ...version.version, prerelease: [] } } }, query);
}

/** What may follow the installed bundle, the way through several upgrades to the highest version wanted, and what no edges would take. */
function nearSuccessors(result: FilterResult, query: ResolutionQuery): string[] {
  const { inRange, inChannels, edges, all } = result;
  const { installed } = query;
  const name = installed?.name ?? "";
  const reachable = inChannels.filter(({ bundle }) => edges.has(bundle.name)).sort(compareNewestFirst);
  return [
    reachable.length > 0
      ? `its successors are ${formatGoList(reachable.map(formatCandidateVersion))}`
      : "no entry replaces it, skips it or has its version in skipRange",
    ...(all.some(({ bundle }) => bundle.name === name) ? [] : ["the catalog does not have it itself"]),
    ...wayTo(result, query),
    `upgradeConstraintPolicy SelfCertified would take ${highestVersion(inRange)}`,
  ];
}

/** The way to the highest version in range that several upgrades within the channels lead to. */
function wayTo({ catalog, channels, inChannels, inRange }: FilterResult, { installed }: ResolutionQuery): string[] {
  if (!installed) return [];
  const map = { catalog, channels, candidates: inChannels };
  const wanted = new Set(inRange);
  const result = destinationsFrom([map], installed, new SearchBudget(SEARCHED_ENTRIES)).filter(({ candidate }) => wanted.has(candidate));
  const [best] = result.sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
  if (!best) return [];
  return [
    `the way to ${formatCandidateVersion(best.candidate)} is through ${formatGoList(best.through.map(formatCandidateVersion))}, which spec.source.catalog.version leaves out`,
  ];
}

/** What is ruled out and why, and the two ways past it: the policy, or another version where the package has one. */
function nearCluster({ all, rejectedByCluster, reachable }: FilterResult, query: ResolutionQuery): string[] {
  const others = all.filter((candidate) => !reachable.includes(candidate) && findClusterConflict(candidate, query) === undefined);
  return [
    formatRejections(rejectedByCluster),
    `clusterVersionPolicy Warn would take ${highestVersion(reachable)}`,
    ...(others.length > 0
      ? [`of the versions that spec or the edges leave out, ${highestVersion(others)} is the highest that the cluster's version allows`]
      : []),
  ];
}

function channelNames(channels: readonly FbcChannel[]): string[] {
  return channels.map(({ name }) => name).sort();
}

function highest(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.toSorted(compareNewestFirst)[0];
}

function highestVersion(candidates: readonly Candidate[]): string {
  const best = highest(candidates);
  return best ? formatCandidateVersion(best) : "none";
}

/** One filter as it went over the candidates of one catalog. */
export interface FilterStep {
  /** As records name it: channels, versionRange, upgradeEdges, clusterVersion, deprecation, or the name of a later filter. */
  readonly name: string;
  /** What it asks for, such as `in channels [beta]`. */
  readonly asks: string;
  /** In the catalog's order. */
  readonly left: readonly Candidate[];
  readonly removed: readonly Candidate[];
  /** Why one of those was removed, a clause. */
  readonly rule: (candidate: Candidate) => string;
  /** What would have been near, where nothing is left; clauses. */
  readonly near: () => string[];
}

/** How a filter of `filterCatalog` is described. */
interface Description {
  readonly name: string;
  /** Undefined where the query does not ask for it. */
  readonly asks: (query: ResolutionQuery, result: FilterResult) => string | undefined;
  readonly left: (result: FilterResult) => readonly Candidate[];
  readonly rule: (candidate: Candidate, result: FilterResult, query: ResolutionQuery) => string;
  readonly near: (result: FilterResult, query: ResolutionQuery) => string[];
}

/** Longest text of a deprecation that is told, in characters. */
const MAX_MESSAGE = 200;

const CHANNELS: Description = {
  name: "channels",
  asks: ({ channels }) => (channels.length > 0 ? `in channels ${formatGoList(channels)}` : undefined),
  left: ({ inChannels }) => inChannels,
  rule: (candidate, result) => `it is in ${channelsWith(candidate, result)}`,
  near: nearChannels,
};
const VERSION_RANGE: Description = {
  name: "versionRange",
  asks: ({ range }) => range && `matching ${goQuote(range.text)}`,
  left: ({ inRange }) => inRange,
  rule: ({ version }, _, { range }) => (version ? `${goQuote(range?.text ?? "")} does not match it` : "it has no version that can be read"),
  near: nearRange,
};
const UPGRADE_EDGES: Description = {
  name: "upgradeEdges",
  asks: ({ installed, enforceEdges }) => (installed && enforceEdges ? `a direct successor of ${goQuote(installed.name)}` : undefined),
  left: ({ reachable }) => reachable,
  rule: (_, __, { installed, channels }) =>
    `no edge ${channels.length > 0 ? `of channels ${formatGoList(channels)} ` : ""}leads to it from ${goQuote(installed?.name ?? "")}`,
  near: nearSuccessors,
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
  near: nearCluster,
};
/** The filters of `filterCatalog` in their order. */
const FILTERS: readonly Description[] = [CHANNELS, VERSION_RANGE, UPGRADE_EDGES, CLUSTER_VERSION];

/** Lists the filters that the query asks for and what each left of a catalog's candidates, in order; the last one prefers candidates that are not deprecated. */
export function filterSteps(result: FilterResult, query: ResolutionQuery): FilterStep[] {
  const steps: FilterStep[] = [];
  let before = result.all;
  const add = (step: Omit<FilterStep, "removed">): void => {
    steps.push({ ...step, removed: without(before, new Set(step.left)) });
    before = step.left;
  };
  for (const { name, asks, left, rule, near } of FILTERS) {
    const asked = asks(query, result);
    if (asked === undefined) continue;
    add({
      name,
      asks: asked,
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

/** Such as `channels [a b]`, or `no channel`. */
export function channelsWith({ bundle }: Candidate, { content }: FilterResult): string {
  const names = content.channels.filter((channel) => entryNames([channel]).has(bundle.name)).map(({ name }) => name);
  return names.length > 0 ? `channels ${formatGoList(names.sort())}` : "no channel";
}

function deprecationRule({ bundle }: Candidate, { deprecations }: FilterResult): string {
  const entry = deprecations?.entries.find(({ reference }) => reference.schema === "olm.bundle" && reference.name === bundle.name);
  return entry?.message ? `it is deprecated: ${truncate(entry.message, MAX_MESSAGE)}` : "it is deprecated";
}

function without(all: readonly Candidate[], left: ReadonlySet<Candidate>): Candidate[] {
  return all.filter((candidate) => !left.has(candidate));
}
