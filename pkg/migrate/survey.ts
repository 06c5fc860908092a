import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import type { Csv } from "../bundle/types.ts";
import { getErrorMessage, TerminalError } from "../errors/errors.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { readBundleConfig } from "../render/config.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { compareText } from "../text/compare.ts";
import { CatalogOffers } from "./catalogOffers.ts";
import { type InstalledCsv, parseInstalledCsv } from "./clusterServiceVersion.ts";
import { checkMigrated, decideEligibility, type EligibilityVerdict, rejectUnreadable } from "./eligibility.ts";
import type { BundleOffer } from "./eligibilityInput.ts";
import { buildConfiguration, buildExtension } from "./extensionManifest.ts";
import { hasConditions, type OlmV0Cluster, readOlmV0Cluster, readPlanPhase, toKnownExtension } from "./olmV0Cluster.ts";
import { parseOperatorGroup } from "./operatorGroup.ts";
import { getSubscriptionKey, parseSubscription, type Subscription } from "./subscription.ts";

const PREFIX = /^(invalid ClusterExtension configuration: )?(invalid configuration: )?/;

/**
 * Returns the reason, on one line, why a configuration is invalid for an extension with the install modes of a ClusterServiceVersion; undefined if it
 * is valid. Needed because OLM v0 silently accepts unknown fields in `spec.config`.
 */
function findConfigError(csv: KubeObject, inline: JsonObject, installNamespace: string): string | undefined {
  if (Object.keys(inline).length === 0) return undefined;
  const read = { spec: { installModes: getObjectsAt(getObjectAt(csv, "spec"), "installModes") } } as unknown as Csv;
  try {
    readBundleConfig(read, inline, { deploymentConfig: true, extended: true, installNamespace });
    return undefined;
  } catch (err) {
    if (!(err instanceof TerminalError)) throw err;
    return getErrorMessage(err).replace(PREFIX, "").replaceAll(/\s+/g, " ").trim();
  }
}

/** The Subscriptions to check, and the options of the check. */
export interface SurveyRequest {
  readonly client: Client;
  readonly reader: Pick<BundleReader, "catalogFolder">;
  /** Names; empty for all. */
  readonly names: readonly string[];
  /** Undefined for all namespaces. */
  readonly namespace?: string | undefined;
  /** Folders or files as [name=]path instead of the cluster's ClusterCatalogs. */
  readonly catalogDir: readonly string[];
  /** Content of catalogs that were already read. */
  readonly offers?: CatalogOffers | undefined;
  /** Name of the extension. Default: the name of the Subscription. */
  readonly extensionName?: string | undefined;
  /** Default: the name of the extension with suffix -installer. */
  readonly serviceAccount?: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (what: string) => void;
}

/** A Subscription or a converted extension, with its verdict. */
export interface SurveyedSubscription {
  readonly namespace: string;
  readonly name: string;
  readonly packageName: string;
  /** The installed version; empty if there is none. */
  readonly version: string;
  readonly approval: Subscription["approval"] | undefined;
  readonly verdict: EligibilityVerdict;
  /** The planned extension. Set only for state Eligible. */
  readonly eligible?: Eligible;
}

/** The input of a conversion. */
interface Eligible {
  readonly subscription: KubeObject;
  readonly csv: KubeObject;
  readonly group: KubeObject | undefined;
  readonly offer: BundleOffer;
  readonly extension: ClusterExtension;
}

/** The verdicts, in order of namespace and name, and the catalogs that were read. */
export interface Survey {
  readonly found: readonly SurveyedSubscription[];
  readonly cluster: OlmV0Cluster;
  readonly offers: CatalogOffers;
}

/** Checks Subscriptions. Writes nothing. @throws Error if a requested Subscription does not exist, or if the cluster does not have OLM v0 */
export async function survey(request: SurveyRequest): Promise<Survey> {
  const { client, reader, names, namespace, catalogDir, signal, report } = request;
  report("reading Subscriptions");
  const cluster = await readOlmV0Cluster(client, signal);
  const isMeant = (one: { namespace?: string; name: string }): boolean =>
    (namespace === undefined || one.namespace === namespace) && (names.length === 0 || names.includes(one.name));
  const readings = cluster.subscriptions.map(readSubscription);
  const known = readings.flatMap(({ subscription }) => subscription ?? []);
  const meant = readings.filter(({ object }) => isMeant(object.metadata));
  const migrated = listMigratedWithoutSubscription(cluster, known).filter(isMeant);
  requireAll(names, namespace, [...meant.map(({ object }) => object.metadata), ...migrated]);
  const packages = new Set(meant.flatMap(({ subscription }) => subscription?.packageName ?? []));
  const offers = request.offers ?? (await CatalogOffers.read(client, { given: catalogDir, packages, reader, signal, report }));
  const csvs = cluster.csvs.map(parseInstalledCsv);
  const judged: SurveyedSubscription[] = [];
  for (const { object, subscription, fault = "" } of meant) {
    const { name, namespace: where = "" } = object.metadata;
    if (subscription) judged.push(await surveyed(request, { object, subscription, known, csvs, cluster, offers }));
    else judged.push({ namespace: where, name, packageName: "", version: "", approval: undefined, verdict: rejectUnreadable(fault) });
  }
  return { found: [...judged, ...migrated].sort((a, b) => compareText(getSubscriptionKey(a), getSubscriptionKey(b))), cluster, offers };
}

