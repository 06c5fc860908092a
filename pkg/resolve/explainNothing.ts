import { goQuote } from "../errors/goQuote.ts";
import type { FbcChannel } from "../fbc/types.ts";
import { type Candidate, compareCandidates, entryNames } from "./candidates.ts";
import { listRuledOut } from "./explainRuledOut.ts";
import { type Findings, isInRange, objectionOf, type Query } from "./filters.ts";
import { counted, listed, versionOf } from "./wording.ts";

const MAX_SENTENCES = 3;

/**
 * Why no catalog has a bundle for the query: for each catalog how many candidates every filter left, up to the one that left none,
 * and what would have been near. Catalogs of which the same is true share a sentence; there are at most three.
 * @param asked names of the catalogs that answered, in order.
 * @param findings of those that have the package, in order; each without a best candidate.
 */
export function explainNothing(asked: readonly string[], findings: readonly Findings[], query: Query): string {
  if (asked.length === 0) return "there is no catalog to resolve from: none is available that spec.source.catalog.selector selects";
  if (findings.length === 0) return `package ${goQuote(query.packageName)} is in none of the catalogs ${listed(asked)}`;
  const catalogsBySentence = new Map<string, string[]>();
  for (const one of findings) {
    const sentence = emptied(one, query);
    catalogsBySentence.set(sentence, [...(catalogsBySentence.get(sentence) ?? []), one.catalog]);
  }
  const sentences = [...catalogsBySentence].map(([sentence, catalogs]) => {
    const [only = "", ...others] = catalogs;
    return `${others.length === 0 ? `catalog ${goQuote(only)}` : `catalogs ${listed(catalogs)}`}: ${sentence}`;
  });
  const more = sentences.length - MAX_SENTENCES;
  return [...sentences.slice(0, MAX_SENTENCES), ...(more > 0 ? [`${counted(more, "more catalog")} without one`] : [])].join("; ");
}

/** Such as `6 bundles, 2 in channels [beta], none matching "3.0.0": the highest there is 1.0.2`. */
function emptied(findings: Findings, query: Query): string {
  const { all, inChannels, inRange, eligible } = findings;
  const { channels, range, installed } = query;
  const left = [counted(all.length, "bundle")];
  const note = (count: number, what: string): void => void left.push(`${count === 0 ? "none" : count} ${what}`);
  if (all.length === 0) return "the package has no bundles";
  if (channels.length > 0) note(inChannels.length, `in channels ${listed(channels)}`);
  if (inChannels.length === 0) return `${left.join(", ")}: the package has channels ${listed(channelNames(findings.content.channels))}`;
  if (range) note(inRange.length, `matching ${goQuote(range.text)}`);
  if (inRange.length === 0) return `${left.join(", ")}: ${nearRange(findings, query).join(", ")}`;
  if (installed && query.edgesDecide) note(eligible.length, `a direct successor of ${goQuote(installed.name)}`);
  if (eligible.length === 0) return `${left.join(", ")}: ${nearSuccessor(findings, query).join(", ")}`;
  note(0, "that clusterVersionPolicy Enforce allows");
  return `${left.join(", ")}: ${nearCluster(findings, query).join(", ")}`;
}

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

function nearSuccessor({ inRange, inChannels, edges, all }: Findings, { installed }: Query): string[] {
  const name = installed?.name ?? "";
  const reachable = inChannels.filter(({ bundle }) => edges.has(bundle.name)).sort(compareCandidates);
  return [
    reachable.length > 0
      ? `its successors are ${listed(reachable.map(versionOf))}`
      : "no entry replaces it, skips it or has its version in skipRange",
    ...(all.some(({ bundle }) => bundle.name === name) ? [] : ["the catalog does not have it itself"]),
    `upgradeConstraintPolicy SelfCertified would take ${highestVersion(inRange)}`,
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
  return candidates.toSorted(compareCandidates)[0];
}

function highestVersion(candidates: readonly Candidate[]): string {
  const best = highest(candidates);
  return best ? versionOf(best) : "none";
}
