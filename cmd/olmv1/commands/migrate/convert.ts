import { writeFile } from "node:fs/promises";
import type { ClusterExtension } from "../../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import { ANNOTATION_MIGRATED_FROM, type ConversionStep, LABEL_MIGRATION } from "../../../../pkg/api/migration.ts";
import { messageOf } from "../../../../pkg/errors/errors.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { formatBackupFile } from "../../../../pkg/migrate/backup.ts";
import { CatalogOffers } from "../../../../pkg/migrate/catalogOffers.ts";
import { findMigrated, type Migrated } from "../../../../pkg/migrate/migratedExtensions.ts";
import { CSV, readOrNone } from "../../../../pkg/migrate/olmV0Cluster.ts";
import {
  type Conversion,
  type ConversionSettings,
  type ConversionSource,
  getMarkIdentity,
  planConversion,
} from "../../../../pkg/migrate/planConversion.ts";
import { WaitTimeoutError } from "../../../../pkg/migrate/poll.ts";
import { runConversion } from "../../../../pkg/migrate/runConversion.ts";
import { parseSubscription } from "../../../../pkg/migrate/subscription.ts";
import { type Surveyed, survey } from "../../../../pkg/migrate/survey.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import { type BundleReader, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { type Progress, withProgress } from "../../cli/progress.ts";
import { parseProxySettings } from "../../cli/proxySettings.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type BatchLine, oneByOne, requireOneOrAll, showBatch } from "./batch.ts";
import { checkText } from "./check.ts";
import { conversionData, conversionText } from "./conversionText.ts";
import type { MigrateConvertOptions } from "./migrateOptions.ts";

/** Keeps the objects of OLM v0 in a file where one is asked for. @param flag wx for a new file, a to append. */
async function writeBackup(path: string | undefined, { source }: Conversion, flag: "wx" | "a"): Promise<void> {
  const { subscription, csv, group } = source;
  if (path !== undefined) await writeFile(path, formatBackupFile([group, csv, subscription]), { flag, mode: 0o600 });
}

/** Carries a conversion out. @param done called with each step once it is done. @throws DidNotCome where something did not come in time. */
function carriedOut(
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
    tell: (what) => progress.now(what),
    done,
  });
}

/** With what conversions are made. */
interface Session {
  readonly terminal: Terminal;
  readonly options: MigrateConvertOptions;
  readonly client: Client;
  readonly reader: BundleReader;
  readonly progress: Progress;
}

/** @throws Error where two ServiceAccounts are asked for. */
function requireOneAccount({ serviceAccount, createServiceAccount }: MigrateConvertOptions): void {
  if (serviceAccount !== undefined && createServiceAccount !== undefined)
    throw new Error("--service-account names one that exists, --create-service-account makes one: give one of them");
}

/** Whether it is said as whom extensions are installed. */
function hasAccount({ serviceAccount, createServiceAccount }: MigrateConvertOptions): boolean {
  return serviceAccount !== undefined || createServiceAccount !== undefined;
}

/** What is told where it has to be said, and is not. */
const NO_ACCOUNT =
  "as whom is the extension to be installed? Give --create-service-account, which makes an identity with the rights that the bundle needs, or --service-account NAME";

/** How a conversion is planned in a session. */
function settingsOf(
  { terminal, options, client, reader }: Pick<Session, "terminal" | "options" | "client" | "reader">,
  offers: CatalogOffers,
  createsServiceAccount: boolean,
): ConversionSettings {
  const { systemNamespace, webhookCertProvider } = options;
  return {
    terminal,
    client,
    reader,
    offers,
    systemNamespace,
    webhookCertProvider,
    createsServiceAccount,
    signal: terminal.signal,
    proxy: parseProxySettings(options),
  };
}

/** A Subscription that is looked at again, and what converting it would do; nothing of the latter where it is not eligible. */
interface PlannedConversion {
  readonly surveyed: Surveyed;
  readonly conversion?: Conversion;
}

/**
 * What converting a Subscription that was not begun would do.
 * @param offers what catalogs were found to say before; otherwise they are read.
 * @throws Error where there is none of that name, or several.
 */
async function plannedConversion(
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
    tell: (what) => progress.now(what),
  });
  const surveyed = onlyOne(found, name);
  if (!surveyed.eligible) return { surveyed };
  progress.now(`comparing the bundle with what is installed of ${surveyed.namespace}/${name}`);
  const settings = settingsOf({ terminal, options, client, reader }, offers, serviceAccount === undefined);
  return { surveyed, conversion: await planConversion(surveyed.eligible, settings) };
}

function onlyOne(found: readonly Surveyed[], name: string): Surveyed {
  const [one, ...others] = found;
  if (one && others.length === 0) return one;
  throw new Error(`there are Subscriptions "${name}" in several namespaces: say which with --namespace`);
}

/**
 * A conversion that was begun, as it goes on: what is written down of it counts, not what the command line says.
 * @throws Error where its Subscription or ClusterServiceVersion is gone without a backup, or no ClusterCatalog has the bundle any more.
 */
