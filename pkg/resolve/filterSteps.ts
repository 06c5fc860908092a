import { objectionText } from "../bundle/maxOpenShiftVersion.ts";
import { compareNewestFirst, defaultOf } from "../fbc/bundleOrder.ts";
import type { FbcChannel } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate } from "../text/truncate.ts";
import { type Candidate, entryNames } from "./candidates.ts";
import { type Findings, isInRange, objectionOf, type Query, type RuledOut } from "./filters.ts";
import { destinationsFrom, SearchBudget } from "./successors.ts";
import { counted, listed, versionOf } from "./wording.ts";

const MAX_BUNDLES = 3;
const MAX_CATALOGS = 3;

/**
 * What clusterVersionPolicy Enforce rules out that would have been taken in place of `choice`: one sentence for a catalog, at most three.
 * Empty when it rules out nothing better.
 */
export function explainRuledOut(findings: readonly Findings[], choice: Findings & { readonly best: Candidate }): string[] {
  const sentences = findings.flatMap((found) => {
    const better = betterThan(choice, found);
    const where = found.catalog === choice.catalog ? "" : ` of catalog ${goQuote(found.catalog)}`;
    return better.length > 0 ? [`clusterVersionPolicy Enforce does not move to ${listRuledOut(better)}${where}; Warn would`] : [];
  });
  return sentences.slice(0, MAX_CATALOGS);
}

function betterThan({ catalog, priority, best }: Findings & { readonly best: Candidate }, found: Findings): readonly RuledOut[] {
  if (found.catalog === catalog) return found.ruledOut.filter(({ candidate }) => defaultOf([best, candidate]) === candidate);
  return found.best || found.priority < priority ? [] : found.ruledOut;
}

/** Such as `bundle "p.v1.2.0" (its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18), 2 more bundles`; the highest three are told. */
function listRuledOut(ruledOut: readonly RuledOut[]): string {
  const sorted = ruledOut.toSorted((a, b) => compareNewestFirst(a.candidate, b.candidate));
  const told = sorted
    .slice(0, MAX_BUNDLES)
    .map(({ candidate, objection }) => `bundle ${goQuote(candidate.bundle.name)} (${objectionText(objection)})`);
  const more = sorted.length - MAX_BUNDLES;
  return [...told, ...(more > 0 ? [counted(more, "more bundle")] : [])].join(", ");
}

/** Channel entries that are looked at for a way of several upgrades: some milliseconds. */
const SEARCHED_ENTRIES = 50_000;

/** The channels that there are, where none of those asked for has a bundle. */
function nearChannels({ content }: Findings): string[] {
  return [`the package has channels ${listed(channelNames(content.channels))}`];
}

/** What there is where no version matches: the highest, one that matches in other channels, a prerelease that only the rules keep out. */
function nearRange({ all, inChannels, content }: Findings, query: Query): string[] {
  const near = [`the highest ${query.channels.length > 0 ? "there " : ""}is ${highestVersion(inChannels)}`];
  const elsewhere = highest(all.filter((candidate) => isInRange(candidate, query)));
  if (elsewhere) {
    const names = channelNames(content.channels.filter((channel) => entryNames([channel]).has(elsewhere.bundle.name)));
    near.push(`version ${versionOf(elsewhere)} matches, it is in ${names.length > 0 ? `channels ${listed(names)}` : "no channel"}`);
  }
  const prerelease = highest(inChannels.filter((candidate) => isPrereleaseOf(candidate, query)));
  if (prerelease)
    near.push(`${versionOf(prerelease)} is a prerelease: only a range that names one, such as ">=1.0.0-0", has prereleases in it`);
  return near;
}

/** True for a prerelease whose release the range would contain. */
function isPrereleaseOf(candidate: Candidate, query: Query): boolean {
  const { version } = candidate;
  if (!version || version.version.prerelease.length === 0) return false;
  return isInRange({ ...candidate, version: { ...version, version: { ...version.version, prerelease: [] } } }, query);
}

/** What may follow the installed bundle, the way through several upgrades to the highest version wanted, and what no edges would take. */
function nearSuccessors(findings: Findings, query: Query): string[] {
  const { inRange, inChannels, edges, all } = findings;
  const { installed } = query;
  const name = installed?.name ?? "";
  const reachable = inChannels.filter(({ bundle }) => edges.has(bundle.name)).sort(compareNewestFirst);
  return [
    reachable.length > 0
      ? `its successors are ${listed(reachable.map(versionOf))}`
      : "no entry replaces it, skips it or has its version in skipRange",
    ...(all.some(({ bundle }) => bundle.name === name) ? [] : ["the catalog does not have it itself"]),
    ...wayTo(findings, query),
    `upgradeConstraintPolicy SelfCertified would take ${highestVersion(inRange)}`,
  ];
}

