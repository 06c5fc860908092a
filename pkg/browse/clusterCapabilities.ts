import type { KubeObject } from "../api/k8s.ts";
import {
  findClusterVersionConflict,
  formatClusterVersionConflict,
  MAX_OPENSHIFT_VERSION,
  parseMaxVersion,
} from "../bundle/maxOpenShiftVersion.ts";
import { findUnmetRequirements } from "../bundle/requirements.ts";
import type { HeadSummary } from "../fbc/summary/packageSummary.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { readServerInfo } from "../kube/servedResources.ts";
import { tryReadClusterVersion } from "../operatorcontroller/openshift/clusterVersion.ts";
import { isAllowed } from "../operatorcontroller/permissions/ownRules.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import type { InstallObstacle, PackageMatch, RankedResult } from "./searchResults.ts";

/** The capabilities of a cluster, and the user's permissions. */
export interface ClusterCapabilities {
  readonly mayCreate: boolean;
  /** Version of the API server; undefined if the API server does not report it. */
  readonly kubeVersion: string | undefined;
  readonly openShift: ClusterVersion;
  /** CPU architectures of the nodes; undefined if the user may not list nodes. */
  readonly architectures: readonly string[] | undefined;
}

/** The permission to check, as for a SelfSubjectAccessReview. */
const CREATE = { group: "olm.operatorframework.io", resource: "clusterextensions", name: "", verb: "create" };
const MAX_NODES = 1_000;

/**
 * Reads the cluster's capabilities and the user's permissions from a SelfSubjectAccessReview, `/version`, the ClusterVersion and the nodes.
 * @throws KubeError if permissions cannot be checked
 */
export async function readClusterCapabilities(client: Client, signal: AbortSignal): Promise<ClusterCapabilities> {
  const [mayCreate, kubeVersion, openShift, architectures] = await Promise.all([
    isAllowed(client, "", CREATE, signal),
    getKubeVersion(client, signal),
    tryReadClusterVersion(client),
    listArchitectures(client, signal),
  ]);
  return { mayCreate, kubeVersion, openShift, architectures };
}

async function getKubeVersion(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await readServerInfo(client, signal)).version || undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

interface Node extends KubeObject {
  status?: { nodeInfo?: { architecture?: string } };
}

async function listArchitectures(client: Client, signal: AbortSignal): Promise<string[] | undefined> {
  try {
    const { items } = await client.list<Node>({ apiVersion: "v1", kind: "Node" }, { signal, maxItems: MAX_NODES });
    const found = items.flatMap(({ status }) => status?.nodeInfo?.architecture ?? []);
    return found.length === 0 ? undefined : [...new Set(found)];
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

/**
 * Returns known reasons why a package version cannot be installed on the cluster, or would not work. Pure.
 * @param found the search result
 * @param head more data, if known
 */
export function listObstacles(
  found: Pick<PackageMatch, "architectures">,
  head: Pick<HeadSummary, "minKubeVersion" | "maxOpenShiftVersion"> | undefined,
  where: ClusterCapabilities,
): InstallObstacle[] {
  const { mayCreate, kubeVersion, openShift, architectures } = where;
  const max = head?.maxOpenShiftVersion;
  const properties = max === undefined ? [] : [{ type: MAX_OPENSHIFT_VERSION, value: JSON.stringify(max) }];
  const objection = findClusterVersionConflict(parseMaxVersion(properties), openShift);
  const minimum = head?.minKubeVersion;
  const fits = architectures === undefined || architectures.some((name) => found.architectures.includes(name));
  return [
    ...(mayCreate ? [] : ["you may not create ClusterExtensions"]),
    ...(minimum === undefined || kubeVersion === undefined
      ? []
      : findUnmetRequirements({ minKubeVersion: minimum }, { kubeVersion, served: [] })),
    ...(objection ? [formatClusterVersionConflict(objection)] : []),
    ...(fits ? [] : [`it runs on ${found.architectures.join(", ")}, but the nodes are ${architectures.join(", ")}`]),
  ];
}

/** Adds to each package the reasons why it cannot be installed. */
export function addHindrances(all: readonly RankedResult[], where: ClusterCapabilities): RankedResult[] {
  return all.map((one) => {
    const head = one.entry.head?.bundle === one.found.bundle ? one.entry.head : undefined;
    const against = listObstacles(one.found, head, where);
    return { ...one, found: { ...one.found, installable: against.length === 0, hindrances: against } };
  });
}
