import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { getErrorMessage, ReconcileError, wrapError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed, KubeError } from "../kube/errors.ts";
import { type ActiveRelease, formatMissingRelease } from "../openshift/upgradeable.ts";
import type { ClusterUpgradeTarget, ExtensionReleases } from "../openshift/upgradeCheck.ts";
import { readRemedy } from "../operatorcontroller/reconcile/clusterUpgradeCondition.ts";
import { listObjectSetReleases } from "../operatorcontroller/releases/objectSets.ts";
import { type InstalledSummary, summarizeRelease } from "../operatorcontroller/releases/releaseReader.ts";
import { type ReleaseHistory, ReleaseStore } from "../operatorcontroller/releases/releaseStore.ts";
import { OBJECT_SET_KINDS } from "../release/objectSet.ts";
import { listActiveReleases, type ReleaseRecord } from "../release/record.ts";
import { formatUnreadable } from "../release/storage/decode.ts";
import { type ClusterVersion, formatMinorVersion, getNextMinor } from "../version/clusterVersion.ts";

/** Advice if releases are not found: they may be in another namespace, and the cluster must not be treated as empty. */
const OTHER_NAMESPACE = "set --system-namespace to the namespace of its operator-controller";
/** Maximum number of extensions whose releases are read concurrently. */
const AT_ONCE = 8;

/**
 * Returns every ClusterExtension with its active releases, in the order of the API server. The result includes unreadable releases.
 * @throws Error if the API server is unreachable or denies access
 */
export async function readExtensions(
  client: Client,
  { systemNamespace, cluster, target }: { systemNamespace: string; cluster: ClusterVersion; target: ClusterUpgradeTarget },
): Promise<ExtensionReleases[]> {
  const store = new ReleaseStore(client, systemNamespace);
  let extensions: ClusterExtension[];
  try {
    extensions = (await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION })).items;
  } catch (err) {
    throw wrapError("list ClusterExtensions: ", err);
  }
  const requested = {
    text: formatMinorVersion(target.minor),
    isNext: cluster.kind === "known" && formatMinorVersion(getNextMinor(cluster.minor)) === formatMinorVersion(target.minor),
  };
  const objectSets = await listObjectSets(client);
  const read: ExtensionReleases[] = [];
  for (let from = 0; from < extensions.length; from += AT_ONCE) {
    const group = extensions.slice(from, from + AT_ONCE);
    const releases = await Promise.all(group.map((extension) => readReleases(store, extension, { systemNamespace, objectSets })));
    read.push(...releases.map((one, i) => ({ ...one, remedy: readRemedy(group[i]?.status, requested) })));
  }
  return read;
}

/** Returns the object sets of the Go implementation; none if the cluster does not serve them. */
async function listObjectSets(client: Client): Promise<KubeObject[]> {
  const lists = OBJECT_SET_KINDS.map(async (gvk) => {
    try {
      return (await client.list(gvk)).items;
    } catch (err) {
      if (err instanceof KindNotServed) return [];
      throw wrapError(`list ${gvk.kind} objects: `, err);
    }
  });
  return (await Promise.all(lists)).flat();
}

async function readReleases(
  store: ReleaseStore,
  extension: ClusterExtension,
  { systemNamespace, objectSets }: { systemNamespace: string; objectSets: readonly KubeObject[] },
): Promise<ExtensionReleases> {
  const { name, uid = "" } = extension.metadata;
  const installed = extension.status?.install?.bundle;
  let history: ReleaseHistory;
  try {
    history = await store.history({ name, uid });
  } catch (err) {
    if (isAboutContent(err)) return { extension: name, releases: [], unreadable: [getErrorMessage(err)] };
    throw wrapError(`cannot read the releases of ClusterExtension ${goQuote(name)}: `, err);
  }
  const { current, older, foreign, unreadable } = history;
  const reason = unreadable.map(formatUnreadable);
  const releases: ActiveRelease[] = [];
  const count = (record: ReleaseRecord, counts: (facts: InstalledSummary) => boolean): void => {
    try {
      const facts = summarizeRelease(record);
      if (counts(facts)) releases.push({ extension: name, ...facts });
    } catch (err) {
      reason.push(getErrorMessage(err));
    }
  };
  for (const record of listActiveReleases(current)) count(record, () => true);
  for (const { version } of listActiveReleases(foreign)) {
    const release = await store.read(name, version);
    if (release?.kind === "unreadable") reason.push(formatUnreadable(release));
    if (release?.kind === "readable") count(release.record, ({ bundle, version: of }) => isInstalled(installed, bundle, of));
  }
  for (const one of listObjectSetReleases(objectSets, name, new Set(releases.map(({ bundle }) => bundle)))) {
    if ("reason" in one) reason.push(one.reason);
    else if (!releases.some(({ bundle, version }) => bundle === one.bundle && version === one.version)) releases.push(one);
  }
  if (installed && extension.metadata.deletionTimestamp === undefined && [...current, ...older, ...releases, ...reason].length === 0)
    reason.push(`${formatMissingRelease(installed.name, systemNamespace)}; ${OTHER_NAMESPACE}`);
  return { extension: name, releases, unreadable: reason };
}

/**
 * Reports whether the release matches the installed bundle in the status, if the status has one. A release with another bundle may belong to an
 * earlier extension with the same name.
 */
function isInstalled(installed: { name: string; version: string } | undefined, bundle: string, version: string): boolean {
  return installed === undefined || (installed.name === bundle && installed.version === version);
}

/** Reports whether the API server responded with invalid content. */
function isAboutContent(err: unknown): boolean {
  if (!(err instanceof ReconcileError)) return false;
  for (let cause: unknown = err; cause instanceof Error; cause = cause.cause)
    if (cause instanceof KubeError || cause instanceof KindNotServed) return false;
  return true;
}
