import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { type BundleOffer, judge, judgeMigrated, keyOf, type Verdict } from "../../../pkg/classic/eligibility.ts";
import { extensionFor } from "../../../pkg/classic/extensionFor.ts";
import { installedCsvFrom } from "../../../pkg/classic/installedCsv.ts";
import { operatorGroupFrom } from "../../../pkg/classic/operatorGroup.ts";
import { type Subscription, subscriptionFrom } from "../../../pkg/classic/subscription.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { BundleReader } from "../rbac/bundleReader.ts";
import { CatalogOffers } from "./catalogOffers.ts";
import { type ClassicCluster, knownExtension, readClassicCluster, reportsConditions } from "./classicCluster.ts";

/** Which Subscriptions are looked at, and with what. */
export interface SurveyRequest {
  readonly client: Client;
  readonly reader: Pick<BundleReader, "catalogFolder">;
  /** Names; none for all. */
  readonly names: readonly string[];
  /** Undefined for all namespaces. */
  readonly namespace?: string | undefined;
  /** Folders or files as [name=]path in place of the cluster's ClusterCatalogs. */
  readonly catalogDir: readonly string[];
  /** Name of the extension; default: that of the Subscription. */
  readonly extensionName?: string | undefined;
  /** Default: the extension's name with -installer. */
  readonly serviceAccount?: string | undefined;
  readonly signal: AbortSignal;
  readonly tell: (what: string) => void;
}

/** A Subscription, or an extension that one has become, and the verdict on it. */
export interface Surveyed {
  readonly namespace: string;
  readonly name: string;
  readonly packageName: string;
  /** The installed version; empty where none is. */
  readonly version: string;
  readonly approval: Subscription["approval"] | undefined;
  readonly verdict: Verdict;
  /** What it would be; only where it is eligible. */
  readonly eligible?: Eligible;
}

/** All that a conversion needs to know. */
export interface Eligible {
  readonly subscription: KubeObject;
  readonly csv: KubeObject;
  readonly group: KubeObject | undefined;
  readonly offer: BundleOffer;
  readonly extension: ClusterExtension;
}

/** What a survey found, in the order of namespaces and names, and the catalogs that it looked at. */
export interface Survey {
  readonly found: readonly Surveyed[];
  readonly cluster: ClassicCluster;
  readonly offers: CatalogOffers;
}

/**
 * Judges Subscriptions; reads only.
 * @throws Error where one that is named does not exist, or the cluster has no OLM classic.
 */
export async function survey(request: SurveyRequest): Promise<Survey> {
  const { client, reader, names, namespace, catalogDir, signal, tell } = request;
  tell("reading Subscriptions");
  const cluster = await readClassicCluster(client, signal);
  const all = cluster.subscriptions.map((object) => ({ object, subscription: subscriptionFrom(object) }));
  const extensions = cluster.extensions.map(knownExtension);
  const subscriptions = all.map(({ subscription }) => subscription);
  const isMeant = (one: { namespace: string; name: string }): boolean =>
    (namespace === undefined || one.namespace === namespace) && (names.length === 0 || names.includes(one.name));
  const meant = all.filter(({ subscription }) => isMeant(subscription));
  const migrated = extensions.flatMap((extension): Surveyed[] => {
    const verdict = judgeMigrated(extension, subscriptions);
    const [from = "", name = ""] = extension.migratedFrom?.split("/") ?? [];
    if (!verdict || !isMeant({ namespace: from, name })) return [];
    const version = cluster.extensions.find(({ metadata }) => metadata.name === extension.name)?.status?.install?.bundle.version ?? "";
    return [{ namespace: from, name, packageName: extension.packageName, version, approval: undefined, verdict }];
  });
  requireAll(names, namespace, [...meant.map(({ subscription }) => subscription), ...migrated]);
  const packages = new Set(meant.map(({ subscription }) => subscription.packageName));
  const offers = await CatalogOffers.read(client, { given: catalogDir, packages, reader, signal, tell });
  const csvs = cluster.csvs.map((object) => ({ object, csv: installedCsvFrom(object) }));
  const judged: Surveyed[] = [];
  for (const { object, subscription } of meant) {
    const { namespace: where, name, packageName, approval, installedCsv } = subscription;
    const installed = csvs.find(({ csv }) => csv.namespace === where && csv.name === installedCsv);
    const groups = cluster.groups.filter(({ metadata }) => metadata.namespace === where);
    const extensionName = request.extensionName ?? name;
    const verdict = judge(subscription, {
      csv: installed?.csv,
      groups: groups.map(operatorGroupFrom),
      subscriptions,
      csvs: csvs.map(({ csv }) => csv),
      extensions,
      offers: offers.of(packageName, installedCsv),
      reportsConditions: installed ? await reportsConditions(client, installed.csv) : false,
      extensionName,
    });
    const eligible =
      installed && verdict.offer
        ? eligibleOf(
            { subscription: object, csv: installed.object, group: groups[0], offer: verdict.offer },
            extensionName,
            request.serviceAccount,
          )
        : undefined;
    const version = installed?.csv.version ?? "";
    judged.push({ namespace: where, name, packageName, version, approval, verdict, ...(eligible ? { eligible } : {}) });
  }
  const found = [...judged, ...migrated].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return { found, cluster, offers };
}

function eligibleOf(parts: Omit<Eligible, "extension">, name: string, serviceAccount = `${name}-installer`): Eligible {
  const subscription = subscriptionFrom(parts.subscription);
  const group = parts.group && operatorGroupFrom(parts.group);
  return { ...parts, extension: extensionFor({ name, subscription, group, offer: parts.offer, serviceAccount }) };
}

function requireAll(names: readonly string[], namespace: string | undefined, found: readonly { name: string }[]): void {
  const missing = names.filter((name) => !found.some((one) => one.name === name));
  if (missing.length === 0) return;
  const where = namespace === undefined ? "this cluster" : `namespace "${namespace}"`;
  throw new Error(
    `there is no Subscription ${missing.map((name) => `"${name}"`).join(", ")} in ${where}: olmv1 migrate check -A lists all`,
  );
}
