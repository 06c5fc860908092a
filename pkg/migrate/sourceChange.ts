import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { getObjectAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { readOrNone } from "./olmV0Cluster.ts";
import type { ConversionSource } from "./planConversion.ts";
import { isOrphan } from "./subscription.ts";

/** Members of the status on which a verdict depends. OLM v0 often writes others. */
const STATUS = ["state", "installedCSV", "currentCSV", "phase", "namespaces"];

/**
 * Returns why a survey is outdated, for example because OLM v0 has upgraded the operator since; undefined if the objects of OLM v0 are unchanged. Needed
 * because a run for many Subscriptions may take hours.
 */
export async function findSourceChange(
  client: Pick<Client, "get">,
  { subscription, csv, group }: Pick<ConversionSource, "subscription" | "csv" | "group">,
): Promise<string | undefined> {
  for (const known of [subscription, csv, group]) {
    if (!known || isOrphan(known)) continue;
    const live = await readOrNone(client, toObjectRef(known));
    if (!live) return `${describeObject(known)} was deleted after the command had checked it`;
    if (getState(live) !== getState(known)) return `${describeObject(known)} was changed after the command had checked it`;
  }
  return undefined;
}

function getState(object: KubeObject): string {
  const { uid, generation, deletionTimestamp } = object.metadata;
  const status = getObjectAt(object, "status");
  return JSON.stringify([uid, generation, deletionTimestamp, STATUS.map((member) => status[member])]);
}
