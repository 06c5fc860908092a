import type { KubeObject } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { missingIn } from "../../rbac/ruleSets.ts";
import type { PolicyRule } from "../../rbac/policyRule.ts";
import type { Resource, ResourceOf } from "../../rbac/resources.ts";
import type { StreamSpec } from "../watches/plan.ts";
import { ownRules } from "./ownRules.ts";

/** Whether objects of a kind may be watched all at once, by their label; where it is not known, that is tried. */
export type MayWatchAll = (spec: StreamSpec) => boolean;

/**
 * Looks up with one request in each scope which kinds the client's identity may list and watch as a whole, so that nothing is asked of the API
 * server that it refuses. Undefined where that cannot be told.
 */
export async function watchRights(
  client: Pick<Client, "raw">,
  objects: readonly KubeObject[],
  resourceOf: ResourceOf,
  signal: AbortSignal,
): Promise<MayWatchAll | undefined> {
  const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  const own = await ownRules(client, [...namespaces], signal).catch(() => undefined);
  signal.throwIfAborted();
  if (!own || own.incomplete) return undefined;
  const { clusterRules, namespaceRules } = own.granted;
  const allowed = new Map<string, boolean>();
  for (const { apiVersion, kind, metadata } of objects) {
    const found = resourceOf({ apiVersion, kind });
    const held = [...clusterRules, ...(namespaceRules.get(metadata.namespace ?? "") ?? [])];
    const key = keyOf({ apiVersion, kind, namespace: metadata.namespace });
    if (!allowed.has(key)) allowed.set(key, found !== undefined && missingIn([watchingAll(found)], held).length === 0);
  }
  return (spec) => allowed.get(keyOf(spec)) ?? false;
}

function keyOf({ apiVersion, kind, namespace }: StreamSpec): string {
  return JSON.stringify([apiVersion, kind, namespace ?? ""]);
}

function watchingAll({ group, resource }: Resource): PolicyRule {
  return { apiGroups: [group], resources: [resource], verbs: ["list", "watch"] };
}