async function resumedConversion(session: Session, begun: Migrated): Promise<Conversion> {
  const { terminal, options, client, reader, progress } = session;
  const source = await sourceOf(client, begun);
  const { backup } = begun;
  if (backup) return { source, csv: getMarkIdentity(source), rights: [], objects: [], findings: [], notes: [], marks: backup.marks };
  const { packageName } = parseSubscription(source.subscription);
  const offers = await CatalogOffers.read(client, {
    given: options.catalogDir,
    packages: new Set([packageName]),
    reader,
    signal: terminal.signal,
    tell: (what) => progress.now(what),
  });
  const [offer] = offers.of(packageName, source.csv.metadata.name).bundles;
  if (!offer) throw new Error(`no ClusterCatalog has bundle "${source.csv.metadata.name}" of package "${packageName}" any more`);
  return planConversion({ ...source, offer }, settingsOf(session, offers, await mayMakeAccount(client, begun)));
}

async function sourceOf(client: Client, { extension, subscription, group, backup }: Migrated): Promise<ConversionSource> {
  if (!subscription) throw new Error(`ClusterExtension "${extension.metadata.name}" keeps no backup of its Subscription`);
  const { namespace, installedCsv = "" } = parseSubscription(subscription);
  const csv = backup?.csv ?? (await readOrNone(client, { ...CSV, namespace, name: installedCsv }));
  if (!csv) throw new Error(`${describeObject({ ...CSV, namespace, name: installedCsv })} does not exist, and there is no backup of it`);
  return { subscription, csv, group, extension: { ...extension, apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, offer: { image: "" } };
}

/** It was made by this conversion, or is not there yet. */
async function mayMakeAccount(client: Client, { extension }: Migrated): Promise<boolean> {
  const { namespace, serviceAccount } = extension.spec;
  const found = await client.get(
    { apiVersion: "v1", kind: "ServiceAccount", namespace, name: serviceAccount?.name ?? "" },
    { metadataOnly: true },
  );
  return !found || found.metadata.labels?.[LABEL_MIGRATION] === extension.metadata.name;
}

type Line = Omit<BatchLine, "namespace" | "name">;

/**
 * `olmv1 migrate convert --all`: by namespace and name. None of them needs another: what depends on others, or is needed by them, is not eligible. Each
 * is judged again when its turn comes, since what was converted before may count.
 */
async function convertAll(session: Session): Promise<void> {
  const { terminal, options, client, reader, progress } = session;
  const { namespace, catalogDir, yes = false, keepGoing = false, name, createServiceAccount } = options;
  if (name !== undefined || typeof createServiceAccount === "string")
    throw new Error("with --all every extension gets the name of its Subscription, and the ServiceAccount that is made one of its own");
  if (yes && !hasAccount(options)) throw new Error(NO_ACCOUNT);
  const { signal } = terminal;
  const { found, offers } = await survey({ client, reader, names: [], namespace, catalogDir, signal, tell: (what) => progress.now(what) });
  const backup = new BackupFlag();
  const batch = await oneByOne(found, { keepGoing: keepGoing || !yes, signal }, (one) => lineOf(session, one, offers, backup));
  const isReady = batch.lines.some(({ kind }) => kind === "ready");
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  const next = isReady
    ? `\nNothing was written. One of them in full: olmv1 migrate convert NAME -n NAMESPACE. To do it: olmv1 migrate convert --all${namespace === undefined ? "" : ` -n ${namespace}`} ${account} --yes\n`
    : batch.lines.some(({ kind }) => kind === "left" || kind === "failed")
      ? "why, and what to do about it: olmv1 migrate check\n"
      : "";
  await showBatch(terminal, options.output, batch, next);
}

/** The first backup makes the file, which may not be there before; the others go behind it. */
class BackupFlag {
  #isBegun = false;

  next(): "wx" | "a" {
    const flag = this.#isBegun ? "a" : "wx";
    this.#isBegun = true;
    return flag;
  }
}

async function lineOf(session: Session, { namespace, name, verdict }: Surveyed, offers: CatalogOffers, backup: BackupFlag): Promise<Line> {
  const { terminal, options, client } = session;
  const [reason] = verdict.reasons;
  if (verdict.state === "AlreadyMigrated") return { result: "AlreadyMigrated", detail: reason?.text ?? "", kind: "passed" };
  if (reason?.code === "ConversionUnfinished") {
    if (!options.yes) return { result: "Unfinished", detail: reason.text, kind: "ready" };
    const begun = await findMigrated(client, name, namespace, terminal.signal);
    if (begun?.subscription) return converted(session, await resumedConversion(session, begun));
  }
  const { surveyed, conversion } = await plannedConversion(session, { name, namespace }, offers);
  if (!conversion) {
    const { state, reasons } = surveyed.verdict;
    return { result: state, detail: reasons.map(({ code, text }) => `${code}: ${text}`).join("; "), kind: "left" };
  }
  if (options.yes && conversion.findings.length === 0) await writeBackup(options.backup, conversion, backup.next());
  return converted(session, conversion);
}

async function converted(session: Session, conversion: Conversion): Promise<Line> {
  const { name } = conversion.source.extension.metadata;
  const [finding, ...others] = conversion.findings;
  if (finding)
    return { result: "Refused", detail: `${finding.text}${others.length > 0 ? `, and ${others.length} more` : ""}`, kind: "failed" };
  if (!session.options.yes) return { result: "Eligible", detail: wouldBe(conversion), kind: "ready" };
  session.progress.now(`converting ${name}`);
  const { spec } = await carriedOut(session, conversion, () => undefined);
  const { version } = spec.source.catalog ?? {};
  return {
    result: "Converted",
    detail: `${CLUSTER_EXTENSION} ${name}${version === undefined ? "" : `, pinned at ${version}`}`,
    kind: "done",
  };
}

/** What a conversion would do, in a line. */
function wouldBe({ source, objects }: Conversion): string {
  const of = (wanted: string): number => objects.filter(({ action }) => action === wanted).length;
  const restarts = objects.filter((object) => object.restarts).length;
  const parts = [
    `${of("keep") + of("change")} objects taken over${of("change") > 0 ? `, ${of("change")} of them changed` : ""}`,
    ...(of("create") > 0 ? [`${of("create")} made`] : []),
    ...(of("leave") > 0 ? [`${of("leave")} left over`] : []),
    restarts > 0 ? `Pods of ${restarts} restart` : "no Pod restarts",
  ];
  return `becomes ${CLUSTER_EXTENSION} ${source.extension.metadata.name}: ${parts.join(", ")}`;
}

/** `olmv1 migrate convert`. */
export async function showConvert(terminal: Terminal, name: string | undefined, options: MigrateConvertOptions): Promise<void> {
  requireOneOrAll("convert", name, options.all);
  requireOneAccount(options);
  if (name !== undefined && options.yes && !hasAccount(options) && !(await isBegun(name, options, terminal.signal)))
    throw new Error(NO_ACCOUNT);
  await withReader(options, (reader) =>
    withCluster(options, (client) =>
      withProgress(terminal, "looking at Subscriptions", (progress) => {
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
  if (begun?.subscription) return goOn(session, begun);
  const { surveyed, conversion } = await plannedConversion(session, { name, namespace: options.namespace });
  if (!conversion) {
    terminal.out(checkText(terminal, [surveyed]));
    return terminal.exit(EXIT.no);
  }
  const isRefused = conversion.findings.length > 0;
  if (isRefused) terminal.exit(EXIT.no);
  if (!options.yes || isRefused) {
    await print(terminal, options.output, {
      data: conversionData(conversion),
      text: () => conversionText(conversion) + nextLine(session, name, conversion),
    });
    return undefined;
  }
  await writeBackup(options.backup, conversion, "wx");
  return carryOut(session, conversion);
}

/** Goes on with a conversion that was begun, or says how. */
async function goOn(session: Session, begun: Migrated): Promise<void> {
  const { terminal, options } = session;
  const { extension, step, from } = begun;
  const { name } = extension.metadata;
  if (step === "Installed" && !options.unpin) {
    terminal.out(
      `${CLUSTER_EXTENSION} ${name} has taken the place of Subscription ${from}: nothing is left to do but olmv1 migrate cleanup ${name}\n`,
    );
    return;
  }
  if (!options.yes) {
    terminal.out(
      `the conversion of Subscription ${from} to ${CLUSTER_EXTENSION} ${name} stopped ${step === undefined ? "before its first step" : `after step ${step}`}\ngo on: olmv1 migrate convert ${name} --yes\ntake it back: olmv1 migrate rollback ${name} --yes\n`,
    );
    return terminal.exit(EXIT.no);
  }
  const conversion = await resumedConversion(session, begun);
  if (conversion.findings.length === 0) return carryOut(session, conversion);
  terminal.out(conversionText(conversion));
  return terminal.exit(EXIT.no);
}

async function carryOut(session: Session, conversion: Conversion): Promise<void> {
  const { terminal, options } = session;
  const { name } = conversion.source.extension.metadata;
  const done: string[] = [];
  try {
    const extension = await carriedOut(session, conversion, (step) => {
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
          : `to have it follow its channel: kubectl patch clusterextension ${name} --type merge -p '{"spec":{"source":{"catalog":{"version":null}}}}'\n`) +
        `what is left of OLM v0: olmv1 migrate cleanup ${name}\nback to OLM v0: olmv1 migrate rollback ${name}\n`,
    });
  } catch (err) {
    if (!(err instanceof WaitTimeoutError)) throw err;
    terminal.err(`olmv1: ${messageOf(err)}\n`);
    terminal.exit(EXIT.no);
  }
}

function nextLine({ options }: Session, name: string, { source, findings }: Conversion): string {
  if (findings.length > 0) return "";
  const { namespace } = source.subscription.metadata;
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  return `\nNothing was written. To do it: olmv1 migrate convert ${name} -n ${namespace ?? ""} ${account} --yes\n`;
}
