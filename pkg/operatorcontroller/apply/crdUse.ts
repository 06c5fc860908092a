import type { KubeObject } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import { describeObject } from "../../release/identity.ts";
import type { CrdPolicy } from "../../release/plan.ts";

/** A CustomResourceDefinition that stays on the cluster, and the sentence that says so and why. */
export interface KeptCrd {
  crd: KubeObject;
  text: string;
}

/**
 * Which of an extension's CRDs go and which stay, each of those with the reason:
 *
 * | policy         | custom resources        | CRD   |
 * | Delete         | any                     | goes  |
 * | Retain         | any                     | stays |
 * | DeleteIfUnused | none                    | goes  |
 * | DeleteIfUnused | some, or not to be seen | stays |
 */
export async function splitCrds(
  client: Pick<Client, "list">,
  crds: readonly KubeObject[],
  policy: CrdPolicy,
  signal: AbortSignal,
): Promise<{ going: KubeObject[]; kept: KeptCrd[] }> {
  const going: KubeObject[] = [];
  const kept: KeptCrd[] = [];
  for (const crd of crds) {
    const reason =
      policy === "Retain" ? "spec.uninstall.crdPolicy is Retain" : policy === "Delete" ? undefined : await useOf(client, crd, signal);
    if (reason === undefined) going.push(crd);
    else kept.push({ crd, text: `${describeObject(crd)}: ${reason}` });
  }
  return { going, kept };
}

/** Why a CRD counts as in use; undefined when no custom resource of it exists. */
async function useOf(client: Pick<Client, "list">, crd: KubeObject, signal: AbortSignal): Promise<string | undefined> {
  const kind = servedKindOf(crd);
  if (!kind || crd.metadata.deletionTimestamp !== undefined) return undefined;
  try {
    const { items } = await client.list(kind, { limit: 1, maxItems: 1, metadataOnly: true, signal });
    return items.length > 0 ? "custom resources of it exist" : undefined;
  } catch (err) {
    if (err instanceof KindNotServed) return undefined;
    if (isForbidden(err)) return `it counts as in use because its custom resources may not be listed (${messageOf(err)})`;
    throw err;
  }
}

/** A kind under which the custom resources of a CRD are served; undefined when none is. */
export function servedKindOf(crd: KubeObject): { apiVersion: string; kind: string } | undefined {
  const spec = crd["spec"] as { group?: string; names?: { kind?: string }; versions?: { name: string; served?: boolean }[] } | undefined;
  const version = spec?.versions?.find((candidate) => candidate.served)?.name;
  if (!spec?.group || !spec.names?.kind || !version) return undefined;
  return { apiVersion: `${spec.group}/${version}`, kind: spec.names.kind };
}
