import { writeFile } from "node:fs/promises";
import type { ClusterExtension } from "../../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import { ANNOTATION_MIGRATED_FROM, type ConversionStep, LABEL_MIGRATION } from "../../../../pkg/api/migration.ts";
import { getErrorMessage } from "../../../../pkg/errors/errors.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { formatBackupFile } from "../../../../pkg/migrate/backup.ts";
import { CatalogOffers } from "../../../../pkg/migrate/catalogOffers.ts";
import { findMigrated, type MigratedExtension } from "../../../../pkg/migrate/migratedExtensions.ts";
import { CSV, readOrNone } from "../../../../pkg/migrate/olmV0Cluster.ts";
import { type Conversion, type ConversionSource, getMarkIdentity, planConversion } from "../../../../pkg/migrate/planConversion.ts";
import { WaitTimeoutError } from "../../../../pkg/migrate/poll.ts";
import { runConversion } from "../../../../pkg/migrate/runConversion.ts";
import { parseSubscription } from "../../../../pkg/migrate/subscription.ts";
import { type SurveyedSubscription, survey } from "../../../../pkg/migrate/survey.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import { type BundleReader, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { type Progress, withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type BatchLine, requireOneOrAll, runBatch, showBatch } from "./batch.ts";
import { formatCheck } from "./check.ts";
import { getConversionSettings } from "./conversionSettings.ts";
import { buildConversionData, formatConversion } from "./conversionText.ts";
import type { MigrateConvertOptions } from "./migrateOptions.ts";

/** Writes the objects of OLM v0 to the backup file, if requested. @param flag wx for a new file, a to append. */
async function writeBackup(path: string | undefined, { source }: Conversion, flag: "wx" | "a"): Promise<void> {
  const { subscription, csv, group } = source;
  if (path !== undefined) await writeFile(path, formatBackupFile([group, csv, subscription]), { flag, mode: 0o600 });
}

/** Runs a conversion. @param done called after each step. @throws WaitTimeoutError if a step does not complete in time. */
function runSteps(
  { terminal, options, client, progress }: Session,
  conversion: Conversion,
  done: (step: ConversionStep) => void,
): Promise<ClusterExtension> {
  const { unpin = false, timeout } = options;
  return runConversion(conversion, {
    client,
    unpin,
    timeoutMs: timeout,
    signal: terminal.signal,
    report: (step) => progress.now(step),
    done,
  });
}

/** Context of conversions. */
interface Session {
  readonly terminal: Terminal;
  readonly options: MigrateConvertOptions;
  readonly client: Client;
  readonly reader: BundleReader;
  readonly progress: Progress;
}

/** @throws Error if both --service-account and --create-service-account are set. */
function requireOneAccount({ serviceAccount, createServiceAccount }: MigrateConvertOptions): void {
  if (serviceAccount !== undefined && createServiceAccount !== undefined)
    throw new Error("use either --service-account or --create-service-account");
}

/** Returns whether an option sets or creates a ServiceAccount. */
function hasAccount({ serviceAccount, createServiceAccount }: MigrateConvertOptions): boolean {
  return serviceAccount !== undefined || createServiceAccount !== undefined;
}

const NO_ACCOUNT =
  "no ServiceAccount: use --create-service-account to create one with the permissions that the bundle needs, or --service-account NAME";

/** A Subscription and, if it is eligible, its planned conversion. */
interface PlannedConversion {
  readonly surveyed: SurveyedSubscription;
  readonly conversion?: Conversion;
}

/**
 * Plans a conversion that has not started.
 * @param known content of catalogs; if absent, the catalogs are read.
 * @throws Error unless exactly one Subscription has the name.
 */
