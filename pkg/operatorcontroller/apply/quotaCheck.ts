import { getGroup } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import type { Client } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { type CountedObject, type ExceededQuota, findExceededQuotas, formatExceededQuota } from "../../release/quota.ts";
import { DeniedError } from "../state/conditionPoller.ts";
import { formatFirst } from "../state/objectActions.ts";
import { type Checked, newFinding, type PreflightCheck, type PreflightFinding, type PreflightRequest } from "./preflightRequest.ts";

const QUOTA = { apiVersion: "v1", kind: "ResourceQuota" };
/** Maximum number of ResourceQuotas that are checked in one namespace. */
const MAX_QUOTAS = 500;

/**
 * Denies new objects that each fit into a ResourceQuota but together exceed it. Sends one request for each namespace with new objects. Finds nothing
 * if the client may not list quotas, or if the dry run denied objects, because the number of created objects is unknown then.
 */
export const quotaCheck: PreflightCheck = {
  name: "quota",
  async run(request, checked) {
    if (checked.findings.some(({ kind }) => kind === "dryRun" || kind === "namespace")) return undefined;
    const created = listCreatedObjects(request, checked);
    const find = (signal: AbortSignal): Promise<ExceededQuota[]> => findExceeded(request.client, created, signal);
    const findings = (await find(request.signal)).map(newQuotaFinding);
    if (findings.length === 0) return undefined;
    const isOver = async (until: AbortSignal): Promise<boolean> => (await find(until)).length === 0;
    return { findings, error: new DeniedError(findings.map(({ message }) => message).join("\n"), { isOver }) };
  },
};

/** @throws the reason of `signal` when it aborts. */
async function findExceeded(
  client: Pick<Client, "list">,
  created: readonly CountedObject[],
  signal: AbortSignal,
): Promise<ExceededQuota[]> {
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
  return findExceededQuotas(found.flat(), created);
}

function listCreatedObjects({ desired, kinds }: PreflightRequest, { live, refused }: Checked): CountedObject[] {
  return desired.flatMap((object) => {
    const resource = kinds.resourceOf(object);
    if (!resource?.namespaced || live.has(getObjectKey(object)) || refused.has(getObjectKey(object))) return [];
    return [{ object, group: getGroup(object.apiVersion), resource: resource.resource }];
  });
}

function newQuotaFinding(exceeded: ExceededQuota): PreflightFinding {
  const { namespace, name, objects } = exceeded;
  const message = `ResourceQuota ${namespace}/${name} does not allow all new objects: ${formatExceededQuota(exceeded)}; counted objects: ${formatFirst(objects.map(describeObject))}`;
  const details = [{ namespace, name, message: formatExceededQuota(exceeded) }];
  return newFinding("quota", newProblem("QuotaExceeded", { message, details }));
}
