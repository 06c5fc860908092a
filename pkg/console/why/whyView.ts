import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { listVersionRows, type PackageInCatalog, type VersionRow } from "../../browse/packageView.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import type { CatalogFunnel, Why, WhyVersion } from "../../consoleapi/why.ts";
import type { ResolutionAnswer } from "../../preview/resolutionAnswers.ts";
import type { CatalogRecord, OutcomeRecord, RecordedBundle } from "../../resolve/resolutionRecord.ts";
import { toSentence } from "../../text/sentence.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";
import { drawChannels } from "./channelGraphs.ts";
import { listRefusals } from "./refusals.ts";
import { getRuleTitle } from "./ruleTitles.ts";
import { describeSourceChange, readSourceLimits } from "./sourceLimits.ts";
import { judgeVersions } from "./versionRows.ts";

const MAX_VERSIONS = 1_000;
const MAX_NOTES = 20;
/** Length of the start of a note that shows whether the explanation contains it. */
const SAME_START = 100;
const MAX_UNCHECKED = 50;
const MAX_EXPLANATION = 8_192;

/** What the page is about. */
export interface WhySubject {
  readonly extension: ClusterExtension;
  /** The extension with the limits to try; the same as `extension` without such limits. */
  readonly tried: ClusterExtension;
  readonly answer: ResolutionAnswer;
  /** The package in the selected catalogs that can be read, by descending priority. */
  readonly found: readonly PackageInCatalog[];
  /** Catalogs that cannot be read, one sentence each. */
  readonly unread: readonly string[];
}

/** Describes why an extension gets its version: the outcome, every version with its rules, and the graphs of the channels. */
export function buildWhy({ extension, tried, answer, found, unread }: WhySubject): Why {
  const { record, resolution, similarPackages } = answer;
  const install = extension.status?.install;
  const installed = install?.bundle;
  const rows = listVersionRows(found, [], installed ? [{ extension: extension.metadata.name, bundle: installed }] : []);
  const versions = judgeVersions(selectRows(rows, record.outcome, installed?.name), resolution, installed);
  const limits = readSourceLimits(tried);
  const first = findFirstVersion(versions);
  const channels = drawChannels({ found, versions, requested: limits.channels, installed });
  return {
    package: record.package,
    installed: installed && { bundle: installed.name, version: installed.version, catalog: install.catalog },
    limits,
    current: readSourceLimits(extension),
    change: describeSourceChange(extension, tried),
    outcome: { ...describeOutcome(record.outcome, installed?.name), similarPackages: similarPackages.slice(0, MAX_NOTES) },
    unchecked: [...unread, ...(record.unjudged ?? []).map((text) => toSentence(`not checked: ${text}`))].slice(0, MAX_UNCHECKED),
    funnels: record.catalogs.map(toFunnel),
    refusals: listRefusals(record.refusals),
    versions,
    omittedVersions: rows.length - versions.length,
    first: first && { catalog: first.catalog, bundle: first.bundle },
    channels,
    firstChannel: Math.max(
      0,
      channels.findIndex(({ catalog, nodes }) => catalog === first?.catalog && nodes.some(({ bundle }) => bundle === first.bundle)),
    ),
  };
}

/** Returns the version that users ask about: the newest one that is not chosen although it is newer, else the chosen or installed one. */
function findFirstVersion(versions: readonly WhyVersion[]): WhyVersion | undefined {
  const [newest] = versions;
  const isAsked = newest && (newest.state === "blocked" || newest.state === "later" || newest.state === "chosen");
  return isAsked ? newest : (versions.find(({ state }) => state === "chosen") ?? versions.find(({ isInstalled }) => isInstalled) ?? newest);
}

/** Returns the highest versions, and the installed and the chosen one at any position. */
function selectRows(rows: readonly VersionRow[], outcome: OutcomeRecord, installed: string | undefined): VersionRow[] {
  if (rows.length <= MAX_VERSIONS) return [...rows];
  const chosen = outcome.kind === "resolved" ? outcome.winner.bundle : undefined;
  return rows.filter(({ bundle }, at) => at < MAX_VERSIONS - 2 || bundle === installed || bundle === chosen).slice(0, MAX_VERSIONS);
}

function describeOutcome(outcome: OutcomeRecord, installed: string | undefined): Omit<Why["outcome"], "similarPackages"> {
  const explanation = toSentence(outcome.explanation, { max: MAX_EXPLANATION });
  const notes = (outcome.notes ?? [])
    .filter((note) => !repeats(outcome.explanation, note))
    .slice(0, MAX_NOTES)
    .map((note) => toSentence(note));
  if (outcome.kind === "unresolved") {
    const tied = (outcome.tied ?? []).map((one) => toSentence(`${formatBundle(one)} is offered`));
    return {
      state: { text: "No version", mood: "bad" },
      title: outcome.reason === "NoMatchingBundle" ? "No version can be chosen." : toSentence(outcome.message),
      explanation,
      notes: [...tied, ...notes].slice(0, MAX_NOTES),
    };
  }
  const { winner, edge, runnerUp, because = "" } = outcome;
  const named = ({ bundle, version, catalog }: RecordedBundle) => ({ bundle, version, catalog });
  return {
    ...describeChoice(winner, edge, installed),
    explanation,
    chosen: { ...named(winner), edge: edge === "stay" ? undefined : edge },
    runnerUp: runnerUp && { ...named(runnerUp), because: toSentence(because) },
    notes,
  };
}

/** Reports whether the explanation already contains a note, which may be truncated. */
function repeats(explanation: string, note: string): boolean {
  return explanation.includes(note.slice(0, SAME_START));
}

function describeChoice(
  winner: RecordedBundle,
  edge: string | undefined,
  installed: string | undefined,
): { readonly state: MoodText; readonly title: string } {
  const version = winner.version ?? winner.bundle;
  if (winner.bundle === installed) return { state: { text: "Stays", mood: "good" }, title: `Version ${version} stays installed.` };
  const state = { text: installed === undefined ? "Install" : "Upgrade", mood: "strong" } as const;
  const via = edge === undefined || edge === "stay" ? "" : `, by ${edge}`;
  return { state, title: `Version ${version} of catalog ${winner.catalog} is chosen${via}.` };
}

function toFunnel({ catalog, priority, state, because, bundles, filters, near = [], best }: CatalogRecord): CatalogFunnel {
  return {
    catalog,
    priority,
    state: describeCatalog(state, best),
    because: because === undefined ? undefined : truncate(because, CAUSE_LENGTH),
    bundles,
    steps: filters.map(({ filter, asks, left, removed, last }) => ({
      filter,
      title: getRuleTitle(filter),
      asks,
      left,
      removed,
      last: last.map((one) => ({ ...one, rule: toSentence(one.rule) })),
    })),
    near: near.map((text) => toSentence(text)),
    best: best && (best.version ?? best.bundle),
  };
}

function describeCatalog(state: CatalogRecord["state"], best: RecordedBundle | undefined): MoodText {
  if (state === "silent") return { text: "Unavailable", mood: "bad" };
  if (state === "withoutPackage") return { text: "Does not contain the package", mood: "faint" };
  return best ? { text: `Best: ${best.version ?? best.bundle}`, mood: "good" } : { text: "No candidate is left", mood: "warning" };
}

function formatBundle({ bundle, version, catalog }: RecordedBundle): string {
  return `${bundle} (version ${version ?? "unknown"}) of catalog ${catalog}`;
}