async function planNewConversion(
  { terminal, options, client, reader, progress }: Session,
  { name, namespace }: { name: string; namespace: string | undefined },
  known?: CatalogOffers,
): Promise<PlannedConversion> {
  const { catalogDir, serviceAccount, createServiceAccount, name: extensionName } = options;
  const { found, offers } = await survey({
    client,
    reader,
    names: [name],
    namespace,
    catalogDir,
    offers: known,
    extensionName,
    serviceAccount: serviceAccount ?? (createServiceAccount === true ? undefined : createServiceAccount),
    signal: terminal.signal,
    report: (step) => progress.now(step),
  });
  const surveyed = requireOne(found, name);
  if (!surveyed.eligible) return { surveyed };
  progress.now(`comparing the bundle with the installed objects of ${surveyed.namespace}/${name}`);
  const settings = getConversionSettings({ terminal, options, client, reader }, offers, serviceAccount === undefined);
  return { surveyed, conversion: await planConversion(surveyed.eligible, settings) };
}

function requireOne(found: readonly SurveyedSubscription[], name: string): SurveyedSubscription {
  const [one, ...others] = found;
  if (one && others.length === 0) return one;
  throw new Error(`several namespaces have a Subscription "${name}": select one with --namespace`);
}

/**
 * Plans the remaining steps of a conversion that has started. The settings come from the backup, not from the command line.
 * @throws Error if the Subscription or ClusterServiceVersion is missing and has no backup, or no ClusterCatalog contains the bundle.
 */
async function planResumedConversion(session: Session, begun: MigratedExtension): Promise<Conversion> {
  const { terminal, options, client, reader, progress } = session;
  const source = await readSource(client, begun);
  const { backup } = begun;
  if (backup)
    return {
      source,
      csv: getMarkIdentity(source),
      installerManifests: [],
      objects: [],
      grants: [],
      findings: [],
      notes: [],
      marks: backup.marks,
    };
  const { packageName } = parseSubscription(source.subscription);
  const offers = await CatalogOffers.read(client, {
    given: options.catalogDir,
    packages: new Set([packageName]),
    reader,
    signal: terminal.signal,
    report: (step) => progress.now(step),
  });
  const [offer] = offers.of(packageName, source.csv.metadata.name).bundles;
  if (!offer) throw new Error(`no ClusterCatalog contains bundle "${source.csv.metadata.name}" of package "${packageName}"`);
  return planConversion({ ...source, offer }, getConversionSettings(session, offers, await ownsAccount(client, begun)));
}

