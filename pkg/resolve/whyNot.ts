import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { goQuote } from "../golang/quote.ts";
import { CAUSE_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersionRelease, compareVersions, parseVersionRelease, type VersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { silenceReason } from "./explain.ts";
import { type Obstacle, obstaclesTo } from "./obstacles.ts";
import type { Considered, Resolution } from "./resolution.ts";
import { type Ranked, type RecordedBundle, recordedBundle } from "./resolutionRecord.ts";

/** A bundle of the version in question, and what stands against it. */
export interface QuestionedBundle extends RecordedBundle {
  /** Empty for the one that is taken. */
  readonly obstacles: readonly Obstacle[];
}

/** Why a version is not what resolution takes, as JSON. */
export interface WhyNot {
  readonly formatVersion: 1;
  readonly package: string;
  /** As it was asked for. */
  readonly version: string;
  /** `absent`: no catalog that could be asked has it. */
  readonly verdict: "chosen" | "notChosen" | "absent";
  /** What is taken instead; absent where nothing is. */
  readonly gets?: RecordedBundle;
  /** Why nothing is taken. */
  readonly because?: string;
  /** The bundles of that version, by catalog; at most 32. */
  readonly bundles: readonly QuestionedBundle[];
  /** Selected catalogs that could be asked and do not have it; at most 32. */
  readonly without: readonly string[];
  /** Selected catalogs that could not be asked; at most 32. */
  readonly silent: readonly { readonly catalog: string; readonly because: string }[];
  /** The versions next to one that is absent, and the highest; those there are. */
  readonly nearest: { readonly lower?: RecordedBundle; readonly higher?: RecordedBundle; readonly highest?: RecordedBundle };
}

const MAX_CATALOGS = 32;

/**
 * Why `version` is not what a resolution takes, catalog by catalog: every rule against it and what would let it through. Pure.
 * @param version a version with or without release, or the name of a bundle.
 * @throws Error when the selector or the version range of the request cannot be read, or `version` is neither.
 */
export function whyNot(packageName: string, version: string, resolution: Resolution): WhyNot {
  const { considered } = resolution;
  if (!considered) throw new Error(resolution.kind === "unresolved" ? resolution.message : "nothing was considered");
  const all = considered.findings.flatMap((found) => found.all.map((candidate) => ({ found, candidate })));
  const asked = versionAsked(version);
  const questioned = all.filter(({ candidate }) => isMeant(candidate, version, asked));
  if (!asked && questioned.length === 0)
    throw new Error(`${goQuote(version)} is no version such as 1.2.3, and no catalog has a bundle of that name`);
  const winner = winnerOf(resolution);
  const isWinner = ({ found, candidate }: Ranked): boolean => found.catalog === winner?.found.catalog && candidate === winner.candidate;
  const having = new Set(questioned.map(({ found }) => found.catalog));
  return {
    formatVersion: 1,
    package: packageName,
    version,
    verdict: questioned.some(isWinner) ? "chosen" : questioned.length > 0 ? "notChosen" : "absent",
    ...(winner ? { gets: recordedBundle(winner) } : {}),
    ...(resolution.kind === "unresolved" ? { because: resolution.message } : {}),
    bundles: questioned
      .slice(0, MAX_CATALOGS)
      .map((ranked) => ({ ...recordedBundle(ranked), obstacles: isWinner(ranked) ? [] : obstaclesTo(ranked, considered) })),
    without: answered(considered)
      .filter((name) => !having.has(name))
      .slice(0, MAX_CATALOGS),
    silent: considered.selected
      .flatMap((one) => (one.unavailable === undefined ? [] : [{ catalog: one.name, because: truncate(silenceReason(one), CAUSE_LENGTH) }]))
      .slice(0, MAX_CATALOGS),
    nearest: questioned.length > 0 || !asked ? {} : nearestTo(asked, all),
  };
}

/** The candidates of a package that `text` means: of that version, whatever the release unless it has one, or of that name. */
export function candidatesMeant(candidates: readonly Candidate[], text: string): Candidate[] {
  const asked = versionAsked(text);
  return candidates.filter((candidate) => isMeant(candidate, text, asked));
}

function versionAsked(text: string): VersionRelease | undefined {
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

function winnerOf(resolution: Resolution): Ranked | undefined {
  if (resolution.kind === "unresolved") return undefined;
  const found = resolution.considered.findings.find(({ catalog }) => catalog === resolution.catalog);
  return found?.best && { found, candidate: found.best };
}

function answered({ selected }: Considered): string[] {
  return selected.flatMap(({ name, unavailable }) => (unavailable === undefined ? [name] : []));
}

function nearestTo(asked: VersionRelease, all: readonly Ranked[]): WhyNot["nearest"] {
  const sorted = all.filter(({ candidate }) => candidate.version).sort((a, b) => compareNewestFirst(a.candidate, b.candidate));
  const isAbove = ({ candidate }: Ranked): boolean =>
    candidate.version !== undefined && compareVersionRelease(candidate.version, asked) > 0;
  const higher = sorted.findLast(isAbove);
  const lower = sorted.find((ranked) => !isAbove(ranked));
  const [highest] = sorted;
  return {
    ...(lower ? { lower: recordedBundle(lower) } : {}),
    ...(higher ? { higher: recordedBundle(higher) } : {}),
    ...(highest && highest !== higher ? { highest: recordedBundle(highest) } : {}),
  };
}
