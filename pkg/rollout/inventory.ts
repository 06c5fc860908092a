import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Inventory } from "../api/clusterExtensionStatus.ts";
import { findCondition } from "../api/conditions.ts";
import { type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { messageOf } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import { hasHealth, healthOf, mayHaveHealth } from "../release/health/health.ts";
import type { HealthState } from "../release/health/healthState.ts";
import { podSelectorOf } from "../release/health/pods.ts";
import { describeObject } from "../release/identity.ts";
import { readExtension } from "./extensions.ts";

/** One line of a tree, with what hangs on it. */
export interface TreeNode {
  label: string;
  children: readonly TreeNode[];
}

/** What reading a tree takes. */
export type TreeClient = Pick<Client, "get" | "list">;

/** Requests under way at once. */
const PARALLEL = 8;
/** Objects of one kind that are looked at below one workload. */
const BELOW_MAX = 200;
const MIDDLE = { apiVersion: "apps/v1", kind: "ReplicaSet" } as const;
const POD = { apiVersion: "v1", kind: "Pod" } as const;

/**
 * An extension, below it the objects that its status names, with their health, and below workloads their ReplicaSets and Pods.
 * What may not be read says so in its line.
 * @param now milliseconds since the epoch.
 * @throws Error when there is no such extension; KubeError when it may not be read.
 */
export async function extensionTree(client: TreeClient, name: string, now: number): Promise<TreeNode> {
  const extension = await readExtension(client, name);
  const { inventory } = extension.status ?? {};
  if (!inventory) return { label: head(extension), children: [] };
  const children = await mapInParallel(inventory.objects.map(refFrom), PARALLEL, (ref) => objectNode(client, ref, now));
  const more = inventory.count - inventory.objects.length;
  return { label: head(extension), children: more > 0 ? [...children, { label: `and ${more} more objects`, children: [] }] : children };
}

function head({ metadata: { name }, status }: ClusterExtension): string {
  const bundle = status?.install?.bundle;
  const ready = findCondition(status?.conditions, "Ready");
  const state = ready ? (ready.status === "True" ? "ready" : `not ready: ${ready.reason}: ${ready.message}`) : "not looked at yet";
  return `ClusterExtension ${name}: ${bundle ? `${bundle.name} (version ${bundle.version})` : "nothing installed"}, ${state}`;
}

/** The object that an entry of status.inventory names. */
export function refFrom({ group, version, kind, namespace, name }: Inventory["objects"][number]): ObjectRef {
  return { apiVersion: group ? `${group}/${version}` : version, kind, name, ...(namespace ? { namespace } : {}) };
}

async function objectNode(client: TreeClient, ref: ObjectRef, now: number): Promise<TreeNode> {
  const label = describeObject(ref);
  try {
    const object = await client.get(ref);
    if (!object) return { label: `${label}: missing`, children: [] };
    return { label: label + healthText(object, now), children: await below(client, object, now) };
  } catch (err) {
    return { label: `${label}: ${refusal(err)}`, children: [] };
  }
}

/** ReplicaSets of a Deployment with their Pods, or the Pods of another workload; none that have nothing to do are left out. */
async function below(client: TreeClient, workload: KubeObject, now: number): Promise<TreeNode[]> {
  const labelSelector = podSelectorOf(workload);
  const { namespace } = workload.metadata;
  if (labelSelector === undefined || namespace === undefined) return [];
  const options = { namespace, labelSelector, maxItems: BELOW_MAX };
  try {
    const sets = workload.kind === "Deployment" ? (await client.list(MIDDLE, options)).items : [];
    const pods = (await client.list(POD, options)).items;
    const node = (object: KubeObject, children: TreeNode[]): TreeNode => ({
      label: describeObject({ ...refOf(object), namespace: undefined }) + healthText(object, now),
      children,
    });
    const podsOf = (owner: KubeObject): TreeNode[] => pods.filter((pod) => isOwnedBy(pod, owner)).map((pod) => node(pod, []));
    const own = sets.filter((set) => isOwnedBy(set, workload)).map((set) => node({ ...MIDDLE, ...set }, podsOf(set)));
    return [...own.filter(({ children }) => children.length > 0), ...podsOf(workload)];
  } catch (err) {
    return [{ label: refusal(err), children: [] }];
  }
}

function isOwnedBy({ metadata: { ownerReferences = [] } }: KubeObject, owner: KubeObject): boolean {
  return ownerReferences.some(({ uid }) => uid === owner.metadata.uid);
}

function healthText(object: KubeObject, now: number): string {
  if (!hasHealth(object)) return "";
  const { state, message } = healthOf(object, now);
  return message === "" ? `: ${state}` : `: ${state}: ${message}`;
}

function refusal(err: unknown): string {
  if (err instanceof KindNotServed) return "its kind is not served";
  return isForbidden(err) ? `may not be read: ${messageOf(err)}` : messageOf(err);
}

/** An installed object and how it is. */
export interface InventoryObjectHealth {
  readonly ref: ObjectRef;
  /** `unknown` also where the user may not read it. */
  readonly state: HealthState;
  readonly message: string;
}

/**
 * The objects of an extension that have a health, in the order in which they were applied, read with the user's rights.
 * @param now milliseconds since the epoch.
 */
export async function inventoryHealth(
  client: Pick<Client, "get">,
  { status }: ClusterExtension,
  now: number,
): Promise<InventoryObjectHealth[]> {
  const refs = (status?.inventory?.objects ?? []).map(refFrom).filter(mayHaveHealth);
  const states = await mapInParallel(refs, PARALLEL, (ref) => stateOf(client, ref, now));
  return states.filter((state) => state !== undefined);
}

async function stateOf(client: Pick<Client, "get">, ref: ObjectRef, now: number): Promise<InventoryObjectHealth | undefined> {
  try {
    const object = await client.get(ref);
    if (!object) return { ref, state: "failed", message: "it does not exist" };
    if (!hasHealth(object)) return undefined;
    const { state, message } = healthOf(object, now);
    return { ref, state, message };
  } catch (err) {
    return { ref, state: "unknown", message: messageOf(err) };
  }
}