async function readSource(client: Client, { extension, subscription, group, backup }: MigratedExtension): Promise<ConversionSource> {
  if (!subscription) throw new Error(`ClusterExtension "${extension.metadata.name}" has no backup of its Subscription`);
  const { namespace, installedCsv = "" } = parseSubscription(subscription);
  const csv = backup?.csv ?? (await readOrNone(client, { ...CSV, namespace, name: installedCsv }));
  if (!csv) throw new Error(`${describeObject({ ...CSV, namespace, name: installedCsv })} does not exist, and has no backup`);
  return { subscription, csv, group, extension: { ...extension, apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, offer: { image: "" } };
}

/** Returns whether the conversion has created or will create the ServiceAccount. */
async function ownsAccount(client: Client, { extension }: MigratedExtension): Promise<boolean> {
  const { namespace, serviceAccount } = extension.spec;
  const found = await client.get(
    { apiVersion: "v1", kind: "ServiceAccount", namespace, name: serviceAccount?.name ?? "" },
    { metadataOnly: true },
  );
  return !found || found.metadata.labels?.[LABEL_MIGRATION] === extension.metadata.name;
}

type Line = Omit<BatchLine, "namespace" | "name">;

/**
 * Runs `olmv1 migrate convert --all`, sorted by namespace and name, but converts operators before their dependencies: OLM v0 would reinstall a
 * missing dependency. Checks each Subscription again before its conversion, because earlier conversions may affect it.
 */
async function convertAll(session: Session): Promise<void> {
  const { terminal, options, client, reader, progress } = session;
  const { namespace, catalogDir, yes = false, keepGoing = false, name, createServiceAccount } = options;
  if (name !== undefined || typeof createServiceAccount === "string")
    throw new Error(
      "with --all, --name and a name for --create-service-account are not supported: names are derived from the Subscriptions",
    );
  if (yes && !hasAccount(options)) throw new Error(NO_ACCOUNT);
  const { signal } = terminal;
  const { found, offers } = await survey({
    client,
    reader,
    names: [],
    namespace,
    catalogDir,
    signal,
    report: (step) => progress.now(step),
  });
  const backup = new BackupFlag();
  const batch = await runBatch(
    found.toSorted((a, b) => Number(isRequired(a)) - Number(isRequired(b))),
    { keepGoing: keepGoing || !yes, signal },
    (one) => convertOne(session, one, offers, backup),
  );
  const isReady = batch.lines.some(({ kind }) => kind === "ready");
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  const next = isReady
    ? `\nNo changes were made. Details of one Subscription: olmv1 migrate convert NAME -n NAMESPACE. To convert: olmv1 migrate convert --all${namespace === undefined ? "" : ` -n ${namespace}`} ${account} --yes\n`
    : batch.lines.some(({ kind }) => kind === "left" || kind === "failed")
      ? "Reasons and next steps: olmv1 migrate check\n"
      : "";
  await showBatch(terminal, options.output, batch, next);
}

/** Returns whether an operator that OLM v0 still runs depends on this one. */
function isRequired({ verdict }: SurveyedSubscription): boolean {
  return verdict.reasons.some(({ code }) => code === "RequiredByOthers");
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

async function convertOne(
  session: Session,
  { namespace, name, verdict }: SurveyedSubscription,
  offers: CatalogOffers,
  backup: BackupFlag,
): Promise<Line> {
  const { terminal, options, client } = session;
  const [reason] = verdict.reasons;
  if (verdict.state === "AlreadyMigrated") return { result: "AlreadyMigrated", detail: reason?.text ?? "", kind: "passed" };
  if (reason?.code === "ConversionUnfinished") {
    if (!options.yes) return { result: "Unfinished", detail: reason.text, kind: "ready" };
    const begun = await findMigrated(client, name, namespace, terminal.signal);
    if (begun?.subscription) return convertPlanned(session, await planResumedConversion(session, begun));
  }
  const { surveyed, conversion } = await planNewConversion(session, { name, namespace }, offers);
  if (!conversion) {
    const { state, reasons } = surveyed.verdict;
    return { result: state, detail: reasons.map(({ code, text }) => `${code}: ${text}`).join("; "), kind: "left" };
  }
  if (options.yes && conversion.findings.length === 0) await writeBackup(options.backup, conversion, backup.next());
  return convertPlanned(session, conversion);
}

async function convertPlanned(session: Session, conversion: Conversion): Promise<Line> {
  const { name } = conversion.source.extension.metadata;
  const [finding, ...others] = conversion.findings;
  if (finding)
    return { result: "Refused", detail: `${finding.text}${others.length > 0 ? `, and ${others.length} more` : ""}`, kind: "failed" };
  if (!session.options.yes) return { result: "Eligible", detail: summarizeConversion(conversion), kind: "ready" };
  session.progress.now(`converting ${name}`);
  const { spec } = await runSteps(session, conversion, () => undefined);
  const { version } = spec.source.catalog ?? {};
  return {
    result: "Converted",
    detail: `${CLUSTER_EXTENSION} ${name}${version === undefined ? "" : `, pinned at ${version}`}`,
    kind: "done",
  };
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

/** Runs `olmv1 migrate convert`. */
export async function showConvert(terminal: Terminal, name: string | undefined, options: MigrateConvertOptions): Promise<void> {
  requireOneOrAll("convert", name, options.all);
  requireOneAccount(options);
  if (name !== undefined && options.yes && !hasAccount(options) && !(await isBegun(name, options, terminal.signal)))
    throw new Error(NO_ACCOUNT);
  await withReader(options, (reader) =>
    withCluster(options, (client) =>
      withProgress(terminal, "reading Subscriptions", (progress) => {
        const session = { terminal, options, client, reader, progress };
        return name === undefined ? convertAll(session) : run(session, name);
      }),
    ),
  );
}

function isBegun(name: string, options: MigrateConvertOptions, signal: AbortSignal): Promise<boolean> {
  return withCluster(options, async (client) => (await findMigrated(client, name, options.namespace, signal)) !== undefined);
}

async function run(session: Session, name: string): Promise<void> {
  const { terminal, options, client } = session;
  const begun = await findMigrated(client, name, options.namespace, terminal.signal);
  if (begun?.subscription) return resume(session, begun);
  const { surveyed, conversion } = await planNewConversion(session, { name, namespace: options.namespace });
  if (!conversion) {
    terminal.out(formatCheck(terminal, [surveyed]));
    return terminal.exit(EXIT.no);
  }
  const isBlocked = conversion.findings.length > 0;
  if (isBlocked) terminal.exit(EXIT.no);
  if (!options.yes || isBlocked) {
    await print(terminal, options.output, {
      data: buildConversionData(conversion),
      text: () => formatConversion(conversion) + formatNextStep(session, name, conversion),
    });
    return undefined;
  }
  await writeBackup(options.backup, conversion, "wx");
  return runConversionSteps(session, conversion);
}

/** Continues a conversion that has started or, without --yes, prints the command to continue. */
async function resume(session: Session, begun: MigratedExtension): Promise<void> {
  const { terminal, options } = session;
  const { extension, step, from } = begun;
  const { name } = extension.metadata;
  if (step === "Installed" && !options.unpin) {
    terminal.out(`${CLUSTER_EXTENSION} ${name} has replaced Subscription ${from}; to delete leftovers: olmv1 migrate cleanup ${name}\n`);
    return;
  }
  if (!options.yes) {
    terminal.out(
      `the conversion of Subscription ${from} to ${CLUSTER_EXTENSION} ${name} stopped ${step === undefined ? "before its first step" : `after step ${step}`}\nto continue: olmv1 migrate convert ${name} --yes\nto roll back: olmv1 migrate rollback ${name} --yes\n`,
    );
    return terminal.exit(EXIT.no);
  }
  const conversion = await planResumedConversion(session, begun);
  if (conversion.findings.length === 0) return runConversionSteps(session, conversion);
  terminal.out(formatConversion(conversion));
  return terminal.exit(EXIT.no);
}

async function runConversionSteps(session: Session, conversion: Conversion): Promise<void> {
  const { terminal, options } = session;
  const { name } = conversion.source.extension.metadata;
  const done: string[] = [];
  try {
    const extension = await runSteps(session, conversion, (step) => {
      done.push(step);
      if (options.output === "text") terminal.out(`${step}\n`);
    });
    const { version } = extension.spec.source.catalog ?? {};
    await print(terminal, options.output, {
      data: { clusterExtension: name, subscription: extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM], steps: done },
      text: () =>
        `\n${CLUSTER_EXTENSION} ${name} is installed and ready${version === undefined ? "" : `, pinned at version ${version}`}\n` +
        (version === undefined
          ? ""
          : `to follow the channel: kubectl patch clusterextension ${name} --type merge -p '{"spec":{"source":{"catalog":{"version":null}}}}'\n`) +
        `to delete leftovers of OLM v0: olmv1 migrate cleanup ${name}\nto roll back to OLM v0: olmv1 migrate rollback ${name}\n`,
    });
  } catch (err) {
    if (!(err instanceof WaitTimeoutError)) throw err;
    terminal.err(`olmv1: ${getErrorMessage(err)}\n`);
    terminal.exit(EXIT.no);
  }
}

function formatNextStep({ options }: Session, name: string, { source, findings }: Conversion): string {
  if (findings.length > 0) return "";
  const { namespace } = source.subscription.metadata;
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  return `\nNo changes were made. To convert: olmv1 migrate convert ${name} -n ${namespace ?? ""} ${account} --yes\n`;
}
