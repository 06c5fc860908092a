import type { KubeObject } from "../api/k8s.ts";
import {
  findClusterVersionConflict,
  formatClusterVersionConflict,
  MAX_OPENSHIFT_VERSION,
  maxVersionIn,
} from "../bundle/maxOpenShiftVersion.ts";
import { unmetRequirements } from "../bundle/requirements.ts";
import { messageOf } from "../errors/errors.ts";
import type { HeadSummary } from "../fbc/summary/packageSummary.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { readClusterVersion } from "../operatorcontroller/openshift/clusterVersion.ts";
import { isAllowed } from "../operatorcontroller/permissions/ownRules.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import type { Found, Hindrance, Ranked } from "./searchResults.ts";

/** What a cluster is, and what this user may do with it. */
export interface ClusterCapabilities {
  readonly mayCreate: boolean;
  /** Version of the API server; undefined where it does not say. */
  readonly kubeVersion: string | undefined;
  readonly openShift: ClusterVersion;
  /** Machine architectures of its nodes; undefined where they may not be listed. */
  readonly architectures: readonly string[] | undefined;
}

/** A ClusterExtension as the API server names it. */
const CREATE = { group: "olm.operatorframework.io", resource: "clusterextensions", name: "", verb: "create" };
const MAX_NODES = 1_000;

/** What the cluster and the user's rights are, by a SelfSubjectAccessReview, `/version`, ClusterVersion and the nodes. @throws KubeError where rights cannot be asked for. */
export async function readClusterCapabilities(client: Client, signal: AbortSignal): Promise<ClusterCapabilities> {
  const [mayCreate, kubeVersion, openShift, architectures] = await Promise.all([
    isAllowed(client, "", CREATE, signal),
    kubeVersionOf(client, signal),
    readClusterVersion(client).catch((err: unknown): ClusterVersion => ({ kind: "unknown", because: messageOf(err) })),
    architecturesOf(client, signal),
  ]);
  return { mayCreate, kubeVersion, openShift, architectures };
}

async function kubeVersionOf(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { gitVersion } = (await client.raw("GET", "/version", undefined, { signal })) as { gitVersion?: string };
    return gitVersion;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

interface Node extends KubeObject {
  status?: { nodeInfo?: { architecture?: string } };
}

async function architecturesOf(client: Client, signal: AbortSignal): Promise<string[] | undefined> {
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
 * What keeps a version of a package from being installed here and working; empty where nothing is known to. Pure.
 * @param found what is shown of the package. @param head what more is known, where that is the version that the package is presented by.
 */
function hindrances(found: Pick<Found, "architectures">, head: HeadSummary | undefined, where: ClusterCapabilities): Hindrance[] {
  const { mayCreate, kubeVersion, openShift, architectures } = where;
  const max = head?.maxOpenShiftVersion;
  const properties = max === undefined ? [] : [{ type: MAX_OPENSHIFT_VERSION, value: JSON.stringify(max) }];
  const objection = findClusterVersionConflict(maxVersionIn(properties), openShift);
  const minimum = head?.minKubeVersion;
  const fits = architectures === undefined || architectures.some((name) => found.architectures.includes(name));
  return [
    ...(mayCreate ? [] : ["you may not create ClusterExtensions"]),
    ...(minimum === undefined || kubeVersion === undefined
      ? []
      : unmetRequirements({ minKubeVersion: minimum }, { kubeVersion, served: [] })),
    ...(objection ? [formatClusterVersionConflict(objection)] : []),
    ...(fits ? [] : [`it runs on ${found.architectures.join(", ")}, and the nodes are ${architectures.join(", ")}`]),
  ];
}

/** The same packages with what keeps each from being installed here. */
export function withHindrances(all: readonly Ranked[], where: ClusterCapabilities): Ranked[] {
  return all.map((one) => {
    const head = one.entry.head?.bundle === one.found.bundle ? one.entry.head : undefined;
    const against = hindrances(one.found, head, where);
    return { ...one, found: { ...one.found, installable: against.length === 0, hindrances: against } };
  });
}
