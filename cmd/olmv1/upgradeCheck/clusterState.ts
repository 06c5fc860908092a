import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../../../pkg/api/constants.ts";
import { messageOf, ReconcileError, wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import type { ExtensionReleases } from "../../../pkg/gate/check.ts";
import type { ClusterVersion } from "../../../pkg/gate/clusterVersion.ts";
import { minorOf } from "../../../pkg/gate/minorVersion.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { KindNotServed, KubeError } from "../../../pkg/kube/errors.ts";
import { ReleaseStore } from "../../../pkg/operatorcontroller/releaseStore.ts";
import type { ReleaseRecord } from "../../../pkg/release/record.ts";

const CLUSTER_VERSION = { apiVersion: "config.openshift.io/v1", kind: "ClusterVersion", name: "version" } as const;
/** Annotation of a release's chart that holds the bundle's properties. */
const PROPERTIES = "olm.properties";
/** Extensions whose releases are read at the same time. */
const AT_ONCE = 8;

/**
 * The version of the cluster as its ClusterVersion says it.
 * @throws Error when it may not be read, or nobody answers.
 */
export async function readClusterVersion(client: Client): Promise<ClusterVersion> {
  try {
    const found = await client.get(CLUSTER_VERSION);
    if (!found) return { kind: "unknown", because: 'ClusterVersion "version" does not exist' };
    const { desired } = (found["status"] ?? {}) as { desired?: { version?: string } };
    if (!desired?.version) return { kind: "unknown", because: 'ClusterVersion "version" states no status.desired.version' };
    return parseClusterVersion(desired.version);
  } catch (err) {
    if (err instanceof KindNotServed) return { kind: "none" };
    throw wrapError('read ClusterVersion "version": ', err);
  }
}

/** @throws Error */
export function parseClusterVersion(text: string): ClusterVersion {
  const short = /^(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text);
  return { kind: "known", text, minor: minorOf(short ? `${text}.0` : text) };
}

/**
 * Every ClusterExtension with its active releases, in the order of the server.
 * @throws Error when the API server does not answer, or refuses; a release that is there and cannot be decoded is part of the answer.
 */
export async function readExtensions(client: Client, systemNamespace: string): Promise<ExtensionReleases[]> {
  const store = new ReleaseStore(client, systemNamespace);
  let extensions: ClusterExtension[];
  try {
    extensions = (await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION })).items;
  } catch (err) {
    throw wrapError("list ClusterExtensions: ", err);
  }
  const read: ExtensionReleases[] = [];
  for (let from = 0; from < extensions.length; from += AT_ONCE) {
    const group = extensions.slice(from, from + AT_ONCE);
    read.push(...(await Promise.all(group.map((extension) => readReleases(store, extension, systemNamespace)))));
  }
  return read;
}

async function readReleases(store: ReleaseStore, extension: ClusterExtension, systemNamespace: string): Promise<ExtensionReleases> {
  const { name, uid = "" } = extension.metadata;
  try {
    const { current } = await store.history({ name, uid });
    const installed = extension.status?.install?.bundle.name;
    if (current.length === 0 && installed !== undefined) return { extension: name, releases: noReleaseOf(installed, systemNamespace) };
    const releases = activeOf(current).map(({ labels, annotations }) => ({
      extension: name,
      bundle: labels[LABEL_BUNDLE_NAME] ?? "",
      version: labels[LABEL_BUNDLE_VERSION] ?? "",
      properties: annotations[PROPERTIES],
    }));
    return { extension: name, releases };
  } catch (err) {
    if (isAboutContent(err)) return { extension: name, releases: messageOf(err) };
    throw wrapError(`read the releases of ClusterExtension ${goQuote(name)}: `, err);
  }
}

/** After an uninstallation that left its record nothing of the releases before it is on the cluster. */
function activeOf(current: readonly ReleaseRecord[]): readonly ReleaseRecord[] {
  const uninstalled = current.findIndex(({ status }) => status === "uninstalled");
  return uninstalled < 0 ? current : current.slice(0, uninstalled);
}

/** Somebody else's releases, or those of another namespace, must not pass for "nothing installed". */
function noReleaseOf(bundle: string, systemNamespace: string): string {
  return `its status says that bundle ${goQuote(bundle)} is installed, and namespace ${goQuote(systemNamespace)} holds no release of it; give --system-namespace the namespace of its operator-controller`;
}

/** True when the API server gave what it was asked for, and that makes no sense. */
function isAboutContent(err: unknown): boolean {
  if (!(err instanceof ReconcileError)) return false;
  for (let cause: unknown = err; cause instanceof Error; cause = cause.cause)
    if (cause instanceof KubeError || cause instanceof KindNotServed) return false;
  return true;
}