/** A Subscription, or the reason why it is invalid. */
interface SubscriptionReading {
  readonly object: KubeObject;
  readonly subscription?: Subscription;
  readonly fault?: string;
}

function readSubscription(object: KubeObject): SubscriptionReading {
  try {
    return { object, subscription: parseSubscription(object) };
  } catch (err) {
    return { object, fault: getErrorMessage(err) };
  }
}

/** Returns converted extensions whose Subscription no longer exists. */
function listMigratedWithoutSubscription({ extensions }: OlmV0Cluster, known: readonly Subscription[]): SurveyedSubscription[] {
  return extensions.flatMap((object): SurveyedSubscription[] => {
    const extension = toKnownExtension(object);
    const verdict = checkMigrated(extension, known);
    const [namespace = "", name = ""] = extension.migratedFrom?.split("/") ?? [];
    const version = object.status?.install?.bundle.version ?? "";
    return verdict ? [{ namespace, name, packageName: extension.packageName, version, approval: undefined, verdict }] : [];
  });
}

interface SurveyInput {
  readonly object: KubeObject;
  readonly subscription: Subscription;
  readonly known: readonly Subscription[];
  readonly csvs: readonly InstalledCsv[];
  readonly cluster: OlmV0Cluster;
  readonly offers: CatalogOffers;
}

async function surveyed(
  request: SurveyRequest,
  { object, subscription, known, csvs, cluster, offers }: SurveyInput,
): Promise<SurveyedSubscription> {
  const { namespace, name, packageName, approval, installedCsv, source, sourceNamespace } = subscription;
  const at = csvs.findIndex((csv) => csv.namespace === namespace && csv.name === installedCsv);
  const [csv, csvObject] = [csvs[at], cluster.csvs[at]];
  const groups = cluster.groups.filter(({ metadata }) => metadata.namespace === namespace);
  const read = groups.map(parseOperatorGroup);
  const extensionName = request.extensionName ?? name;
  const from = cluster.sources.find(({ metadata }) => metadata.name === source && metadata.namespace === sourceNamespace);
  const verdict = decideEligibility(subscription, {
    csv,
    groups: read,
    subscriptions: known,
    csvs,
    extensions: cluster.extensions.map(toKnownExtension),
    offers: offers.of(packageName, installedCsv),
    reportsConditions: csv ? await hasConditions(request.client, csv) : false,
    extensionName,
    planPhase: await readPlanPhase(request.client, subscription),
    configFault: csvObject && findConfigError(csvObject, buildConfiguration(subscription, read[0]), namespace),
    sourceImage: from && getNonEmptyText(from["spec"], "image"),
  });
  const found = { namespace, name, packageName, version: csv?.version ?? "", approval, verdict };
  if (!csvObject || !verdict.offer) return found;
  const needsOlmV0 = (csv?.dependencies.length ?? 0) > 0;
  const parts = { subscription: object, csv: csvObject, group: groups[0], offer: verdict.offer, needsOlmV0 };
  return { ...found, eligible: planEligible(parts, extensionName, request.serviceAccount) };
}

function planEligible(
  { needsOlmV0, ...parts }: Omit<Eligible, "extension"> & { needsOlmV0: boolean },
  name: string,
  serviceAccount = `${name}-installer`,
): Eligible {
  const subscription = parseSubscription(parts.subscription);
  const group = parts.group && parseOperatorGroup(parts.group);
  return { ...parts, extension: buildExtension({ name, subscription, group, offer: parts.offer, needsOlmV0, serviceAccount }) };
}

function requireAll(names: readonly string[], namespace: string | undefined, found: readonly { name: string }[]): void {
  const missing = names.filter((name) => !found.some((one) => one.name === name));
  if (missing.length === 0) return;
  const where = namespace === undefined ? "this cluster" : `namespace "${namespace}"`;
  throw new Error(
    `no Subscription ${missing.map((name) => `"${name}"`).join(", ")} found in ${where}: to list all, run olmv1 migrate check -A`,
  );
}
