import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { determineOwnership, type Owner } from "../../release/ownership.ts";
import { type CrdPolicy, getCrdPolicy } from "../../release/plan.ts";
import type { LeftObject } from "../../release/record.ts";
import { type CrdUse, checkCrdUse } from "../crds/crdUse.ts";
import { findUnsavedChange, requiresBackup } from "../crds/unsavedChanges.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import { type Applier, throwFailures } from "./applier.ts";

/** Converts a reference to an object that contains only apiVersion, kind, namespace and name. */
export function toKubeObject({ apiVersion, kind, name, namespace }: ObjectRef): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}

/** Returns the live versions of `objects` that belong to the owner. */
export function filterOwned(objects: readonly KubeObject[], live: LiveObjects, owner: Owner): KubeObject[] {
  return objects.flatMap((object) => {
    const found = live.get(getObjectKey(object));
    return found && determineOwnership(found, owner).kind === "ours" ? [found] : [];
  });
}

/** A CustomResourceDefinition that is kept. */
export interface KeptCrd {
  crd: KubeObject;
  reason: string;
  /** The CRD and the reason, for Events. */
  text: string;
  /** Set if a retry may find that the CRD is unused. */
  retry?: { readonly cause: unknown };
}

/** The result of removing CustomResourceDefinitions. */
export interface CrdRemoval {
  kept: KeptCrd[];
  /** Objects that this call deleted or that were already being deleted. */
  deleting: KubeObject[];
}

/** What happens to CustomResourceDefinitions. */
export interface CrdRule {
  policy: CrdPolicy;
  /** With policy Delete: returns why a CRD is kept with its custom resources anyway. Default: no CRD is kept. */
  findReasonToKeep?: ((crd: KubeObject) => Promise<string | undefined>) | undefined;
}

/** Returns the rule for the CustomResourceDefinitions that an upgrade or rollback of an extension removes. @param client uses the extension's identity */
export function getCrdRule(extension: Readonly<ClusterExtension>, client: Client, signal: AbortSignal): CrdRule {
  const policy = getCrdPolicy(extension.spec);
  if (!requiresBackup(extension)) return { policy };
  const findReasonToKeep = async (crd: KubeObject): Promise<string | undefined> => {
    const unsaved = await findUnsavedChange(client, extension, crd, signal);
    return unsaved && `spec.uninstall.backup is Required: ${unsaved}`;
  };
  return { policy, findReasonToKeep };
}

/** Maximum number of times that a CRD is checked because another client changed it between check and deletion. */
const MAX_CRD_CHECKS = 5;

/**
 * Deletes CustomResourceDefinitions according to the policy:
 *
 * | policy         | custom resources   | CRD     |
 * | Delete         | any                | deleted, unless the rule has a reason to keep it |
 * | Retain         | any                | kept    |
 * | DeleteIfUnused | none, see `checkCrdUse` | deleted |
 * | DeleteIfUnused | some, or unknown   | kept    |
 *
 * Deletes an unused CRD only if it still has the uid and resourceVersion that were checked. If another client has changed the CRD, checks it again.
 * @throws RetryableError Retrying with all failed deletions.
 */
export async function removeCrds(
  applier: Pick<Applier, "remove" | "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  crds: readonly KubeObject[],
  { policy, findReasonToKeep }: CrdRule,
  signal: AbortSignal,
): Promise<CrdRemoval> {
  if (policy === "Retain") {
    return { kept: crds.map((crd) => newKeptCrd(crd, "spec.uninstall.crdPolicy is Retain")), deleting: [] };
  }
  if (policy === "Delete") {
    const kept: KeptCrd[] = [];
    for (const crd of findReasonToKeep ? crds : []) {
      const reason = await findReasonToKeep?.(crd);
      if (reason !== undefined) kept.push(newKeptCrd(crd, reason));
    }
    const deleting = crds.filter((crd) => !kept.some((one) => one.crd === crd));
    await applier.remove(deleting.filter(({ metadata }) => metadata.deletionTimestamp === undefined));
    return { kept, deleting };
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

/** Deletes a CRD if it is unused. @returns the use of the CRD; "unused" means that it was deleted. */
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

/** The rule and the owner for checking kept CRDs again. */
export interface RecheckRequest extends CrdRule {
  owner: Owner;
  /** Reports whether another extension needs an object. */
  isWanted: (object: KubeObject) => boolean;
}

/** A CRD that is kept after a check. */
export interface KeptCrdResult {
  left: LeftObject;
  /** Set if a retry may find that the CRD is unused. */
  retry?: { readonly cause: unknown };
}

/** Reports whether a left object is a kept CRD. Any other left object is kept for another extension. */
export function isKept({ kept }: LeftObject): boolean {
  return kept !== undefined;
}

/** Converts a kept CRD to an entry in the record of a release. */
export function toLeftObject({ crd, reason: because }: KeptCrd): LeftObject {
  return { ...toObjectRef(crd), kept: because };
}

/** Formats a kept CRD, such as "CustomResourceDefinition things.example.com: custom resources exist". */
export function formatKeptCrd({ kept = "", ...ref }: LeftObject): string {
  return `${describeObject(ref)}: ${kept}`;
}

/**
 * Checks the CRDs that an earlier release has kept: deletes CRDs if the policy now allows this, and drops CRDs that no longer exist or have another
 * owner. The bundle that contained the CRDs is no longer installed, so the ServiceAccount may have lost its permissions for them. With policies
 * DeleteIfUnused and Retain, a CRD is kept if a permission is missing; otherwise reduced permissions would block every later upgrade and the
 * uninstall.
 * @returns the CRDs that are kept, with the reason that this check found.
 * @throws RetryableError Retrying if a read fails for another reason; with policy Delete, all failures including missing permissions.
 */
export async function recheckKept(
  applier: Pick<Applier, "readEach" | "remove" | "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  definitions: readonly LeftObject[],
  { owner, isWanted, ...rule }: RecheckRequest,
  signal: AbortSignal,
): Promise<KeptCrdResult[]> {
  const { policy } = rule;
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
      for (const kept of (await removeCrds(applier, client, [crd], rule, signal)).kept)
        still.push({ left: toLeftObject(kept), ...(kept.retry ? { retry: kept.retry } : {}) });
    } catch (err) {
      const { cause } = err as Error;
      if (policy === "Delete" || !isForbidden(cause)) throw err;
      stays(`unused, but deleting the CRD is forbidden (${getErrorMessage(cause)})`);
    }
  }
  return still;
}
