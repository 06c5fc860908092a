import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { type Applier } from "../../pkg/operatorcontroller/apply/applier.ts";
import { type PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { type CrdPolicy, sortForInstall } from "../../pkg/release/plan.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { type TestCluster } from "./cluster.ts";
import { createExtension } from "./extensions.ts";
import { type ScopedAccount, serviceAccount } from "./serviceAccounts.ts";

/** All permissions. */
export const EVERYTHING: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };

/** An extension on the cluster that no controller reconciles, in a namespace with its name. */
export interface LoneExtension {
  x: ClusterExtension;
  ns: string;
  /** Its installer, with all permissions. */
  account: ScopedAccount;
}

export async function loneExtension(cluster: TestCluster, policy?: CrdPolicy): Promise<LoneExtension> {
  const ns = await cluster.namespace("objects");
  const { spec, ...rest } = createExtension(ns, { packageName: "p" });
  const account = await serviceAccount(cluster.client, ns, "installer", [EVERYTHING]);
  const uninstall = policy ? { uninstall: { crdPolicy: policy } } : {};
  const x = await cluster.client.create({ ...rest, spec: { ...spec, namespace: ns, ...uninstall } });
  return { x, ns, account };
}

/** Returns objects in the form in which the extension applies them. */
export function prepareObjectsFor(extension: ClusterExtension, objects: readonly KubeObject[]): KubeObject[] {
  const { name, uid = "" } = extension.metadata;
  const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
  const isNamespaced = (gvk: { apiVersion: string; kind: string }): boolean | undefined => findKnownResource(gvk)?.namespaced;
  return sortForInstall(prepareObjects(objects, { owner, installNamespace: getNamespace(extension), isNamespaced }).objects);
}

/** Such as "created ConfigMap". */
export function listActions(applier: Applier): string[] {
  return applier.actions.map(({ verb, ref }) => `${verb} ${ref.kind}`);
}

/** Returns the kinds of those objects that exist, sorted. */
export async function liveKinds(cluster: TestCluster, objects: readonly KubeObject[]): Promise<string[]> {
  const found = await Promise.all(objects.map(async (object) => ((await cluster.client.get(toObjectRef(object))) ? [object.kind] : [])));
  return found.flat().sort();
}
