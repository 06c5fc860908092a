import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { determineOwnership, type Owner } from "../../release/ownership.ts";
import type { CrdPolicy } from "../../release/plan.ts";
import type { LeftObject } from "../../release/record.ts";
import { type CrdUse, checkCrdUse } from "../crds/crdUse.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import { type Applier, throwFailures } from "./applier.ts";

/** Converts a reference to an object with only its identity. */
export function toKubeObject({ apiVersion, kind, name, namespace }: ObjectRef): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}

/** Returns the live objects for `objects` that belong to the owner. */
export function filterOwned(objects: readonly KubeObject[], live: LiveObjects, owner: Owner): KubeObject[] {
  return objects.flatMap((object) => {
    const found = live.get(getObjectKey(object));
    return found && determineOwnership(found, owner).kind === "ours" ? [found] : [];
  });
}

/** A CustomResourceDefinition that stays on the cluster. */
export interface KeptCrd {
  crd: KubeObject;
  reason: string;
  /** The definition and the reason, for Events. */
  text: string;
  /** Set when the next try may find the definition unused. */
  retry?: { readonly cause: unknown };
}

/** The result of removing CustomResourceDefinitions. */
export interface CrdRemoval {
  kept: KeptCrd[];
  /** Deleted by this call, or already being deleted. */
  deleting: KubeObject[];
}

/** How often a definition is checked again because another writer changed it between check and delete. */
const MAX_CRD_CHECKS = 5;

/**
 * Deletes CustomResourceDefinitions according to the policy:
 *
 * | policy         | custom resources   | CRD     |
 * | Delete         | any                | deleted |
 * | Retain         | any                | kept    |
 * | DeleteIfUnused | none, see `checkCrdUse` | deleted |
 * | DeleteIfUnused | some, or unknown   | kept    |
 *
 * Deletes an unused definition only with the uid and resourceVersion that were checked. If another writer has changed it, checks it again.
 * @throws RetryableError Retrying with all failed deletions.
 */
export async function removeCrds(
  applier: Pick<Applier, "remove" | "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  crds: readonly KubeObject[],
  policy: CrdPolicy,
  signal: AbortSignal,
): Promise<CrdRemoval> {
  if (policy === "Retain") {
    return { kept: crds.map((crd) => newKeptCrd(crd, "spec.uninstall.crdPolicy is Retain")), deleting: [] };
  }
  if (policy === "Delete") {
    await applier.remove(crds.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
    return { kept: [], deleting: [...crds] };
  }
  const removal: CrdRemoval = { kept: [], deleting: [] };
  for (const crd of crds) {
    const use = await removeUnused(applier, client, crd, signal);
    if (use.kind === "unused" || (use.kind === "in use" && use.reason === "BeingDeleted")) removal.deleting.push(use.crd);
    else if (use.kind === "in use") removal.kept.push({ ...newKeptCrd(use.crd, use.text), ...(use.retry ? { retry: use.retry } : {}) });
  }
  return removal;
}

function newKeptCrd(crd: KubeObject, reason: string): KeptCrd {
  return { crd, reason, text: `${describeObject(crd)}: ${reason}` };
}

/** Deletes a definition if it is unused. @returns its use; "unused" means that it is deleted. */
async function removeUnused(
  applier: Pick<Applier, "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  crd: KubeObject,
  signal: AbortSignal,
): Promise<CrdUse> {
  let checked = crd;
  for (let checks = 0; checks < MAX_CRD_CHECKS; checks++) {
    const use = await checkCrdUse(client, crd, signal);
    if (use.kind !== "unused") return use;
    checked = use.crd;
    if (await applier.removeUnchanged(checked)) return use;
  }
  const text = `treated as in use: other clients changed the CRD ${MAX_CRD_CHECKS} times during the check`;
  return { kind: "in use", crd: checked, reason: "KeepsChanging", text, retry: { cause: new Error(text) } };
}

/** The policy and the owner for another check of kept definitions. */
export interface RecheckRequest {
  policy: CrdPolicy;
  owner: Owner;
  /** Reports whether another extension needs an object. */
  isWanted: (object: KubeObject) => boolean;
}

/** A definition that stays after a check. */
export interface KeptCrdResult {
  left: LeftObject;
  /** Set when the next try may find the definition unused. */
  retry?: { readonly cause: unknown };
}

/** Reports whether a left object is a kept definition; otherwise it is left for another extension. */
export function isKept({ kept }: LeftObject): boolean {
  return kept !== undefined;
}

/** Converts a kept definition to the entry in the record of a release. */
export function toLeftObject({ crd, reason: because }: KeptCrd): LeftObject {
  return { ...toObjectRef(crd), kept: because };
}

/** Formats a kept definition, such as "CustomResourceDefinition things.example.com: custom resources of it exist". */
export function formatKeptCrd({ kept = "", ...ref }: LeftObject): string {
  return `${describeObject(ref)}: ${kept}`;
}

/**
 * Checks definitions again that an earlier release has kept: deletes those that the policy now allows to delete, and drops those that are gone or
 * have another owner. The bundle that contained them is no longer installed, so the ServiceAccount may have lost its permissions on them. Under
 * policies DeleteIfUnused and Retain, a definition stays if a permission is missing; otherwise narrower permissions would block every later upgrade
 * and the uninstall.
 * @returns the definitions that stay, with the reason of this check.
 * @throws RetryableError Retrying if a read fails for another reason; under policy Delete with all failures.
 */
export async function recheckKept(
  applier: Pick<Applier, "readEach" | "remove" | "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  definitions: readonly LeftObject[],
  { policy, owner, isWanted }: RecheckRequest,
  signal: AbortSignal,
): Promise<KeptCrdResult[]> {
  const still: KeptCrdResult[] = [];
  for (const one of definitions) {
    const { kept: _before, ...ref } = one;
    const stays = (reason: string): void => void still.push({ left: { ...ref, kept: reason } });
    const { objects, failures } = await applier.readEach([ref]);
    const [failure] = failures;
    if (failure && (policy === "Delete" || !isForbidden(failure.err))) throwFailures("could not get object: ", failures);
    if (failure) {
      stays(`reading the CRD is forbidden (${getErrorMessage(failure.err)})`);
      continue;
    }
    const [crd] = filterOwned([toKubeObject(ref)], objects, owner);
    if (!crd) continue;
    if (isWanted(crd)) {
      still.push({ left: one });
      continue;
    }
    try {
      for (const kept of (await removeCrds(applier, client, [crd], policy, signal)).kept)
        still.push({ left: toLeftObject(kept), ...(kept.retry ? { retry: kept.retry } : {}) });
    } catch (err) {
      const { cause } = err as Error;
      if (policy === "Delete" || !isForbidden(cause)) throw err;
      stays(`unused, but deleting the CRD is forbidden (${getErrorMessage(cause)})`);
    }
  }
  return still;
}