/** The way to the highest version in range that several upgrades within the channels lead to. */
function wayTo({ catalog, channels, inChannels, inRange }: Findings, { installed }: Query): string[] {
  if (!installed) return [];
  const map = { catalog, channels, candidates: inChannels };
  const wanted = new Set(inRange);
  const found = destinationsFrom([map], installed, new SearchBudget(SEARCHED_ENTRIES)).filter(({ candidate }) => wanted.has(candidate));
  const [best] = found.sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
  if (!best) return [];
  return [
    `the way to ${versionOf(best.candidate)} is through ${listed(best.through.map(versionOf))}, which spec.source.catalog.version leaves out`,
  ];
}

/** What is ruled out and why, and the two ways past it: the policy, or another version where the package has one. */
function nearCluster({ all, ruledOut, eligible }: Findings, query: Query): string[] {
  const others = all.filter((candidate) => !eligible.includes(candidate) && objectionOf(candidate, query) === undefined);
  return [
    listRuledOut(ruledOut),
    `clusterVersionPolicy Warn would take ${highestVersion(eligible)}`,
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
  return best ? versionOf(best) : "none";
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

/** How a filter of `findIn` is told. */
interface Description {
  readonly name: string;
  /** Undefined where the query does not ask for it. */
  readonly asks: (query: Query, findings: Findings) => string | undefined;
  readonly left: (findings: Findings) => readonly Candidate[];
  readonly rule: (candidate: Candidate, findings: Findings, query: Query) => string;
  readonly near: (findings: Findings, query: Query) => string[];
}

/** Longest text of a deprecation that is told, in characters. */
const MAX_MESSAGE = 200;

const CHANNELS: Description = {
  name: "channels",
  asks: ({ channels }) => (channels.length > 0 ? `in channels ${listed(channels)}` : undefined),
  left: ({ inChannels }) => inChannels,
  rule: (candidate, findings) => `it is in ${channelsWith(candidate, findings)}`,
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
  asks: ({ installed, edgesDecide }) => (installed && edgesDecide ? `a direct successor of ${goQuote(installed.name)}` : undefined),
  left: ({ eligible }) => eligible,
  rule: (_, __, { installed, channels }) =>
    `no edge ${channels.length > 0 ? `of channels ${listed(channels)} ` : ""}leads to it from ${goQuote(installed?.name ?? "")}`,
  near: nearSuccessors,
};
const CLUSTER_VERSION: Description = {
  name: "clusterVersion",
  asks: ({ clusterDecides, cluster }) =>
    clusterDecides && cluster.kind !== "none" ? "that clusterVersionPolicy Enforce allows" : undefined,
  left: ({ ruledOut, eligible }) => without(eligible, new Set(ruledOut.map(({ candidate }) => candidate))),
  rule: (candidate, { ruledOut }) => {
    const found = ruledOut.find((one) => one.candidate === candidate);
    return found ? objectionText(found.objection) : "";
  },
  near: nearCluster,
};
/** The filters of `findIn` in their order. */
const FILTERS: readonly Description[] = [CHANNELS, VERSION_RANGE, UPGRADE_EDGES, CLUSTER_VERSION];

/** What each filter that the query asks for left of a catalog's candidates, in order; at last the preference of what is not deprecated. */
export function filterSteps(findings: Findings, query: Query): FilterStep[] {
  const steps: FilterStep[] = [];
  let before = findings.all;
  const add = (step: Omit<FilterStep, "removed">): void => {
    steps.push({ ...step, removed: without(before, new Set(step.left)) });
    before = step.left;
  };
  for (const { name, asks, left, rule, near } of FILTERS) {
    const asked = asks(query, findings);
    if (asked === undefined) continue;
    add({
      name,
      asks: asked,
      left: left(findings),
      rule: (candidate) => rule(candidate, findings, query),
      near: () => near(findings, query),
    });
  }
  for (const { name, asks, removed, near } of findings.later)
    add({
      name,
      asks,
      left: before.filter((candidate) => !removed.has(candidate)),
      rule: (candidate) => removed.get(candidate) ?? "",
      near: () => [...near],
    });
  const sound = before.filter(({ deprecated }) => !deprecated);
  if (sound.length > 0 && sound.length < before.length)
    add({ name: "deprecation", asks: "not deprecated", left: sound, rule: (one) => deprecationRule(one, findings), near: () => [] });
  return steps;
}

/** Such as `channels [a b]`, or `no channel`. */
export function channelsWith({ bundle }: Candidate, { content }: Findings): string {
  const names = content.channels.filter((channel) => entryNames([channel]).has(bundle.name)).map(({ name }) => name);
  return names.length > 0 ? `channels ${listed(names.sort())}` : "no channel";
}

function deprecationRule({ bundle }: Candidate, { deprecations }: Findings): string {
  const entry = deprecations?.entries.find(({ reference }) => reference.schema === "olm.bundle" && reference.name === bundle.name);
  return entry?.message ? `it is deprecated: ${truncate(entry.message, MAX_MESSAGE)}` : "it is deprecated";
}

function without(all: readonly Candidate[], left: ReadonlySet<Candidate>): Candidate[] {
  return all.filter((candidate) => !left.has(candidate));
}
