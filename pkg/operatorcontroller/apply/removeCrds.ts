import type { KubeObject } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { describeObject } from "../../release/identity.ts";
import type { CrdPolicy } from "../../release/plan.ts";
import type { Applier } from "./applier.ts";
import { type CrdUse, crdUse } from "./crdUse.ts";

/** A CustomResourceDefinition that stays on the cluster. */
export interface KeptCrd {
  crd: KubeObject;
  because: string;
  /** The definition and the reason, for Events. */
  text: string;
  /** Set when the next try may find the definition unused. */
  retry?: { readonly cause: unknown };
}

/** What became of CustomResourceDefinitions that are no longer wanted. */
export interface CrdRemoval {
  kept: KeptCrd[];
  /** Deleted by this call, or by someone before. */
  deleting: KubeObject[];
}

/** How often a definition is checked again because another writer changed it between check and delete. */
const CHECKS_MAX = 5;

/**
 * Deletes CustomResourceDefinitions as the policy says:
 *
 * | policy         | custom resources         | CRD     |
 * | Delete         | any                      | deleted |
 * | Retain         | any                      | kept    |
 * | DeleteIfUnused | none, see `crdUse`       | deleted |
 * | DeleteIfUnused | some, or not to be known | kept    |
 *
 * An unused definition is deleted only while it is the object that was checked, by uid and resourceVersion. If another writer changed it in
 * between, it is checked again.
 * @throws RetryableError Retrying with every refused deletion.
 */
export async function removeCrds(
  applier: Pick<Applier, "remove" | "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  crds: readonly KubeObject[],
  policy: CrdPolicy,
  signal: AbortSignal,
): Promise<CrdRemoval> {
  if (policy === "Retain") {
    return { kept: crds.map((crd) => keptCrd(crd, "spec.uninstall.crdPolicy is Retain")), deleting: [] };
  }
  if (policy === "Delete") {
    await applier.remove(crds.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
    return { kept: [], deleting: [...crds] };
  }
  const removal: CrdRemoval = { kept: [], deleting: [] };
  for (const crd of crds) {
    const use = await removeUnused(applier, client, crd, signal);
    if (use.kind === "unused" || (use.kind === "in use" && use.reason === "BeingDeleted")) removal.deleting.push(use.crd);
    else if (use.kind === "in use") removal.kept.push({ ...keptCrd(use.crd, use.text), ...(use.retry ? { retry: use.retry } : {}) });
  }
  return removal;
}

function keptCrd(crd: KubeObject, because: string): KeptCrd {
  return { crd, because, text: `${describeObject(crd)}: ${because}` };
}

/** @returns the use that decided; after "unused" the definition is deleted. */
async function removeUnused(
  applier: Pick<Applier, "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  crd: KubeObject,
  signal: AbortSignal,
): Promise<CrdUse> {
  let checked = crd;
  for (let checks = 0; checks < CHECKS_MAX; checks++) {
    const use = await crdUse(client, crd, signal);
    if (use.kind !== "unused") return use;
    checked = use.crd;
    if (await applier.removeUnchanged(checked)) return use;
  }
  const text = `it counts as in use because other writers changed it ${CHECKS_MAX} times while it was checked`;
  return { kind: "in use", crd: checked, reason: "KeepsChanging", text, retry: { cause: new Error(text) } };
}
