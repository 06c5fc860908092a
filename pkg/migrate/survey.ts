import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import type { Csv } from "../bundle/types.ts";
import { getErrorMessage, TerminalError } from "../errors/errors.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { readBundleConfig } from "../render/config.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { compareText } from "../text/compare.ts";
import { findBundleImage } from "./bundleImages.ts";
import { CatalogOffers } from "./catalogOffers.ts";
import { type InstalledCsv, parseInstalledCsv } from "./clusterServiceVersion.ts";
import { checkMigrated, decideEligibility, type EligibilityVerdict, rejectUnreadable } from "./eligibility.ts";
import type { BundleOffer, EligibilityInput } from "./eligibilityInput.ts";
import { needsOlmV0 } from "./eligibilityRules.ts";
import { buildConfiguration, buildExtension, type TargetAccount } from "./extensionManifest.ts";
import { hasConditions, type OlmV0Cluster, readOlmV0Cluster, readPlanPhase, toKnownExtension } from "./olmV0Cluster.ts";
import { parseOperatorGroup } from "./operatorGroup.ts";
import { listOrphans } from "./orphans.ts";
import { listInstallPlans } from "./plannedObjects.ts";
import { getNamespacedName, parseSubscription, type Subscription } from "./subscription.ts";

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
  /** Name of the extension. Default: the name of the Subscription. */
  readonly extensionName?: string | undefined;
  readonly account: TargetAccount;
  /** Whether all Subscriptions that can be converted are converted together. Default: each is converted alone. */
  readonly isTogether?: boolean;
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
  const existing = readings.flatMap(({ subscription }) => subscription ?? []);
  readings.push(...listOrphans(cluster, existing).map(readSubscription));
  const known = readings.flatMap(({ subscription }) => subscription ?? []);
  const meant = readings.filter(({ object }) => isMeant(object.metadata));
  const migrated = listMigratedWithoutSubscription(cluster, known).filter(isMeant);
  requireAll(names, namespace, [...meant.map(({ object }) => object.metadata), ...migrated]);
  const packages = new Set(meant.flatMap(({ subscription }) => subscription?.packageName ?? []));
  const offers = await CatalogOffers.read(client, { given: catalogDir, packages, reader, signal, report });
  const csvs = cluster.csvs.map(parseInstalledCsv);
  const judged: SurveyedSubscription[] = [];
  const candidates: Candidate[] = [];
  for (const { object, subscription, fault = "" } of meant) {
    const { name, namespace: where = "" } = object.metadata;
    if (subscription) candidates.push(await readCandidate(request, { object, subscription, known, csvs, cluster, offers }));
    else
      judged.push({ namespace: where, name, packageName: "", version: "", approval: undefined, verdict: rejectUnreadable(object, fault) });
  }
  const together = request.isTogether ? findConvertible(candidates) : undefined;
  judged.push(...candidates.map((candidate) => judgeCandidate(request, candidate, together)));
  return { found: [...judged, ...migrated].sort((a, b) => compareText(getNamespacedName(a), getNamespacedName(b))), cluster, offers };
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

/** A Subscription with everything that its verdict depends on. */
interface Candidate {
  readonly object: KubeObject;
  readonly subscription: Subscription;
  readonly csv: KubeObject | undefined;
  readonly group: KubeObject | undefined;
  readonly around: EligibilityInput;
}

async function readCandidate(
  request: SurveyRequest,
  { object, subscription, known, csvs, cluster, offers }: SurveyInput,
): Promise<Candidate> {
  const { namespace, name, packageName, installedCsv, source, sourceNamespace } = subscription;
  const at = csvs.findIndex((csv) => csv.namespace === namespace && csv.name === installedCsv);
  const [csv, csvObject] = [csvs[at], cluster.csvs[at]];
  const groups = cluster.groups.filter(({ metadata }) => metadata.namespace === namespace);
  const read = groups.map(parseOperatorGroup);
  const from = cluster.sources.find(({ metadata }) => metadata.name === source && metadata.namespace === sourceNamespace);
  const found = offers.of(packageName, installedCsv);
  const isKnown = csv === undefined || found.bundles.length > 0;
  const around: EligibilityInput = {
    csv,
    groups: read,
    subscriptions: known,
    csvs,
    extensions: cluster.extensions.map(toKnownExtension),
    begunElsewhere: cluster.begunElsewhere,
    offers: found,
    reportsConditions: csv ? await hasConditions(request.client, csv) : false,
    extensionName: request.extensionName ?? name,
    planPhase: await readPlanPhase(request.client, subscription),
    configFault: csvObject && findConfigError(csvObject, buildConfiguration(subscription, read[0]), namespace),
    sourceImage: from && getNonEmptyText(from["spec"], "image"),
    isSourceMissing: source !== undefined && from === undefined,
    bundleImage: isKnown ? undefined : findBundleImage(await listInstallPlans(request.client, namespace, request.signal), csv.name),
  };
  return { object, subscription, csv: csvObject, group: groups[0], around };
}

/** Finds the ClusterServiceVersions that can be converted if all of them are converted together. */
function findConvertible(candidates: readonly Candidate[]): ReadonlySet<string> {
  let left = candidates;
  for (;;) {
    const together = new Set(left.flatMap(({ around: { csv } }) => (csv ? [getNamespacedName(csv)] : [])));
    const next = left.filter(({ subscription, around }) => isConvertible(decideEligibility(subscription, { ...around, together })));
    if (next.length === left.length) return together;
    left = next;
  }
}

/** Also true for a conversion that has begun. */
function isConvertible({ state, reasons }: EligibilityVerdict): boolean {
  return state === "Eligible" || reasons.some(({ code }) => code === "ConversionUnfinished");
}

function judgeCandidate(request: SurveyRequest, candidate: Candidate, together: ReadonlySet<string> | undefined): SurveyedSubscription {
  const { subscription, csv, group } = candidate;
  const { namespace, name, packageName, approval } = subscription;
  const around = together ? { ...candidate.around, together } : candidate.around;
  const verdict = decideEligibility(subscription, around);
  const found = { namespace, name, packageName, version: around.csv?.version ?? "", approval, verdict };
  if (!csv || !verdict.offer) return found;
  const extension = buildExtension({
    name: around.extensionName,
    subscription,
    group: group && parseOperatorGroup(group),
    offer: verdict.offer,
    needsOlmV0: needsOlmV0(around),
    serviceAccount: chooseAccountName(request.account, around.extensionName),
  });
  return { ...found, eligible: { subscription: candidate.object, csv, group, offer: verdict.offer, extension } };
}

function chooseAccountName(account: TargetAccount, extension: string): string | undefined {
  return account.kind === "Managed" ? undefined : (account.name ?? `${extension}-installer`);
}

function requireAll(names: readonly string[], namespace: string | undefined, found: readonly { name: string }[]): void {
  const missing = names.filter((name) => !found.some((one) => one.name === name));
  if (missing.length === 0) return;
  const where = namespace === undefined ? "this cluster" : `namespace "${namespace}"`;
  throw new Error(
    `no Subscription ${missing.map((name) => `"${name}"`).join(", ")} found in ${where}: to list all, run olmv1 migrate check -A`,
  );
}
