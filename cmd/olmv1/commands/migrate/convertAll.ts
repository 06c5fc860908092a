import { CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import { type InstalledCsv, parseInstalledCsv } from "../../../../pkg/migrate/clusterServiceVersion.ts";
import { groupByDependency } from "../../../../pkg/migrate/conversionGroups.ts";
import { listMigrated, type MigratedExtension } from "../../../../pkg/migrate/migratedExtensions.ts";
import { type Conversion, type ConversionSettings, planConversion } from "../../../../pkg/migrate/planConversion.ts";
import { runConversions } from "../../../../pkg/migrate/runConversion.ts";
import { findSourceChange } from "../../../../pkg/migrate/sourceChange.ts";
import { getNamespacedName } from "../../../../pkg/migrate/subscription.ts";
import { type SurveyedSubscription, survey } from "../../../../pkg/migrate/survey.ts";
import { type BatchLine, runBatch, showBatch } from "./batch.ts";
import { countObjects } from "./conversionReport.ts";
import {
  type ConversionSession,
  formatAccountOption,
  getConversionOptions,
  planResumedConversion,
  readSource,
  requireAccount,
  writeBackup,
} from "./conversionSession.ts";
import { getConversionSettings } from "./conversionSettings.ts";
import { ReportFile } from "./reportFile.ts";

type Line = Omit<BatchLine, "namespace" | "name">;

/** A Subscription that can be converted, or whose conversion has begun. */
interface Member {
  readonly row: SurveyedSubscription;
  readonly packageName: string;
  readonly csv: InstalledCsv;
  readonly begun?: MigratedExtension;
}

/** Subscriptions that are converted together, dependents first; or one Subscription that is not converted. */
interface Group {
  readonly namespace: string;
  readonly name: string;
  readonly names: readonly string[];
  readonly members: readonly Member[];
  /** The result if the Subscription is not converted. */
  readonly line?: Line;
}

/**
 * Runs `olmv1 migrate convert` for several Subscriptions, sorted by namespace and name. Operators that depend on each other are planned together and
 * converted together. Each group is planned just before its conversion, and only if its objects of OLM v0 are as they were in the survey.
 * @param names empty for all Subscriptions
 */
export async function convertAll(session: ConversionSession, names: readonly string[]): Promise<void> {
  const { terminal, options, client, reader, progress, account } = session;
  const { namespace, catalogDir, yes = false, keepGoing = false, parallel, name, createServiceAccount } = options;
  if (name !== undefined || typeof createServiceAccount === "string")
    throw new Error(
      "with several Subscriptions or --report, --name and a name for --create-service-account are not supported: names are derived from the Subscriptions",
    );
  requireAccount(session);
  const { signal } = terminal;
  const report = (step: string): void => progress.now(step);
  await using file = options.report === undefined ? undefined : await ReportFile.open(options.report);
  const { found, offers } = await survey({ client, reader, names, namespace, catalogDir, account, isTogether: true, signal, report });
  const run = { settings: getConversionSettings(session, offers, account.kind), backup: new BackupFile(options.backup) };
  const groups = await groupRows(session, found);
  const plans = new Map<string, Conversion>();
  const batch = await runBatch(groups, { keepGoing: keepGoing || !yes, signal, parallel }, (group) =>
    convertGroup(session, group, { ...run, planned: (key, conversion) => void plans.set(key, conversion) }),
  );
  await file?.write({ isDryRun: !yes, lines: batch.lines, found, plans });
  const isReady = batch.lines.some(({ kind }) => kind === "ready");
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  const chosen = names.length === 0 ? "--all" : names.join(" ");
  const next = isReady
    ? `\nNo changes were made. Details of one Subscription: olmv1 migrate convert NAME -n NAMESPACE. To convert: olmv1 migrate convert ${chosen}${where} ${formatAccountOption(account)}--yes\n`
    : batch.lines.some(({ kind }) => kind === "left" || kind === "failed")
      ? "Reasons and next steps: olmv1 migrate check\n"
      : "";
  await showBatch(terminal, options.output, batch, next);
}

/** The file with the backups of all conversions. It must not exist before the first backup. */
class BackupFile {
  readonly #path: string | undefined;
  #last: Promise<void> | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
  }

  /** Appends a backup after those that are being written. */
  append(conversion: Conversion): Promise<void> {
    const flag = this.#last ? "a" : "wx";
    this.#last = (this.#last ?? Promise.resolve()).then(() => writeBackup(this.#path, conversion, flag));
    return this.#last;
  }
}

/** The parts that all groups of a run share. */
interface ConversionBatch {
  readonly settings: ConversionSettings;
  readonly backup: BackupFile;
  /** Called with "namespace/name" of each Subscription and its plan. */
  readonly planned: (key: string, conversion: Conversion) => void;
}

