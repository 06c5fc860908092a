import { type KubeObject, refOf } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isPassing, KindNotServed, KubeError } from "../../kube/errors.ts";
import { otherServer } from "./crdServing.ts";

/** Why a CustomResourceDefinition counts as in use. */
export type CrdUseReason =
  | "CustomResourcesExist"
  /** Someone has deleted the definition already. */
  | "BeingDeleted"
  | "NamesNotAccepted"
  | "NotEstablished"
  | "NoServedVersion"
  /** The API server does not answer for a version that the definition serves, as shortly after a restart. */
  | "NotServed"
  /** Another API server answers for the versions that the definition serves, see `otherServer`. */
  | "ServedElsewhere"
  | "ListDenied"
  | "ListFailed"
  /** Other writers change the definition each time that it is checked. */
  | "KeepsChanging";

/** Whether custom resources of a CustomResourceDefinition exist. `crd` is the definition as it was checked. */
export type CrdUse =
  | { readonly kind: "gone" }
  | { readonly kind: "unused"; readonly crd: KubeObject }
  | {
      readonly kind: "in use";
      readonly crd: KubeObject;
      readonly reason: CrdUseReason;
      /** The reason as a sentence for Events and messages. */
      readonly text: string;
      /** Set when the same question may be answered in a moment: the API server was busy or could not be reached. */
      readonly retry?: { readonly cause: unknown };
    };

/** The API version and kind of custom resources. */
export interface CustomResourceKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * Decides whether a CustomResourceDefinition is in use. It is unused only if the API server lists its custom resources now, through a version
 * that the definition itself serves now, and the complete list is empty. Everything else counts as in use, because deleting the definition deletes
 * all of its custom resources, also those that no version serves.
 * @throws what reading the definition throws.
 */
export async function crdUse(client: Pick<Client, "get" | "list" | "raw">, crd: KubeObject, signal: AbortSignal): Promise<CrdUse> {
  const live = await client.get(refOf(crd), { signal });
  if (!live || (crd.metadata.uid !== undefined && live.metadata.uid !== crd.metadata.uid)) return { kind: "gone" };
  const inUse = (reason: CrdUseReason, text: string): CrdUse => ({ kind: "in use", crd: live, reason, text });
  if (live.metadata.deletionTimestamp !== undefined || conditionOf(live, "Terminating") === "True")
    return inUse("BeingDeleted", "it is being deleted already");
  if (conditionOf(live, "NamesAccepted") !== "True")
    return inUse("NamesNotAccepted", "it counts as in use because the API server has not accepted its names");
  if (conditionOf(live, "Established") !== "True")
    return inUse("NotEstablished", "it counts as in use because the API server has not established it");
  const kinds = servedKindsOf(live);
  if (kinds.length === 0)
    return inUse(
      "NoServedVersion",
      "it counts as in use because none of its versions is served, so that its custom resources cannot be listed",
    );
  let last: unknown;
  let elsewhere: string | undefined;
  for (const kind of kinds) {
    try {
      const { items } = await client.list(kind, { limit: 1, maxItems: 1, metadataOnly: true, signal });
      if (items.length > 0) return inUse("CustomResourcesExist", "custom resources of it exist");
      const other = await otherServer(client, live, kind, signal);
      if (other === undefined) return { kind: "unused", crd: live };
      elsewhere ??= other;
    } catch (err) {
      signal.throwIfAborted();
      if (isForbidden(err))
        return inUse("ListDenied", `it counts as in use because its custom resources may not be listed (${messageOf(err)})`);
      last = err;
    }
  }
  if (elsewhere !== undefined)
    return inUse("ServedElsewhere", `it counts as in use because its custom resources cannot be listed: ${elsewhere}`);
  if (last instanceof KindNotServed)
    return inUse("NotServed", `it counts as in use because the API server does not serve its custom resources now (${messageOf(last)})`);
  const text = `it counts as in use because its custom resources could not be listed (${messageOf(last)})`;
  // A conversion webhook that fails answers 500, for as long as its operator is broken.
  const isTransient = isPassing(last) && !(last instanceof KubeError && last.status === 500);
  return { kind: "in use", crd: live, reason: "ListFailed", text, ...(isTransient ? { retry: { cause: last } } : {}) };
}

/** The versions through which custom resources are served, the storage version first, since it needs no conversion. */
export function servedKindsOf(crd: KubeObject): CustomResourceKind[] {
  const {
    group,
    names,
    versions = [],
  } = (crd["spec"] ?? {}) as {
    group?: string;
    names?: { kind?: string };
    versions?: { name: string; served?: boolean; storage?: boolean }[];
  };
  const kind = names?.kind;
  if (!group || !kind) return [];
  const served = versions.filter((version) => version.served === true);
  return [...served.filter(({ storage }) => storage), ...served.filter(({ storage }) => !storage)].map(({ name }) => ({
    apiVersion: `${group}/${name}`,
    kind,
  }));
}

/** The first of `servedKindsOf`; undefined when no version is served. */
export function servedKindOf(crd: KubeObject): CustomResourceKind | undefined {
  return servedKindsOf(crd)[0];
}

function conditionOf(crd: KubeObject, type: string): string | undefined {
  const { conditions = [] } = (crd["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.find((condition) => condition.type === type)?.status;
}
