import type { ClusterExtension } from "../api/clusterExtension.ts";
import { isOwnedBy, type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { findProblem } from "../api/problems.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { isDependencyExtension, parseDependents } from "../operatorcontroller/dependencies/dependencyLabels.ts";
import { computeHealth, hasHealth } from "../release/health/health.ts";
import type { HealthState } from "../release/health/healthState.ts";
import { getPodSelector } from "../release/health/pods.ts";
import { findDecidingCondition, isAsDesired } from "./extensionState.ts";
import { listClusterExtensions, readExtension } from "./extensions.ts";
import { readInstalledObjects } from "./inventory.ts";
import { countPlanProgress, formatPlanFailure, listPlanProgress, type PlanMemberProgress } from "./planProgress.ts";

/** An extension in a tree. */
export interface ExtensionSubject {
  readonly kind: "extension";
  readonly name: string;
  /** The installed bundle; undefined if none is installed. */
  readonly bundle: { readonly name: string; readonly version: string } | undefined;
  readonly state: "ready" | "notReady" | "notReconciled";
  /** Reason and message of condition Ready, or of the one that decides without it; empty unless the state is `notReady`. */
  readonly reason: string;
  readonly message: string;
}

/** An object in a tree. */
export interface ObjectSubject {
  readonly kind: "object";
  readonly ref: ObjectRef;
  /**
   * The health of the object. Otherwise:
   * - `present`: it exists, and its kind has no health check
   * - `missing`: it does not exist
   * - `unreadable`: the message contains why it cannot be read
   */
  readonly state: HealthState | "present" | "missing" | "unreadable";
  readonly message: string;
}

/** What a node of a tree is about. */
export type NodeSubject =
  | ExtensionSubject
  | ObjectSubject
  /** A dependency plan in progress; its children are the bundles that are not installed. */
  | { readonly kind: "plan"; readonly installed: number; readonly all: number }
  | { readonly kind: "planMember"; readonly member: PlanMemberProgress }
  /** A bundle that cannot be installed because of its dependencies; its children are the reasons. */
  | { readonly kind: "uninstallableBundle"; readonly bundle: string | undefined }
  /** Objects that the status does not list. */
  | { readonly kind: "omitted"; readonly count: number }
  | { readonly kind: "note"; readonly text: string };

/** A node of a tree, with its children. */
export interface ObjectNode {
  readonly subject: NodeSubject;
  readonly children: readonly ObjectNode[];
}

/** When and where to read a tree. */
export interface TreeOptions {
  /** The namespace of the release Secrets. */
  readonly systemNamespace: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Number of concurrent requests. */
const PARALLEL = 8;
/** Maximum number of objects per kind below a workload. */
const MAX_CHILDREN = 200;
const REPLICA_SET = { apiVersion: "apps/v1", kind: "ReplicaSet" } as const;
const POD = { apiVersion: "v1", kind: "Pod" } as const;

/**
 * Returns an extension as a tree: its plan in progress, the extensions that were created as its dependencies, the objects of its bundle with their
 * health, and the ReplicaSets and Pods of workloads. Each extension appears once, also if extensions need each other. The node of an object that
 * cannot be read contains the reason.
 * @throws Error if the extension does not exist.
 * @throws KubeError if the extension cannot be read.
 */
export async function readExtensionTree(client: Client, name: string, options: TreeOptions): Promise<ObjectNode> {
  const extension = await readExtension(client, name);
  const others = await listClusterExtensions(client).catch((err: unknown) => getErrorMessage(err));
  const tree = await buildExtensionNode(client, extension, {
    others: typeof others === "string" ? [] : others,
    seen: new Set([name]),
    ...options,
  });
  return typeof others === "string" ? { ...tree, children: [note(`cannot list its dependencies: ${others}`), ...tree.children] } : tree;
}

/** The extensions of the cluster, and the names of those that are in the tree already. */
interface TreeContext extends TreeOptions {
  readonly others: readonly ClusterExtension[];
  readonly seen: Set<string>;
}

async function buildExtensionNode(client: Client, extension: ClusterExtension, context: TreeContext): Promise<ObjectNode> {
  const { others, seen, now, systemNamespace } = context;
  const isNew = (one: ClusterExtension): boolean => isDependencyOf(one, extension) && !seen.has(one.metadata.name);
  const dependencies = others.filter(isNew);
  for (const { metadata } of dependencies) seen.add(metadata.name);
  const nodes: ObjectNode[] = [];
  for (const one of dependencies) nodes.push(await buildExtensionNode(client, one, context));
  const installed = await readInstalledObjects(client, extension, systemNamespace);
  const objects = await mapInParallel(installed.refs, PARALLEL, (ref) => buildObjectNode(client, ref, now));
  const more = installed.count - installed.refs.length;
  return {
    subject: describeExtension(extension),
    children: [
      ...listDependencyReasons(extension),
      ...buildPlanNodes(extension, others),
      ...nodes,
      ...(installed.unknown === undefined ? [] : [note(`the objects of the bundle are unknown: ${installed.unknown}`)]),
      ...objects,
      ...(more > 0 ? [leaf({ kind: "omitted", count: more })] : []),
    ],
  };
}

/** Reports whether an extension was created as a dependency of `parent`. */
function isDependencyOf(extension: ClusterExtension, parent: ClusterExtension): boolean {
  if (!isDependencyExtension(extension)) return false;
  return parseDependents(extension).some(({ name, uid }) => name === parent.metadata.name && uid === parent.metadata.uid);
}

/** Returns the plan in progress as a node, with the bundles that are not installed as children; empty if there is none. */
function buildPlanNodes(extension: ClusterExtension, others: readonly ClusterExtension[]): ObjectNode[] {
  const count = countPlanProgress(extension, others);
  if (!count) return [];
  const failure = formatPlanFailure(extension);
  const missing = listPlanProgress(extension, others).filter(({ state }) => state !== "installed");
  const children = missing.map((member) => leaf({ kind: "planMember", member }));
  return [{ subject: { kind: "plan", ...count }, children: [...(failure === undefined ? [] : [note(failure)]), ...children] }];
}

function leaf(subject: NodeSubject): ObjectNode {
  return { subject, children: [] };
}

function note(text: string): ObjectNode {
  return leaf({ kind: "note", text });
}

/** Returns one node for each bundle that cannot be installed because of its dependencies, with the reasons in the status as children. */
function listDependencyReasons({ status }: ClusterExtension): ObjectNode[] {
  const details = findProblem(status, "UnsatisfiedDependencies")?.details?.dependencies ?? [];
  return [...Map.groupBy(details, ({ bundle }) => bundle)].map(([bundle, reasons]) => ({
    subject: { kind: "uninstallableBundle", bundle },
    children: reasons.map(({ message }) => note(message)),
  }));
}

function describeExtension({ metadata: { name }, status }: ClusterExtension): ExtensionSubject {
  const deciding = findDecidingCondition(status?.conditions);
  const state = deciding ? (isAsDesired(deciding) ? "ready" : "notReady") : "notReconciled";
  const { reason, message } = deciding && state === "notReady" ? deciding : { reason: "", message: "" };
  return { kind: "extension", name, bundle: status?.install?.bundle, state, reason, message };
}

async function buildObjectNode(client: Client, ref: ObjectRef, now: number): Promise<ObjectNode> {
  try {
    const object = await client.get(ref);
    if (!object) return leaf({ kind: "object", ref, state: "missing", message: "" });
    return { subject: { kind: "object", ref, ...readState(object, now) }, children: await readChildren(client, object, now) };
  } catch (err) {
    return leaf({ kind: "object", ref, state: "unreadable", message: explainUnreadable(err) });
  }
}

/**
 * Returns ReplicaSets of a Deployment with their Pods, or Pods of another workload. Omits ReplicaSets without Pods.
 */
async function readChildren(client: Client, workload: KubeObject, now: number): Promise<ObjectNode[]> {
  const labelSelector = getPodSelector(workload);
  const { namespace } = workload.metadata;
  if (labelSelector === undefined || namespace === undefined) return [];
  const options = { namespace, labelSelector, maxItems: MAX_CHILDREN };
  try {
    const sets = workload.kind === "Deployment" ? (await client.list(REPLICA_SET, options)).items : [];
    const pods = (await client.list(POD, options)).items;
    const node = (object: KubeObject, children: ObjectNode[]): ObjectNode => ({
      subject: { kind: "object", ref: toObjectRef(object), ...readState(object, now) },
      children,
    });
    const listPods = (owner: KubeObject): ObjectNode[] => pods.filter((pod) => isOwnedBy(pod, owner)).map((pod) => node(pod, []));
    const own = sets.filter((set) => isOwnedBy(set, workload)).map((set) => node({ ...REPLICA_SET, ...set }, listPods(set)));
    return [...own.filter(({ children }) => children.length > 0), ...listPods(workload)];
  } catch (err) {
    return [note(`cannot list its ReplicaSets or Pods: ${getErrorMessage(err)}`)];
  }
}

function readState(object: KubeObject, now: number): Pick<ObjectSubject, "state" | "message"> {
  if (!hasHealth(object)) return { state: "present", message: "" };
  const { state, message } = computeHealth(object, now);
  return { state, message };
}

function explainUnreadable(err: unknown): string {
  if (err instanceof KindNotServed) return "its kind is not served";
  return `cannot read it: ${getErrorMessage(err)}`;
}
