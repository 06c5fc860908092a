import type { VersionRow } from "../../browse/packageView.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import type { VersionState, WhyVersion } from "../../consoleapi/why.ts";
import type { Candidate } from "../../resolve/candidates.ts";
import { type Exclusion, ExclusionFacts, findExclusions } from "../../resolve/exclusions.ts";
import { type FilterResult, findEdge } from "../../resolve/filters.ts";
import type { FilteredCatalogs, Resolution } from "../../resolve/resolution.ts";
import { toSentence } from "../../text/sentence.ts";
import { NAME_LENGTH, truncate } from "../../text/truncate.ts";
import { compareVersionRelease } from "../../version/version.ts";
import { findAttempt } from "./limitAttempt.ts";
import { getRuleTitle, isPreference, toVersionRule } from "./ruleTitles.ts";

const MAX_DEPRECATION = 500;
const MAX_NAMES = 100;
/** Maximum number of intermediate versions in a sentence. */
const MAX_STEPS = 5;

/** The installed bundle. */
interface Installed {
  readonly name: string;
  readonly version: string;
}

/** Returns what a resolution makes of each version of the package. @param rows the versions, highest first */
export function judgeVersions(rows: readonly VersionRow[], resolution: Resolution, installed: Installed | undefined): WhyVersion[] {
  const judge = new VersionJudge(resolution, installed);
  return rows.map((row) => judge.judge(row));
}

/** The state of a version, and why. */
interface Verdict {
  readonly state: VersionState;
  readonly label: MoodText;
  readonly reason: string;
  readonly exclusions: readonly Exclusion[];
}

class VersionJudge {
  readonly #resolution: Resolution;
  readonly #installed: Installed | undefined;
  readonly #facts: ExclusionFacts | undefined;
  /** By catalog, then by bundle. */
  readonly #candidates = new Map<string, { result: FilterResult; byName: ReadonlyMap<string, Candidate> }>();

  constructor(resolution: Resolution, installed: Installed | undefined) {
    this.#resolution = resolution;
    this.#installed = installed;
    const { filtered } = resolution;
    this.#facts = filtered && new ExclusionFacts(filtered);
    for (const result of filtered?.results ?? [])
      this.#candidates.set(result.catalog, { result, byName: new Map(result.all.map((one) => [one.bundle.name, one])) });
  }

  judge(row: VersionRow): WhyVersion {
    const { catalog, bundle, version, channels, headOf, createdAt, deprecated, reached } = row;
    const isInstalled = bundle === this.#installed?.name;
    const path = reached[0]?.through;
    const { state, label, reason, exclusions } = this.#decide(row, isInstalled);
    const query = this.#resolution.filtered?.query;
    return {
      catalog,
      bundle: truncate(bundle, NAME_LENGTH),
      version: version && truncate(version, NAME_LENGTH),
      channels: channels.slice(0, MAX_NAMES),
      headOf: headOf.slice(0, MAX_NAMES),
      created: createdAt && truncate(createdAt, NAME_LENGTH),
      deprecated: deprecated === undefined ? undefined : truncate(deprecated, MAX_DEPRECATION),
      isInstalled,
      state,
      label,
      reason,
      rules: exclusions.map(toVersionRule),
      path: path && [...path],
      attempt: query && findAttempt(row, exclusions, query.channels),
    };
  }

  #decide({ catalog, bundle, reached }: VersionRow, isInstalled: boolean): Verdict {
    const resolution = this.#resolution;
    const { filtered } = resolution;
    const known = this.#candidates.get(catalog);
    const candidate = known?.byName.get(bundle);
    if (!filtered || !known || !candidate) return decideUnjudged(resolution, isInstalled);
    const { result } = known;
    if (resolution.kind === "resolved" && resolution.catalog === catalog && result.best === candidate)
      return { ...describeChosen(candidate, result, filtered, isInstalled), exclusions: [] };
    const exclusions = findExclusions({ result, candidate }, filtered, this.#facts);
    const texts = exclusions.map(({ text }) => text).join("; ");
    if (isInstalled) return { state: "installed", label: { text: "Installed", mood: "strong" }, reason: toSentence(texts), exclusions };
    const { installed } = filtered.query;
    if (installed && candidate.version && compareVersionRelease(candidate.version, installed.parsed) < 0)
      return { state: "older", label: { text: "Older", mood: "faint" }, reason: formatOlder(installed.version), exclusions };
    if (exclusions.every(({ rule }) => isPreference(rule)))
      return { state: "allowed", label: { text: "Allowed", mood: "faint" }, reason: toSentence(texts), exclusions };
    const through = reached[0]?.through ?? [];
    if (through.length > 0 && exclusions.every(({ rule }) => rule === "upgradeEdges"))
      return { state: "later", label: { text: "Later", mood: "faint" }, reason: formatLater(through), exclusions };
    const title = getRuleTitle(exclusions.find(({ rule }) => !isPreference(rule))?.rule ?? "");
    return { state: "blocked", label: { text: `Blocked: ${title}`, mood: "warning" }, reason: toSentence(texts), exclusions };
  }
}

function describeChosen(
  candidate: Candidate,
  result: FilterResult,
  { query }: FilteredCatalogs,
  isInstalled: boolean,
): Omit<Verdict, "exclusions"> {
  if (isInstalled) return { state: "chosen", label: { text: "Installed, stays", mood: "good" }, reason: "The installed version stays." };
  const edge = findEdge(candidate, query, result.edges);
  const via = edge && edge.via !== "stay" ? `, by ${edge.via} in channel ${truncate(edge.channel, NAME_LENGTH)}` : "";
  const reason = query.installed ? `The upgrade from ${query.installed.version} goes to it${via}.` : "It is chosen for the installation.";
  return { state: "chosen", label: { text: "Chosen", mood: "good" }, reason };
}

/** Describes a version that the resolution did not consider, because the request is invalid. */
function decideUnjudged(resolution: Resolution, isInstalled: boolean): Verdict {
  const reason = resolution.kind === "unresolved" ? toSentence(resolution.explanation) : "Resolution did not consider this catalog.";
  if (isInstalled) return { state: "installed", label: { text: "Installed", mood: "strong" }, reason, exclusions: [] };
  return { state: "blocked", label: { text: "Not considered", mood: "faint" }, reason, exclusions: [] };
}

function formatOlder(installed: string): string {
  return `It is older than the installed version ${truncate(installed, NAME_LENGTH)}.`;
}

function formatLater(through: readonly string[]): string {
  const more = through.length > MAX_STEPS ? ` and ${through.length - MAX_STEPS} more` : "";
  return toSentence(`it is reached by upgrades to ${through.slice(0, MAX_STEPS).join(", then ")}${more}, then to it`);
}
