import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { CAUSE_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersionRelease, compareVersions, parseVersionRelease, type VersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { type Exclusion, ExclusionFacts, findExclusions } from "./exclusions.ts";
import type { FilteredCatalogs, Resolution } from "./resolution.ts";
import { type CatalogCandidate, type RecordedBundle, recordBundle } from "./resolutionRecord.ts";
import { explainUnavailable } from "./unresolved.ts";

/** A bundle of the requested version, and the rules that exclude it. */
export interface ExplainedBundle extends RecordedBundle {
  /** Empty for the chosen bundle. */
  readonly exclusions: readonly Exclusion[];
}

/** Why resolution does not choose a version, as JSON. */
export interface WhyNot {
  readonly formatVersion: 1;
  readonly package: string;
  /** As requested. */
  readonly version: string;
  /** `absent`: no available catalog contains the version. */
  readonly verdict: "chosen" | "notChosen" | "absent";
  /** The chosen bundle; absent if nothing is chosen. */
  readonly gets?: RecordedBundle;
  /** Why nothing is chosen. */
  readonly because?: string;
  /** The bundles with that version, by catalog; at most 32. */
  readonly bundles: readonly ExplainedBundle[];
  /** Selected available catalogs that do not contain the version; at most 32. */
  readonly without: readonly string[];
  /** Selected unavailable catalogs; at most 32. */
  readonly silent: readonly { readonly catalog: string; readonly because: string }[];
  /** If the version is absent: the next lower and next higher version, and the highest version, if they exist. */
  readonly nearest: { readonly lower?: RecordedBundle; readonly higher?: RecordedBundle; readonly highest?: RecordedBundle };
}

const MAX_CATALOGS = 32;

/**
 * Explains why a resolution does not choose `version`, for each catalog: every rule that excludes it, and a remedy. Pure.
 * @param version a version with or without release, or the name of a bundle
 * @throws Error if the selector or the version range of the request is invalid, or `version` is neither a version nor a known name
 */
export function explainWhyNot(packageName: string, version: string, resolution: Resolution): WhyNot {
  const { filtered } = resolution;
  if (!filtered) throw new Error(resolution.kind === "unresolved" ? resolution.message : "no candidates were considered");
  const all = filtered.results.flatMap((result) => result.all.map((candidate) => ({ result, candidate })));
  const asked = parseRequestedVersion(version);
  const questioned = all.filter(({ candidate }) => isMeant(candidate, version, asked));
  if (!asked && questioned.length === 0)
    throw new Error(`${goQuote(version)} is not a version such as 1.2.3, and no selected catalog contains a bundle with that name`);
  const facts = new ExclusionFacts(filtered);
  const winner = findWinner(resolution);
  const isWinner = ({ result, candidate }: CatalogCandidate): boolean =>
    result.catalog === winner?.result.catalog && candidate === winner.candidate;
  const having = new Set(questioned.map(({ result }) => result.catalog));
  return {
    formatVersion: 1,
    package: packageName,
    version,
    verdict: questioned.some(isWinner) ? "chosen" : questioned.length > 0 ? "notChosen" : "absent",
    ...(winner ? { gets: recordBundle(winner) } : {}),
    ...(resolution.kind === "unresolved" ? { because: resolution.message } : {}),
    bundles: questioned
      .slice(0, MAX_CATALOGS)
      .map((ranked) => ({ ...recordBundle(ranked), exclusions: isWinner(ranked) ? [] : findExclusions(ranked, filtered, facts) })),
    without: readAnswer(filtered)
      .filter((name) => !having.has(name))
      .slice(0, MAX_CATALOGS),
    silent: filtered.catalogs
      .flatMap((one) =>
        one.unavailable === undefined ? [] : [{ catalog: one.name, because: truncate(explainUnavailable(one), CAUSE_LENGTH) }],
      )
      .slice(0, MAX_CATALOGS),
    nearest: questioned.length > 0 || !asked ? {} : findNearest(asked, all),
  };
}

/** Returns the candidates whose version or name is `text`. A version without a release matches all releases. */
export function findCandidates(candidates: readonly Candidate[], text: string): Candidate[] {
  const asked = parseRequestedVersion(text);
  return candidates.filter((candidate) => isMeant(candidate, text, asked));
}

/** Parses a version, with or without a leading v and a release; undefined if it is not a version. */
export function parseRequestedVersion(text: string): VersionRelease | undefined {
  try {
    return parseVersionRelease(text.replace(/^v(?=\d)/, ""));
  } catch {
    return undefined;
  }
}

function isMeant({ bundle, version }: Candidate, text: string, asked: VersionRelease | undefined): boolean {
  if (bundle.name === text) return true;
  if (!asked || !version) return false;
  return asked.release ? compareVersionRelease(asked, version) === 0 : compareVersions(asked.version, version.version) === 0;
}

function findWinner(resolution: Resolution): CatalogCandidate | undefined {
  if (resolution.kind === "unresolved") return undefined;
  const result = resolution.filtered.results.find(({ catalog }) => catalog === resolution.catalog);
  return result?.best && { result, candidate: result.best };
}

function readAnswer({ catalogs }: FilteredCatalogs): string[] {
  return catalogs.flatMap(({ name, unavailable }) => (unavailable === undefined ? [name] : []));
}

function findNearest(asked: VersionRelease, all: readonly CatalogCandidate[]): WhyNot["nearest"] {
  const sorted = all.filter(({ candidate }) => candidate.version).sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
  const isAbove = ({ candidate }: CatalogCandidate): boolean =>
    candidate.version !== undefined && compareVersionRelease(candidate.version, asked) > 0;
  const higher = sorted.findLast(isAbove);
  const lower = sorted.find((ranked) => !isAbove(ranked));
  const [highest] = sorted;
  return {
    ...(lower ? { lower: recordBundle(lower) } : {}),
    ...(higher ? { higher: recordBundle(higher) } : {}),
    ...(highest && highest !== higher ? { highest: recordBundle(highest) } : {}),
  };
}
