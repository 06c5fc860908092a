import { answerResolution, type ResolutionAnswer } from "../../../pkg/preview/resolutionAnswers.ts";
import type { Named } from "../../../pkg/preview/resolutionSubject.ts";
import type {
  CatalogRecord,
  FilterRecord,
  OutcomeRecord,
  RecordedBundle,
  RequestRecord,
  ResolutionRecord,
} from "../../../pkg/resolve/resolutionRecord.ts";
import { escapeControlCharacters, toOneLine } from "../../../pkg/text/escape.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { EXIT } from "../cli/errors.ts";
import { type Output, print } from "../cli/output.ts";
import { formatTableLines } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withResolutionSubject } from "./resolutionSubject.ts";

/** The result of a command as data and as text, and whether it is a success. */
export interface CommandResult {
  readonly data: unknown;
  readonly text: string;
  readonly isYes: boolean;
}

/** Prints a result, and sets exit code 1 unless it is a success. */
export async function printCommandResult(terminal: Terminal, find: () => Promise<CommandResult>, output: Output): Promise<void> {
  const { data, text, isYes } = await find();
  await print(terminal, output, { data, text: () => text });
  if (!isYes) terminal.exit(EXIT.no);
}

/**
 * Formats a resolution: the selected bundle, or why no bundle is selected. With `explain`, also the candidates that each filter kept and removed in
 * each catalog.
 */
function formatResolution(record: ResolutionRecord, subject: string, explain: boolean, width: number): string {
  const { asked: requested, catalogs, moreCatalogs, outcome, unjudged = [] } = record;
  const funnel = explain
    ? [formatRequestLines(subject, requested), funnelLines(catalogs, moreCatalogs, width), removedLines(catalogs)]
    : [];
  const last = [...outcomeLines(outcome, explain), ...unjudged.map((text) => toOneLine(`not checked: ${text}`))];
  const parts = [...funnel, last].filter((lines) => lines.length > 0);
  return `${parts.map((lines) => lines.map(escapeControlCharacters).join("\n")).join("\n\n")}\n`;
}

/** Formats a resolution like `formatResolution`, followed by similar names if no catalog contains the package. */
export function formatResolutionAnswer(
  { record, similarPackages }: ResolutionAnswer,
  subject: string,
  explain: boolean,
  width: number,
): string {
  const suggestion = similarPackages.length === 0 ? "" : `did you mean ${similarPackages.join(" or ")}?\n`;
  return formatResolution(record, subject, explain, width) + suggestion;
}

/** Formats a bundle, such as `p.v1.2.0 (version 1.2.0) of catalog c`. */
export function formatBundle({ bundle, version, catalog, deprecated }: RecordedBundle): string {
  return `${bundle} (version ${version ?? "unknown"}${deprecated ? ", deprecated" : ""}) of catalog ${catalog}`;
}

function formatRequestLines(subject: string, requested: RequestRecord | undefined): string[] {
  if (!requested) return [subject];
  const {
    installed,
    channels = [],
    version,
    upgradeConstraintPolicy,
    clusterVersionPolicy,
    clusterVersion,
    supportPolicy,
    today,
  } = requested;
  return [
    subject,
    `  installed: ${installed ? `${installed.bundle} (version ${installed.version})` : "none"}`,
    `  channels: ${channels.length > 0 ? channels.join(", ") : "all"}`,
    `  version: ${version ?? "any"}`,
    ...(installed ? [`  upgradeConstraintPolicy: ${upgradeConstraintPolicy}`] : []),
    ...(clusterVersion === undefined ? [] : [`  clusterVersionPolicy: ${clusterVersionPolicy}, cluster version ${clusterVersion}`]),
    ...(supportPolicy === undefined ? [] : [`  supportPolicy: ${supportPolicy}, on ${today}`]),
  ];
}

