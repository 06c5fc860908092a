import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Inventory } from "../api/clusterExtensionStatus.ts";
import { findCondition } from "../api/conditions.ts";
import { isOwnedBy, type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { findProblem } from "../api/problems.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { isDependencyExtension, parseDependents } from "../operatorcontroller/dependencies/dependencyLabels.ts";
import { computeHealth, hasHealth, mayHaveHealth } from "../release/health/health.ts";
import type { HealthState } from "../release/health/healthState.ts";
import { getPodSelector } from "../release/health/pods.ts";
import { describeObject } from "../release/identity.ts";
import { formatCount } from "../text/lists.ts";
import { listClusterExtensions, readExtension } from "./extensions.ts";
import { countPlanProgress, formatPlanFailure, formatPlanMember, listPlanProgress } from "./planProgress.ts";

/** One line of a tree, with its children. */
export interface TreeNode {
  label: string;
  children: readonly TreeNode[];
}

/** Client methods that reading a tree needs. */
export type TreeClient = Pick<Client, "get" | "list">;

/** Number of concurrent requests. */
const PARALLEL = 8;
/** Maximum number of objects per kind below a workload. */
const MAX_CHILDREN = 200;
const REPLICA_SET = { apiVersion: "apps/v1", kind: "ReplicaSet" } as const;
const POD = { apiVersion: "v1", kind: "Pod" } as const;

/**
 * Returns an extension as a tree: its plan in progress, the extensions that were created as its dependencies, the objects in its inventory with their
 * health, and the ReplicaSets and Pods of workloads. Each extension appears once, also if extensions need each other. The line of an object that
 * cannot be read contains the reason.
 * @param now milliseconds since the epoch.
 * @throws Error if the extension does not exist.
 * @throws KubeError if the extension cannot be read.
 */
export async function readExtensionTree(client: TreeClient, name: string, now: number): Promise<TreeNode> {
  const extension = await readExtension(client, name);
  const others = await listClusterExtensions(client).catch((err: unknown) => getErrorMessage(err));
  const tree = await buildExtensionNode(client, extension, {
    others: typeof others === "string" ? [] : others,
    seen: new Set([name]),
    now,
  });
  return typeof others === "string" ? { ...tree, children: [leaf(`cannot list its dependencies: ${others}`), ...tree.children] } : tree;
}

/** The extensions of the cluster, and the names of those that are in the tree already. */
interface TreeContext {
  readonly others: readonly ClusterExtension[];
  readonly seen: Set<string>;
  readonly now: number;
}

async function buildExtensionNode(client: TreeClient, extension: ClusterExtension, context: TreeContext): Promise<TreeNode> {
  const { others, seen, now } = context;
  const isNew = (one: ClusterExtension): boolean => isDependencyOf(one, extension) && !seen.has(one.metadata.name);
  const dependencies = others.filter(isNew);
  for (const { metadata } of dependencies) seen.add(metadata.name);
  const nodes: TreeNode[] = [];
  for (const one of dependencies) nodes.push(await buildExtensionNode(client, one, context));
  const { inventory } = extension.status ?? {};
  const objects = await mapInParallel((inventory?.objects ?? []).map(parseInventoryRef), PARALLEL, (ref) =>
    buildObjectNode(client, ref, now),
  );
  const more = inventory ? inventory.count - inventory.objects.length : 0;
  return {
    label: formatExtension(extension),
    children: [
      ...listDependencyReasons(extension),
      ...buildPlanNodes(extension, others),
      ...nodes,
      ...objects,
      ...(more > 0 ? [leaf(`and ${more} more objects`)] : []),
    ],
  };
}

/** Reports whether an extension was created as a dependency of `parent`. */
function isDependencyOf(extension: ClusterExtension, parent: ClusterExtension): boolean {
  if (!isDependencyExtension(extension)) return false;
  return parseDependents(extension).some(({ name, uid }) => name === parent.metadata.name && uid === parent.metadata.uid);
}

/** Returns the plan in progress as a node, with the bundles that are not installed as children; empty if there is none. */
function buildPlanNodes(extension: ClusterExtension, others: readonly ClusterExtension[]): TreeNode[] {
  const count = countPlanProgress(extension, others);
  if (!count) return [];
  const failure = formatPlanFailure(extension);
  const missing = listPlanProgress(extension, others).filter(({ state }) => state !== "installed");
  const children = missing.map((member) => leaf(formatPlanMember(member)));
  const label = `dependency plan: ${count.installed} of ${formatCount(count.all, "bundle")} installed`;
  return [{ label, children: [...(failure === undefined ? [] : [leaf(failure)]), ...children] }];
}

function leaf(label: string): TreeNode {
  return { label, children: [] };
}

/** Returns one node for each bundle that cannot be installed because of its dependencies, with the reasons in the status as children. */
function listDependencyReasons({ status }: ClusterExtension): TreeNode[] {
  const details = findProblem(status, "UnsatisfiedDependencies")?.details?.dependencies ?? [];
  return [...Map.groupBy(details, ({ bundle }) => bundle)].map(([bundle, reasons]) => ({
    label: `bundle ${bundle} cannot be installed`,
    children: reasons.map(({ message }) => leaf(message)),
  }));
}

function formatExtension({ metadata: { name }, status }: ClusterExtension): string {
  const bundle = status?.install?.bundle;
  const ready = findCondition(status?.conditions, "Ready");
  const state = ready ? (ready.status === "True" ? "ready" : `not ready: ${ready.reason}: ${ready.message}`) : "not reconciled yet";
  return `ClusterExtension ${name}: ${bundle ? `${bundle.name} (version ${bundle.version})` : "nothing installed"}, ${state}`;
}

/** Returns the object reference of an entry in status.inventory. */
export function parseInventoryRef({ group, version, kind, namespace, name }: Inventory["objects"][number]): ObjectRef {
  return { apiVersion: group ? `${group}/${version}` : version, kind, name, ...(namespace ? { namespace } : {}) };
}

async function buildObjectNode(client: TreeClient, ref: ObjectRef, now: number): Promise<TreeNode> {
  const label = describeObject(ref);
  try {
    const object = await client.get(ref);
    if (!object) return { label: `${label}: missing`, children: [] };
    return { label: label + formatHealth(object, now), children: await readChildren(client, object, now) };
  } catch (err) {
    return { label: `${label}: ${formatError(err)}`, children: [] };
  }
}

/**
 * Returns ReplicaSets of a Deployment with their Pods, or Pods of another workload. Omits ReplicaSets without Pods.
 */
async function readChildren(client: TreeClient, workload: KubeObject, now: number): Promise<TreeNode[]> {
  const labelSelector = getPodSelector(workload);
  const { namespace } = workload.metadata;
  if (labelSelector === undefined || namespace === undefined) return [];
  const options = { namespace, labelSelector, maxItems: MAX_CHILDREN };
  try {
    const sets = workload.kind === "Deployment" ? (await client.list(REPLICA_SET, options)).items : [];
    const pods = (await client.list(POD, options)).items;
    const node = (object: KubeObject, children: TreeNode[]): TreeNode => ({
      label: describeObject({ ...toObjectRef(object), namespace: undefined }) + formatHealth(object, now),
      children,
    });
    const listPods = (owner: KubeObject): TreeNode[] => pods.filter((pod) => isOwnedBy(pod, owner)).map((pod) => node(pod, []));
    const own = sets.filter((set) => isOwnedBy(set, workload)).map((set) => node({ ...REPLICA_SET, ...set }, listPods(set)));
    return [...own.filter(({ children }) => children.length > 0), ...listPods(workload)];
  } catch (err) {
    return [{ label: `cannot list its ReplicaSets or Pods: ${getErrorMessage(err)}`, children: [] }];
  }
}

function formatHealth(object: KubeObject, now: number): string {
  if (!hasHealth(object)) return "";
  const { state, message } = computeHealth(object, now);
  return message === "" ? `: ${state}` : `: ${state}: ${message}`;
}

function formatError(err: unknown): string {
  if (err instanceof KindNotServed) return "its kind is not served";
  return `cannot read it: ${getErrorMessage(err)}`;
}

/** An installed object and its health. */
export interface InventoryObjectHealth {
  readonly ref: ObjectRef;
  /** `unknown` also if the user cannot read the object. */
  readonly state: HealthState;
  readonly message: string;
}

/**
 * Returns the health of the objects in the inventory that have a health check, in apply order, read with the user's permissions.
 * @param now milliseconds since the epoch.
 */
export async function readInventoryHealth(
  client: Pick<Client, "get">,
  { status }: ClusterExtension,
  now: number,
): Promise<InventoryObjectHealth[]> {
  const refs = (status?.inventory?.objects ?? []).map(parseInventoryRef).filter(mayHaveHealth);
  const states = await mapInParallel(refs, PARALLEL, (ref) => readObjectHealth(client, ref, now));
  return states.filter((state) => state !== undefined);
}

async function readObjectHealth(client: Pick<Client, "get">, ref: ObjectRef, now: number): Promise<InventoryObjectHealth | undefined> {
  try {
    const object = await client.get(ref);
    if (!object) return { ref, state: "failed", message: "it does not exist" };
    if (!hasHealth(object)) return undefined;
    const { state, message } = computeHealth(object, now);
    return { ref, state, message };
  } catch (err) {
    return { ref, state: "unknown", message: getErrorMessage(err) };
  }
}
