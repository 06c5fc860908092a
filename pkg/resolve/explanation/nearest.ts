import type { FbcChannel } from "../../fbc/types.ts";
import { compareNewestFirst } from "../../fbc/bundleOrder.ts";
import { type Candidate, entryNames } from "../candidates.ts";
import { listRuledOut } from "../explainRuledOut.ts";
import { type Findings, isInRange, objectionOf, type Query } from "../filters.ts";
import { destinationsFrom, SearchBudget } from "../upgradePaths.ts";
import { listed, versionOf } from "../wording.ts";

/** Channel entries that are looked at for a way of several upgrades: some milliseconds. */
const SEARCHED_ENTRIES = 50_000;

/** The channels that there are, where none of those asked for has a bundle. */
export function nearChannels({ content }: Findings): string[] {
  return [`the package has channels ${listed(channelNames(content.channels))}`];
}

/** What there is where no version matches: the highest, one that matches in other channels, a prerelease that only the rules keep out. */
export function nearRange({ all, inChannels, content }: Findings, query: Query): string[] {
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
export function nearSuccessors(findings: Findings, query: Query): string[] {
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
export function nearCluster({ all, ruledOut, eligible }: Findings, query: Query): string[] {
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