/** Formats a row for each catalog with the number of candidates that each filter kept. */
function funnelLines(catalogs: readonly CatalogRecord[], more: number, width: number): string[] {
  if (catalogs.length === 0) return ["no catalog is selected"];
  const names = [...new Set(catalogs.flatMap(({ filters }) => filters.map(({ filter }) => filter)))];
  const head = ["CATALOG", "PRIORITY", "BUNDLES", ...names.map(heading), "BEST"];
  const rows = catalogs.map(({ catalog, priority, state, because = "", bundles, filters, best }) => {
    const start = [catalog, String(priority)];
    if (state === "silent") return [...start, `unavailable: ${because}`];
    if (state === "withoutPackage") return [...start, "does not contain the package"];
    const left = names.map((name) => String(filters.find(({ filter }) => filter === name)?.left ?? ""));
    return [...start, String(bundles), ...left, best ? (best.version ?? best.bundle) : "none"];
  });
  // A catalog without content has no numbers. The reason is printed below the table, because it is wider than a column.
  const full = rows.filter((row) => row.length === head.length);
  const notes = rows.filter((row) => row.length < head.length).map(([name, priority, why]) => `${name} (priority ${priority}): ${why}`);
  return [
    ...(full.length > 0 ? formatTableLines([head, ...full], width) : []),
    ...notes,
    ...(more > 0 ? [`and ${more} more catalogs`] : []),
  ];
}

/** Formats a filter as a heading: "upgradeEdges" as "UPGRADE EDGES". */
function heading(filter: string): string {
  return filter.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase();
}

function removedLines(catalogs: readonly CatalogRecord[]): string[] {
  return catalogs.flatMap(({ catalog, filters, near = [] }) => [
    ...filters.filter(({ removed }) => removed > 0).flatMap((filter) => filterLines(catalog, filter)),
    ...(near.length > 0 ? [`catalog ${catalog}, near:`, ...near.map((text) => `  ${toOneLine(text)}`)] : []),
  ]);
}

function filterLines(catalog: string, { filter, asks, removed, last }: FilterRecord): string[] {
  const more = removed - last.length;
  return [
    toOneLine(`catalog ${catalog}, removed by ${filter} (required: ${asks}):`),
    ...last.map(({ bundle, rule }) => `  ${toOneLine(`${bundle}: ${rule}`)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function outcomeLines(outcome: OutcomeRecord, explain: boolean): string[] {
  if (outcome.kind === "unresolved") {
    const { message, explanation, tied = [], notes = [] } = outcome;
    const offers = tied.map((one) => `  offer: ${formatBundle(one)}`);
    return [`no bundle: ${message}`, `why: ${explanation}`, ...offers, ...notes.map((note) => `note: ${note}`)].map(toOneLine);
  }
  const { winner, edge, runnerUp, because = "", explanation, notes } = outcome;
  const by = edge === undefined ? "" : edge === "stay" ? ", already installed" : `, by ${edge}`;
  return [
    `bundle: ${formatBundle(winner)}${by}`,
    ...(explain ? [runnerUp ? `next: ${formatBundle(runnerUp)}: ${because}` : "next: no other candidate"] : []),
    `why: ${explanation}`,
    ...notes.map((note) => `note: ${note}`),
  ].map(toOneLine);
}

/** Options of `olmv1 resolve`. */
export interface ResolveOptions extends ResolutionOptions {
  package?: string;
  extension?: string;
  explain?: boolean;
  all?: boolean;
}

/** Runs `olmv1 resolve`. */
export async function showResolution(terminal: Terminal, name: string | undefined, options: ResolveOptions): Promise<void> {
  await printCommandResult(
    terminal,
    () =>
      withResolutionSubject(terminal, namedBy(name, options), options, async (question) => {
        const answer = await answerResolution({ ...question, explainsAll: options.all ?? false });
        const text = formatResolutionAnswer(answer, question.subject, options.explain ?? false, terminal.width);
        return { data: answer.record, text, isYes: answer.resolution.kind === "resolved" };
      }),
    options.output,
  );
}

function namedBy(name: string | undefined, { package: packageName, extension, filename }: ResolveOptions): Named {
  const given = [name, packageName, extension, filename].filter((one) => one !== undefined);
  if (given.length !== 1) throw new Error("specify one ClusterExtension or package, or one file with a ClusterExtension");
  return { either: name, package: packageName, extension };
}
