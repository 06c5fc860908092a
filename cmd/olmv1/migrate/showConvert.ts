import { writeFile } from "node:fs/promises";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { ANNOTATION_MIGRATED_FROM, LABEL_MIGRATION } from "../../../pkg/classic/names.ts";
import { subscriptionFrom } from "../../../pkg/classic/subscription.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { print } from "../cli/output.ts";
import { type Progress, withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { type BundleReader, withReader } from "../rbac/bundleReader.ts";
import { backupFile } from "./backup.ts";
import { CatalogOffers } from "./catalogOffers.ts";
import { checkText } from "./checkText.ts";
import { CSV, readOrNone } from "./classicCluster.ts";
import { type Conversion, type ConversionSettings, type ConversionSource, markedBy, planConversion } from "./conversion.ts";
import { conversionData, conversionText } from "./conversionText.ts";
import { convert } from "./convert.ts";
import { findMigrated, type Migrated } from "./migrated.ts";
import type { ConvertOptions } from "./migrateOptions.ts";
import { DidNotCome } from "./patient.ts";
import { type Surveyed, survey } from "./survey.ts";

/** With what one conversion is made. */
interface Session {
  readonly terminal: Terminal;
  readonly options: ConvertOptions;
  readonly client: Client;
  readonly reader: BundleReader;
  readonly progress: Progress;
}

/** `olmv1 migrate convert`. */
export async function showConvert(terminal: Terminal, name: string, options: ConvertOptions): Promise<void> {
  const { serviceAccount, createServiceAccount, yes } = options;
  if (serviceAccount !== undefined && createServiceAccount !== undefined)
    throw new Error("--service-account names one that exists, --create-service-account makes one: give one of them");
  if (yes && serviceAccount === undefined && createServiceAccount === undefined && !(await isBegun(name, options, terminal.signal)))
    throw new Error(
      "as whom is the extension to be installed? Give --create-service-account, which makes an identity with the rights that the bundle needs, or --service-account NAME",
    );
  await withReader(options, (reader) =>
    withCluster(options, (client) =>
      withProgress(terminal, "looking at the Subscription", (progress) => run({ terminal, options, client, reader, progress }, name)),
    ),
  );
}

function isBegun(name: string, options: ConvertOptions, signal: AbortSignal): Promise<boolean> {
  return withCluster(options, async (client) => (await findMigrated(client, name, options.namespace, signal)) !== undefined);
}

async function run(session: Session, name: string): Promise<void> {
  const { terminal, options, client } = session;
  const begun = await findMigrated(client, name, options.namespace, terminal.signal);
  if (begun?.subscription) return goOn(session, begun);
  const conversion = await fresh(session, name);
  if (!conversion) return terminal.exit(EXIT.no);
  const { subscription, csv, group } = conversion.source;
  if (options.yes && options.backup !== undefined)
    await writeFile(options.backup, backupFile([group, csv, subscription]), { flag: "wx", mode: 0o600 });
  const isRefused = conversion.findings.length > 0;
  if (isRefused) terminal.exit(EXIT.no);
  if (!options.yes || isRefused) {
    await print(terminal, options.output, {
      data: conversionData(conversion),
      text: () => conversionText(conversion) + nextLine(session, name, conversion),
    });
    return undefined;
  }
  return carryOut(session, conversion);
}

/** The plan for a Subscription that is eligible; otherwise what stands against it is printed. */
async function fresh({ terminal, options, client, reader, progress }: Session, name: string): Promise<Conversion | undefined> {
  const { namespace, catalogDir, serviceAccount, createServiceAccount, name: extensionName } = options;
  const { signal } = terminal;
  const account = serviceAccount ?? (createServiceAccount === true ? undefined : createServiceAccount);
  const { found, offers } = await survey({
    client,
    reader,
    names: [name],
    namespace,
    catalogDir,
    extensionName,
    serviceAccount: account,
    signal,
    tell: (what) => progress.now(what),
  });
  const one = onlyOne(found, name);
  if (!one.eligible) {
    terminal.out(checkText(terminal, [one]));
    return undefined;
  }
  progress.now("comparing the bundle with what is installed");
  return planConversion(one.eligible, settingsOf({ terminal, options, client, reader }, offers, serviceAccount === undefined));
}

/** A conversion that was begun: what is written down of it counts, not what the command line says. */
async function goOn(session: Session, begun: Migrated): Promise<void> {
  const { terminal, options, client, reader, progress } = session;
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
  const source = await sourceOf(client, begun);
  if (begun.backup)
    return carryOut(session, {
      source,
      csv: markedBy(source),
      rights: [],
      objects: [],
      findings: [],
      notes: [],
      marks: begun.backup.marks,
    });
  const { packageName } = subscriptionFrom(source.subscription);
  const offers = await CatalogOffers.read(client, {
    given: options.catalogDir,
    packages: new Set([packageName]),
    reader,
    signal: terminal.signal,
    tell: (what) => progress.now(what),
  });
  const [offer] = offers.of(packageName, source.csv.metadata.name).bundles;
  if (!offer) throw new Error(`no ClusterCatalog has bundle "${source.csv.metadata.name}" of package "${packageName}" any more`);
  const creates = await mayMakeAccount(client, begun);
  const conversion = await planConversion({ ...source, offer }, settingsOf(session, offers, creates));
  if (conversion.findings.length === 0) return carryOut(session, conversion);
  terminal.out(conversionText(conversion));
  return terminal.exit(EXIT.no);
}

async function sourceOf(client: Client, { extension, subscription, group, backup }: Migrated): Promise<ConversionSource> {
  if (!subscription) throw new Error(`ClusterExtension "${extension.metadata.name}" keeps no backup of its Subscription`);
  const { namespace, installedCsv = "" } = subscriptionFrom(subscription);
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

async function carryOut({ terminal, options, client, progress }: Session, conversion: Conversion): Promise<void> {
  const { name } = conversion.source.extension.metadata;
  const { unpin = false, timeout } = options;
  const done: string[] = [];
  try {
    const extension = await convert(conversion, {
      client,
      unpin,
      timeoutMs: timeout * 1_000,
      signal: terminal.signal,
      tell: (what) => progress.now(what),
      done: (step) => {
        done.push(step);
        if (options.output === "text") terminal.out(`${step}\n`);
      },
    });
    const { version } = extension.spec.source.catalog ?? {};
    await print(terminal, options.output, {
      data: { clusterExtension: name, subscription: extension.metadata.annotations?.[ANNOTATION_MIGRATED_FROM], steps: done },
      text: () =>
        `\n${CLUSTER_EXTENSION} ${name} is installed and ready${version === undefined ? "" : `, pinned at version ${version}`}\n` +
        (version === undefined
          ? ""
          : `to have it follow its channel: kubectl patch clusterextension ${name} --type merge -p '{"spec":{"source":{"catalog":{"version":null}}}}'\n`) +
        `what is left of OLM classic: olmv1 migrate cleanup ${name}\nback to OLM classic: olmv1 migrate rollback ${name}\n`,
    });
  } catch (err) {
    if (!(err instanceof DidNotCome)) throw err;
    terminal.err(`olmv1: ${messageOf(err)}\n`);
    terminal.exit(EXIT.no);
  }
}

function settingsOf(
  { terminal, options, client, reader }: Pick<Session, "terminal" | "options" | "client" | "reader">,
  offers: CatalogOffers,
  createsServiceAccount: boolean,
): ConversionSettings {
  const { operatorProxy, operatorHttpProxy, operatorHttpsProxy, operatorNoProxy, systemNamespace, webhookCertProvider } = options;
  return {
    terminal,
    client,
    reader,
    offers,
    systemNamespace,
    webhookCertProvider,
    createsServiceAccount,
    signal: terminal.signal,
    operatorProxy,
    ...(operatorHttpProxy === undefined ? {} : { operatorHttpProxy }),
    ...(operatorHttpsProxy === undefined ? {} : { operatorHttpsProxy }),
    ...(operatorNoProxy === undefined ? {} : { operatorNoProxy }),
  };
}

function onlyOne(found: readonly Surveyed[], name: string): Surveyed {
  const [one, ...others] = found;
  if (one && others.length === 0) return one;
  throw new Error(`there are Subscriptions "${name}" in several namespaces: say which with --namespace`);
}

function nextLine({ options }: Session, name: string, { source, findings }: Conversion): string {
  if (findings.length > 0) return "";
  const { namespace } = source.subscription.metadata;
  const account = options.serviceAccount === undefined ? "--create-service-account" : `--service-account ${options.serviceAccount}`;
  return `\nNothing was written. To do it: olmv1 migrate convert ${name} -n ${namespace ?? ""} ${account} --yes\n`;
}