async function groupRows({ client, terminal }: ConversionSession, rows: readonly SurveyedSubscription[]): Promise<Group[]> {
  const members: Member[] = [];
  const migrated = rows.some(isUnfinished) ? await listMigrated(client, undefined, terminal.signal) : [];
  for (const row of rows) {
    const { packageName } = row;
    if (row.eligible) members.push({ row, packageName, csv: parseInstalledCsv(row.eligible.csv) });
    if (!isUnfinished(row)) continue;
    const begun = await migrated.find(({ namespace, name }) => namespace === row.namespace && name === row.name)?.read();
    if (!begun?.subscription) continue;
    const { csv } = await readSource(client, begun);
    members.push({ row, packageName, csv: parseInstalledCsv(csv), begun });
  }
  const groups = groupByDependency(members);
  return rows.flatMap((row): Group[] => {
    const { namespace, name } = row;
    const group = groups.find((one) => one.some((member) => member.row === row));
    if (!group) return [{ namespace, name, names: [name], members: [], line: reportLeft(row) }];
    const isFirst = rows.find((other) => group.some((member) => member.row === other)) === row;
    return isFirst ? [{ namespace, name, names: group.map((member) => member.row.name), members: group }] : [];
  });
}

function isUnfinished({ verdict }: SurveyedSubscription): boolean {
  return verdict.reasons.some(({ code }) => code === "ConversionUnfinished");
}

function reportLeft({ verdict: { state, reasons } }: SurveyedSubscription): Line {
  if (state === "AlreadyMigrated") return { result: state, detail: reasons[0]?.text ?? "", kind: "passed" };
  return { result: state, detail: reasons.map(({ code, text }) => `${code}: ${text}`).join("; "), kind: "left" };
}

/** Returns a line for each member, in order. */
async function convertGroup(session: ConversionSession, group: Group, batch: ConversionBatch): Promise<readonly Line[]> {
  if (group.line) return [group.line];
  const { options, progress } = session;
  const planned: (Line | Conversion)[] = [];
  for (const { row, begun } of group.members) {
    const plan = begun ? await planResumedConversion(session, begun) : await planMember(session, row, batch.settings);
    if ("source" in plan) batch.planned(getNamespacedName(row), plan);
    planned.push(plan);
  }
  const conversions = planned.flatMap((one) => ("source" in one ? one : []));
  const refused = group.names.filter((_, at) => refuseMember(planned[at]) !== undefined);
  if (refused.length > 0)
    return planned.map((one) => {
      const detail = `operators that depend on each other are converted together, and these cannot be converted: ${refused.join(", ")}`;
      return refuseMember(one) ?? { result: "NotTried", detail, kind: "left" };
    });
  if (!options.yes) return conversions.map((conversion, at) => reportReady(conversion, group, at));
  for (const [at, conversion] of conversions.entries()) if (!group.members[at]?.begun) await batch.backup.append(conversion);
  const extensions = await runConversions(
    conversions.map((conversion, at) => {
      const report = (step: string): void => progress.now(`${group.namespace}/${group.names[at] ?? ""}: ${step}`);
      return { conversion, options: { ...getConversionOptions(session, () => undefined), report } };
    }),
  );
  return extensions.map(({ metadata, spec }) => {
    const { version } = spec.source.catalog ?? {};
    const detail = `${CLUSTER_EXTENSION} ${metadata.name}${version === undefined ? "" : `, pinned at ${version}`}`;
    return { result: "Converted", detail, kind: "done" };
  });
}

async function planMember(
  { client, progress }: ConversionSession,
  row: SurveyedSubscription,
  settings: ConversionSettings,
): Promise<Line | Conversion> {
  if (!row.eligible) return reportLeft(row);
  const change = await findSourceChange(client, row.eligible);
  if (change !== undefined) return { result: "Changed", detail: `${change}: run the command again`, kind: "left" };
  progress.now(`planning the conversion of ${getNamespacedName(row)}`);
  return planConversion(row.eligible, settings);
}

/** Returns the line of a member that cannot be converted; undefined if it can. */
function refuseMember(planned: Line | Conversion | undefined): Line | undefined {
  if (!planned || !("source" in planned)) return planned;
  const [finding, ...others] = planned.findings;
  if (!finding) return undefined;
  return { result: "Refused", detail: `${finding.text}${others.length > 0 ? `, and ${others.length} more` : ""}`, kind: "failed" };
}

function reportReady(conversion: Conversion, { members, names }: Group, at: number): Line {
  const begun = members[at]?.begun;
  if (begun) return { result: "Unfinished", detail: members[at]?.row.verdict.reasons[0]?.text ?? "", kind: "ready" };
  const others = names.filter((_, other) => other !== at);
  const along = others.length === 0 ? "" : `; together with ${others.join(", ")}`;
  return { result: "Eligible", detail: `${summarizeConversion(conversion)}${along}`, kind: "ready" };
}

/** Summarizes a conversion in a line. */
function summarizeConversion(conversion: Conversion): string {
  const { adopted, changed, created, left, restarting } = countObjects(conversion);
  const parts = [
    `${adopted} objects adopted${changed > 0 ? `, ${changed} changed` : ""}`,
    ...(created > 0 ? [`${created} created`] : []),
    ...(left > 0 ? [`${left} left`] : []),
    restarting.length > 0 ? `Pods of ${restarting.length} restart` : "no Pod restarts",
  ];
  return `becomes ${CLUSTER_EXTENSION} ${conversion.source.extension.metadata.name}: ${parts.join(", ")}`;
}
