import { CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import type { CatalogOffers } from "../../../../pkg/migrate/catalogOffers.ts";
import { type InstalledCsv, parseInstalledCsv } from "../../../../pkg/migrate/clusterServiceVersion.ts";
import { groupByDependency } from "../../../../pkg/migrate/conversionGroups.ts";
import { findMigrated, type MigratedExtension } from "../../../../pkg/migrate/migratedExtensions.ts";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import { runConversions } from "../../../../pkg/migrate/runConversion.ts";
import { getNamespacedName } from "../../../../pkg/migrate/subscription.ts";
import { type SurveyedSubscription, survey } from "../../../../pkg/migrate/survey.ts";
import { type BatchLine, runBatch, showBatch } from "./batch.ts";
import {
  type ConversionSession,
  formatAccountOption,
  getConversionOptions,
  planNewConversion,
  planResumedConversion,
  readSource,
  requireAccount,
  writeBackup,
} from "./conversionSession.ts";

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
 * converted together. Each group is planned just before its conversion, because earlier conversions may affect it.
 * @param names empty for all Subscriptions
 */
export async function convertAll(session: ConversionSession, names: readonly string[]): Promise<void> {
  const { terminal, options, client, reader, progress, account } = session;
  const { namespace, catalogDir, yes = false, keepGoing = false, name, createServiceAccount } = options;
  if (name !== undefined || typeof createServiceAccount === "string")
    throw new Error(
      "with several Subscriptions, --name and a name for --create-service-account are not supported: names are derived from the Subscriptions",
    );
  requireAccount(session);
  const { signal } = terminal;
  const report = (step: string): void => progress.now(step);
  const { found, offers } = await survey({ client, reader, names, namespace, catalogDir, account, together: "All", signal, report });
  const backup = new BackupFlag();
  const groups = await groupRows(session, found);
  const batch = await runBatch(groups, { keepGoing: keepGoing || !yes, signal }, (group) => convertGroup(session, group, offers, backup));
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

/** Flags for opening the backup file: the first backup creates the file, which must not exist; later backups append to it. */
class BackupFlag {
  #isBegun = false;

  next(): "wx" | "a" {
    const flag = this.#isBegun ? "a" : "wx";
    this.#isBegun = true;
    return flag;
  }
}

async function groupRows({ client, terminal }: ConversionSession, rows: readonly SurveyedSubscription[]): Promise<Group[]> {
  const members: Member[] = [];
  for (const row of rows) {
    const { packageName } = row;
    if (row.eligible) members.push({ row, packageName, csv: parseInstalledCsv(row.eligible.csv) });
    if (!isUnfinished(row)) continue;
    const begun = await findMigrated(client, row.name, row.namespace, terminal.signal);
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
async function convertGroup(session: ConversionSession, group: Group, offers: CatalogOffers, backup: BackupFlag): Promise<readonly Line[]> {
  if (group.line) return [group.line];
  const { options, progress } = session;
  const together = new Set(group.members.map(({ csv }) => getNamespacedName(csv)));
  const planned: (Line | Conversion)[] = [];
  for (const { row, begun } of group.members) {
    if (begun) planned.push(await planResumedConversion(session, begun));
    else planned.push(await planMember(session, row, { offers, together }));
  }
  const conversions = planned.flatMap((one) => ("source" in one ? one : []));
  const refused = group.names.filter((_, at) => refuseMember(planned[at]) !== undefined);
  if (refused.length > 0)
    return planned.map((one) => {
      const detail = `operators that depend on each other are converted together, and these cannot be converted: ${refused.join(", ")}`;
      return refuseMember(one) ?? { result: "NotTried", detail, kind: "left" };
    });
  if (!options.yes) return conversions.map((conversion, at) => reportReady(conversion, group, at));
  for (const [at, conversion] of conversions.entries())
    if (!group.members[at]?.begun) await writeBackup(options.backup, conversion, backup.next());
  progress.now(`converting ${group.names.join(", ")}`);
  const extensions = await runConversions(
    conversions.map((conversion) => ({ conversion, options: getConversionOptions(session, () => undefined) })),
  );
  return extensions.map(({ metadata, spec }) => {
    const { version } = spec.source.catalog ?? {};
    const detail = `${CLUSTER_EXTENSION} ${metadata.name}${version === undefined ? "" : `, pinned at ${version}`}`;
    return { result: "Converted", detail, kind: "done" };
  });
}

async function planMember(
  session: ConversionSession,
  { namespace, name }: SurveyedSubscription,
  known: { offers: CatalogOffers; together: ReadonlySet<string> },
): Promise<Line | Conversion> {
  const { surveyed, conversion } = await planNewConversion(session, { name, namespace }, known);
  return conversion ?? reportLeft(surveyed);
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
function summarizeConversion({ source, objects }: Conversion): string {
  const of = (counted: string): number => objects.filter(({ action }) => action === counted).length;
  const restarts = objects.filter((object) => object.restarts).length;
  const parts = [
    `${of("keep") + of("change")} objects adopted${of("change") > 0 ? `, ${of("change")} changed` : ""}`,
    ...(of("create") > 0 ? [`${of("create")} created`] : []),
    ...(of("leave") > 0 ? [`${of("leave")} left`] : []),
    restarts > 0 ? `Pods of ${restarts} restart` : "no Pod restarts",
  ];
  return `becomes ${CLUSTER_EXTENSION} ${source.extension.metadata.name}: ${parts.join(", ")}`;
}
