import { writeFile } from "node:fs/promises";
import { API_VERSION, CLUSTER_EXTENSION, SERVER_LEASES } from "../../../../pkg/api/constants.ts";
import { LABEL_MIGRATION } from "../../../../pkg/api/migration.ts";
import { findLeader, LEASE, type Lease } from "../../../../pkg/controller/lease.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { readServerInfo } from "../../../../pkg/kube/servedResources.ts";
import { formatBackupFile } from "../../../../pkg/migrate/backup.ts";
import { CatalogOffers } from "../../../../pkg/migrate/catalogOffers.ts";
import type { TargetAccount } from "../../../../pkg/migrate/extensionManifest.ts";
import { describeMissingBackup, isBackedUp, type MigratedExtension } from "../../../../pkg/migrate/migratedExtensions.ts";
import { CSV, readOrNone } from "../../../../pkg/migrate/olmV0Cluster.ts";
import { OperatorUpgradedError } from "../../../../pkg/migrate/operatorUpgrade.ts";
import { type Conversion, type ConversionSource, getMarkIdentity, planConversion } from "../../../../pkg/migrate/planConversion.ts";
import type { ConversionOptions } from "../../../../pkg/migrate/runConversion.ts";
import { parseSubscription } from "../../../../pkg/migrate/subscription.ts";
import { type SurveyedSubscription, survey } from "../../../../pkg/migrate/survey.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import type { BundleReader } from "../../../../pkg/sources/bundleReader.ts";
import type { Progress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { getConversionSettings } from "./conversionSettings.ts";
import type { MigrateConvertOptions } from "./migrateOptions.ts";

/** Context of conversions. */
export interface ConversionSession {
  readonly terminal: Terminal;
  readonly options: MigrateConvertOptions;
  readonly client: Client;
  readonly reader: BundleReader;
  readonly progress: Progress;
  readonly account: TargetAccount;
}

/**
 * Returns the identity that the options choose. Default: managed permissions if permission-manager runs, else a ServiceAccount that the conversion
 * creates.
 * @throws Error if both options are set
 */
export async function chooseAccount(
  client: Pick<Client, "get" | "request">,
  { serviceAccount, createServiceAccount: created, systemNamespace }: AccountOptions,
  signal: AbortSignal,
): Promise<TargetAccount> {
  if (serviceAccount !== undefined && created !== undefined) throw new Error("use either --service-account or --create-service-account");
  if (serviceAccount !== undefined) return { kind: "Existing", name: serviceAccount };
  if (created !== undefined) return { kind: "Created", ...(created === true ? {} : { name: created }) };
  const lease = await client.get<Lease>({ ...LEASE, namespace: systemNamespace, name: SERVER_LEASES["permission-manager"] }, { signal });
  return { kind: findLeader(lease, (await readServerInfo(client, signal)).now) ? "Managed" : "Created" };
}

type AccountOptions = Pick<MigrateConvertOptions, "serviceAccount" | "createServiceAccount" | "systemNamespace">;

/** @throws Error if a conversion would create a ServiceAccount that the user did not request */
export function requireAccount({ account, options: { yes, createServiceAccount } }: ConversionSession): void {
  if (yes && account.kind === "Created" && createServiceAccount === undefined)
    throw new Error(
      "no ServiceAccount, and permission-manager does not run: use --create-service-account to create one with the permissions that the bundle needs, or --service-account NAME",
    );
}

/** Formats the option that chooses an identity again; empty for managed permissions. */
export function formatAccountOption(account: TargetAccount): string {
  if (account.kind === "Managed") return "";
  const name = account.name === undefined ? "" : ` ${account.name}`;
  return `${account.kind === "Created" ? "--create-service-account" : "--service-account"}${name} `;
}

/** Returns the options of one conversion. @param done called after each step */
export function getConversionOptions(
  { terminal, options, client, progress }: ConversionSession,
  done: ConversionOptions["done"],
): ConversionOptions {
  const { unpin = false, timeout } = options;
  return { client, unpin, timeoutMs: timeout, signal: terminal.signal, report: (step) => progress.now(step), done };
}

/** Writes the objects of OLM v0 to the backup file, if requested. @param flag wx for a new file, a to append. */
export async function writeBackup(path: string | undefined, { source }: Conversion, flag: "wx" | "a"): Promise<void> {
  const { subscription, csv, group } = source;
  if (path !== undefined) await writeFile(path, formatBackupFile([group, csv, subscription]), { flag, mode: 0o600 });
}

/** A Subscription and, if it is eligible, its planned conversion. */
interface PlannedConversion {
  readonly surveyed: SurveyedSubscription;
  readonly conversion?: Conversion;
}

/**
 * Plans a conversion that has not started.
 * @throws Error unless exactly one Subscription has the name.
 */
export async function planNewConversion(
  { terminal, options, client, reader, progress, account }: ConversionSession,
  { name, namespace }: { name: string; namespace: string | undefined },
): Promise<PlannedConversion> {
  const { catalogDir, name: extensionName } = options;
  const { found, offers } = await survey({
    client,
    reader,
    names: [name],
    namespace,
    catalogDir,
    extensionName,
    account,
    signal: terminal.signal,
    report: (step) => progress.now(step),
  });
  const surveyed = requireOne(found, name);
  if (!surveyed.eligible) return { surveyed };
  progress.now(`comparing the bundle with the installed objects of ${surveyed.namespace}/${name}`);
  const settings = getConversionSettings({ terminal, options, client, reader }, offers, account.kind);
  return { surveyed, conversion: await planConversion(surveyed.eligible, settings) };
}

function requireOne(found: readonly SurveyedSubscription[], name: string): SurveyedSubscription {
  const [one, ...others] = found;
  if (one && others.length === 0) return one;
  throw new Error(`several namespaces have a Subscription "${name}": select one with --namespace`);
}

/**
 * Plans the remaining steps of a conversion that has started. The settings come from the backup, not from the command line.
 * @throws Error if an object or the backup Secret that a remaining step needs is missing, or no ClusterCatalog contains the bundle.
 */
export async function planResumedConversion(session: ConversionSession, begun: MigratedExtension): Promise<Conversion> {
  const { terminal, options, client, reader, progress } = session;
  const { extension } = begun;
  if (!begun.backup && isBackedUp(begun))
    throw new Error(`the conversion of ClusterExtension "${extension.metadata.name}" cannot continue: ${describeMissingBackup(extension)}`);
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
  return planConversion({ ...source, offer }, getConversionSettings(session, offers, await findAccountKind(client, begun)));
}

/**
 * Reads the original objects of OLM v0 after a conversion has begun.
 * @throws Error if the backup of the Subscription does not exist; OperatorUpgradedError if its
 * ClusterServiceVersion no longer exists.
 */
export async function readSource(client: Client, { extension, subscription, group, backup }: MigratedExtension): Promise<ConversionSource> {
  if (!subscription) throw new Error(`ClusterExtension "${extension.metadata.name}" has no backup of its Subscription`);
  const { namespace, installedCsv = "" } = parseSubscription(subscription);
  const csv = backup?.csv ?? (await readOrNone(client, { ...CSV, namespace, name: installedCsv }));
  if (!csv)
    throw new OperatorUpgradedError(
      { extension, subscription },
      `${describeObject({ ...CSV, namespace, name: installedCsv })} does not exist`,
    );
  return { subscription, csv, group, extension: { ...extension, apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, offer: { image: "" } };
}

/** Finds out which identity a conversion that has begun uses. */
async function findAccountKind(client: Client, { extension }: MigratedExtension): Promise<TargetAccount["kind"]> {
  const { namespace, serviceAccount } = extension.spec;
  if (serviceAccount === undefined) return "Managed";
  const ref = { apiVersion: "v1", kind: "ServiceAccount", namespace, name: serviceAccount.name ?? "" };
  const found = await client.get(ref, { metadataOnly: true });
  return !found || found.metadata.labels?.[LABEL_MIGRATION] === extension.metadata.name ? "Created" : "Existing";
}
