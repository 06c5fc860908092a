import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { crdUse, servedKindOf } from "../../../pkg/operatorcontroller/apply/crdUse.ts";
import { isCrd } from "../../../pkg/release/identity.ts";
import type { CrdPolicy } from "../../../pkg/release/plan.ts";
import { refFrom } from "../tree/extensionTree.ts";

/** A CustomResourceDefinition of an extension, and the custom resources that there are of it. */
export interface CustomResources {
  readonly crd: KubeObject;
  readonly kind: string;
  /** "namespace/name", or the name; as many as were read. */
  readonly names: readonly string[];
  /** There are more than were read. */
  readonly isMore: boolean;
  /** Why they could not be counted. */
  readonly unknown?: string;
}

/** What becomes of a definition and its custom resources. */
export type Fate = "deleted" | "kept";

const CRD_API_VERSION = "apiextensions.k8s.io/v1";
const PARALLEL = 4;
/** Custom resources of one kind that are counted. */
export const COUNTED_MAX = 1_000;

/** The definitions of an extension, including those that upgrades have kept, with the custom resources that the user may list. */
export async function customResourcesOf(
  client: Pick<Client, "get" | "list" | "raw">,
  { status }: ClusterExtension,
): Promise<CustomResources[]> {
  const kept = (status?.keptCRDs ?? []).map(({ name }) => ({ apiVersion: CRD_API_VERSION, kind: "CustomResourceDefinition", name }));
  const refs = [...(status?.inventory?.objects ?? []).map(refFrom).filter(isCrd), ...kept];
  const found = await mapInParallel(refs, PARALLEL, async (ref) => {
    const crd = await client.get(ref);
    return crd && countIn(client, crd);
  });
  return found.filter((one) => one !== undefined);
}

async function countIn(client: Pick<Client, "get" | "list" | "raw">, crd: KubeObject): Promise<CustomResources> {
  const use = await crdUse(client, crd, new AbortController().signal);
  const served = servedKindOf(crd);
  const none = { crd, kind: served?.kind ?? crd.metadata.name, names: [], isMore: false };
  if (use.kind !== "in use") return none;
  if (use.reason !== "CustomResourcesExist") return use.reason === "BeingDeleted" ? none : { ...none, unknown: use.text };
  if (!served) return none;
  const { items } = await client.list(served, { metadataOnly: true, maxItems: COUNTED_MAX + 1 });
  const names = items
    .slice(0, COUNTED_MAX)
    .map(({ metadata: { namespace, name } }) => (namespace === undefined ? name : `${namespace}/${name}`));
  return { ...none, names, isMore: items.length > COUNTED_MAX };
}

/** What a policy does to a definition: under DeleteIfUnused the controller keeps one whose custom resources cannot be counted. */
export function fateOf({ names, unknown }: CustomResources, policy: CrdPolicy): Fate {
  if (policy === "Delete") return "deleted";
  if (policy === "Retain") return "kept";
  return names.length > 0 || unknown !== undefined ? "kept" : "deleted";
}
