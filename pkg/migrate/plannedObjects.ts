import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { CLASSIC_GROUP } from "../api/migration.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { getObjectKey } from "../release/identity.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";
import { CSV, listOrNone } from "./olmV0Cluster.ts";
import { getPlannedKey, type PlannedObjects } from "./ownershipMarks.ts";
import { SUBSCRIPTION_VERSIONS } from "./subscription.ts";

/** Maximum number of steps per InstallPlan. Real InstallPlans have at most a few hundred. */
const MAX_STEPS = 5_000;

/**
 * Reads from `status.plan` of the InstallPlans in a namespace which objects OLM v0 created for a ClusterServiceVersion. It sets no owner on ServiceAccounts
 * and RBAC objects that are manifests of a bundle, so InstallPlans are the only record of them.
 * @see https://github.com/operator-framework/api/blob/v0.27.0/pkg/operators/v1alpha1/installplan_types.go
 */
export async function readPlannedObjects(
  client: Client,
  { namespace, name }: Pick<InstalledCsv, "namespace" | "name">,
  signal: AbortSignal,
): Promise<PlannedObjects> {
  const csvs = (await listOrNone(client, CSV, { namespace, metadataOnly: true, signal })) ?? [];
  const existing = new Set(csvs.map(({ metadata }) => metadata.name));
  const own = new Set<string>();
  const others = new Map<string, string>();
  for (const plan of await listInstallPlans(client, namespace, signal)) {
    for (const step of getObjectsAt(getObjectAt(plan, "status"), "plan").slice(0, MAX_STEPS)) {
      const csv = getNonEmptyText(step, "resolving");
      const ref = readStepRef(getObjectAt(step, "resource"));
      if (csv === undefined || !ref || !DONE.has(getNonEmptyText(step, "status") ?? "")) continue;
      if (csv === name) own.add(getPlannedKey(ref));
      else if (existing.has(csv)) others.set(getPlannedKey(ref), csv);
    }
  }
  return { own, others };
}

/** Lists the InstallPlans of a namespace, in all versions that OLM v0 has served. */
export async function listInstallPlans(client: Client, namespace: string, signal: AbortSignal): Promise<KubeObject[]> {
  const found = new Map<string, KubeObject>();
  for (const version of SUBSCRIPTION_VERSIONS) {
    const plans = await listOrNone(client, { apiVersion: `${CLASSIC_GROUP}/${version}`, kind: "InstallPlan" }, { namespace, signal });
    for (const plan of plans ?? []) found.set(getObjectKey(plan), plan);
  }
  return [...found.values()];
}

/** Step states of objects that exist: created by the InstallPlan, or already present and updated. */
const DONE: ReadonlySet<string> = new Set(["Created", "Present"]);

function readStepRef(resource: unknown): ObjectRef | undefined {
  const [kind, name, version] = [
    getNonEmptyText(resource, "kind"),
    getNonEmptyText(resource, "name"),
    getNonEmptyText(resource, "version"),
  ];
  const group = getNonEmptyText(resource, "group");
  if (kind === undefined || name === undefined || version === undefined) return undefined;
  return { apiVersion: group === undefined ? version : `${group}/${version}`, kind, name };
}
