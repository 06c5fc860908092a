import { goQuote } from "../errors/goQuote.ts";
import { type Candidate, compareCandidates, entryNames } from "./candidates.ts";
import { type Findings, isInRange, type Query } from "./filters.ts";
import { counted, listed, versionOf, wanted } from "./wording.ts";

const MAX_CATALOGS = 3;

/**
 * Why no catalog has a bundle for the query: for each catalog (at most three, in order of name) the filter that left nothing,
 * how many candidates it was given, and what would have been near.
 * @param asked names of the catalogs that answered, in order.
 * @param findings of those that have the package, in order; each without a best candidate.
 */
export function explainNothing(asked: readonly string[], findings: readonly Findings[], query: Query): string {
  if (asked.length === 0) return "there is no catalog to resolve from: none is available that spec.source.catalog.selector selects";
  if (findings.length === 0) return `package ${goQuote(query.packageName)} is in none of the catalogs ${listed(asked)}`;
  const sentences = findings.slice(0, MAX_CATALOGS).map((one) => `catalog ${goQuote(one.catalog)}: ${emptiedBy(one, query)}`);
  const more = findings.length - MAX_CATALOGS;
  return [...sentences, ...(more > 0 ? [`likewise ${counted(more, "more catalog")}`] : [])].join("; ");
}

function emptiedBy(findings: Findings, query: Query): string {
  const { all, inChannels, inRange } = findings;
  if (all.length === 0) return "the package has no bundles";
  if (inChannels.length === 0) return channelsEmptied(findings, query);
  if (inRange.length === 0) return rangeEmptied(findings, query);
  return edgesEmptied(findings, query);
}

function channelsEmptied({ all, content, channels }: Findings, query: Query): string {
  const existing = content.channels.map(({ name }) => name).sort();
  const what = channels.length > 0 ? "is in channels" : "is in channels that do not exist:";
  return `none of ${counted(all.length, "bundle")} ${what} ${listed(query.channels)}, the package has channels ${listed(existing)}`;
}

function rangeEmptied({ all, inChannels, content }: Findings, query: Query): string {
  const { range, channels } = query;
  const inScope = channels.length > 0 ? ` in channels ${listed(channels)}` : "";
  const near = [`highest version${inScope} is ${highestVersion(inChannels)}`];
  const elsewhere = highest(all.filter((candidate) => isInRange(candidate, query)));
  if (elsewhere) {
    const names = content.channels.filter((channel) => entryNames([channel]).has(elsewhere.bundle.name)).map(({ name }) => name);
    near.push(`version ${versionOf(elsewhere)} matches, in ${names.length > 0 ? `channels ${listed(names.sort())}` : "no channel"}`);
  }
  const prerelease = highest(inChannels.filter((candidate) => isPrereleaseOf(candidate, query)));
  if (prerelease)
    near.push(`${versionOf(prerelease)} is a prerelease, which only a range that names one contains, such as ${goQuote(">=1.0.0-0")}`);
  return `none of ${counted(inChannels.length, "bundle")}${inScope} matches ${goQuote(range?.text ?? "")}, ${near.join(", ")}`;
}

/** True for a prerelease whose release the range would contain. */
function isPrereleaseOf({ bundle, version, deprecated }: Candidate, query: Query): boolean {
  if (!version || version.version.prerelease.length === 0) return false;
  return isInRange({ bundle, deprecated, version: { ...version, version: { ...version.version, prerelease: [] } } }, query);
}

function edgesEmptied({ inRange, inChannels, edges, channels, all }: Findings, query: Query): string {
  const from = goQuote(query.installed?.name ?? "");
  const reachable = inChannels.filter(({ bundle }) => edges.has(bundle.name)).sort(compareCandidates);
  const targets =
    reachable.length > 0
      ? `its successors are ${listed(reachable.map(versionOf))}`
      : "no entry replaces or skips it, no skipRange holds its version";
  const present = all.some(({ bundle }) => bundle.name === query.installed?.name) ? "" : `, ${from} is not in this catalog`;
  const forced = `upgradeConstraintPolicy SelfCertified would take ${highestVersion(inRange)}`;
  const scope = query.channels.length > 0 && channels.length > 0 ? ` in channels ${listed(query.channels)}` : "";
  return `none of ${counted(inRange.length, "bundle")}${wanted(query)} is a direct successor of ${from}: ${targets}${reachable.length > 0 ? "" : scope}${present}; ${forced}`;
}

function highest(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.toSorted(compareCandidates)[0];
}

function highestVersion(candidates: readonly Candidate[]): string {
  const best = highest(candidates);
  return best ? versionOf(best) : "none";
}
