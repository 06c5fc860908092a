import { groupOf, type KubeObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KubeError } from "../../kube/errors.ts";
import type { ResourceOf } from "../../rbac/resources.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { type CountedObject, exceededQuotas, exceededText } from "../../release/quota.ts";
import type { LiveObjects } from "./applier.ts";
import { listed } from "./objectAction.ts";

/** Objects that are to be applied. */
export interface QuotaRequest {
  /** Prepared objects. */
  desired: readonly KubeObject[];
  live: LiveObjects;
  resourceOf: ResourceOf;
}

const QUOTA = { apiVersion: "v1", kind: "ResourceQuota" };
/** ResourceQuotas of one namespace that are looked at. */
const MAX_QUOTAS = 500;

/**
 * The quotas that have room for each new object and not for all of them, a sentence each; none where the client may not list quotas. One
 * request for each namespace in which something is new.
 * @throws what `signal` aborts with.
 */
export async function quotaRefusals(client: Pick<Client, "list">, request: QuotaRequest, signal: AbortSignal): Promise<string[]> {
  const created = createdObjects(request);
  const namespaces = [...new Set(created.map(({ object }) => object.metadata.namespace ?? ""))].sort();
  const found = await Promise.all(
    namespaces.map(async (namespace) => {
      try {
        return (await client.list(QUOTA, { namespace, maxItems: MAX_QUOTAS, signal })).items;
      } catch (err) {
        if (!(err instanceof KubeError)) throw err;
        return [];
      }
    }),
  );
  return exceededQuotas(found.flat(), created).map((exceeded) => {
    const counted = listed(exceeded.objects.map(describeObject));
    return `ResourceQuota ${exceeded.namespace}/${exceeded.name} has no room for all new objects: ${exceededText(exceeded)}; counted are ${counted}`;
  });
}

/** Whether the API server refused something because of a quota; there is no code for it. */
export function isQuotaRefusal(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause)
    if (isForbidden(e)) return /exceeded quota: |status unknown for quota: /.test(messageOf(err));
  return false;
}

function createdObjects({ desired, live, resourceOf }: QuotaRequest): CountedObject[] {
  return desired.flatMap((object) => {
    const resource = resourceOf(object);
    if (!resource?.namespaced || live.has(objectKey(object))) return [];
    return [{ object, group: groupOf(object.apiVersion), resource: resource.resource }];
  });
}
