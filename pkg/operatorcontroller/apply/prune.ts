import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { listCertificateSecrets } from "../../certificates/desiredCertificates.ts";
import type { Client } from "../../kube/client.ts";
import { getObjectKey, isCrd } from "../../release/identity.ts";
import type { Owner } from "../../release/ownership.ts";
import { type CrdPolicy, planRelease, type ReleasePlan } from "../../release/plan.ts";
import type { LeftObject, ReleaseRecord } from "../../release/record.ts";
import type { LostConversionRequest } from "../crds/lostConversions.ts";
import type { Applier } from "./applier.ts";
import { takeOver } from "./handovers.ts";
import { type CrdRule, filterOwned, isKept, type KeptCrd, recheckKept, removeCrds, toKubeObject, toLeftObject } from "./keptCrds.ts";

/** The releases whose objects are pruned, the desired objects, and their owner. */
export interface PruneRequest {
  /** Every release that may have left objects on the cluster. */
  history: readonly ReleaseRecord[];
  desired: readonly KubeObject[];
  crdPolicy: CrdPolicy;
  owner: Owner;
  /** With policy Delete: returns why a CRD is kept anyway. Default: no CRD is kept. */
  findReasonToKeep?: CrdRule["findReasonToKeep"];
  /** Reports whether an object is kept because another extension needs it. */
  isWanted?: (object: KubeObject) => boolean;
}

/** The objects that pruning keeps. */
export interface Pruned {
  /** CustomResourceDefinitions that are kept from now on, for Events. */
  kept: KeptCrd[];
  /** All kept objects with the owner's labels: objects that other extensions need, and CRDs that were kept now or earlier. */
  left: LeftObject[];
}

/**
 * Lists the live objects that `prune` would delete, in deletion order: objects in the history that belong to the owner and are not desired. Omits
 * CRDs that an earlier release has kept, because they are expected to be kept.
 */
export async function listLeavingObjects(applier: Applier, request: PruneRequest): Promise<KubeObject[]> {
  const { prune: leaving, crds } = buildPlan(request);
  const kept = listKept(request);
  const candidates = [...leaving, ...crds.ifUnused].filter((object) => request.crdPolicy === "Delete" || !kept.has(getObjectKey(object)));
  const live = await applier.read(candidates.map(toObjectRef));
  return filterOwned(candidates, live, request.owner);
}

/**
 * Deletes the objects in the history that are not desired, if they still belong to the owner.
 * @throws RetryableError Retrying with all failures; the deletions so far are in the applier's actions.
 */
export async function prune(applier: Applier, scoped: Client, request: PruneRequest, signal: AbortSignal): Promise<Pruned> {
  const { crdPolicy, findReasonToKeep, owner, isWanted = () => false } = request;
  const rule: CrdRule = { policy: crdPolicy, findReasonToKeep };
  const plan = buildPlan(request);
  const before = listKept(request);
  const all = [...plan.prune, ...plan.crds.ifUnused, ...plan.crds.kept];
  if (all.length === 0) return { kept: [], left: [] };
  const leaving = all.filter((object) => !before.has(getObjectKey(object)));
  const ours = filterOwned(leaving, await applier.read(leaving.map(toObjectRef)), owner);
  const left = ours.filter(isWanted);
  const toDelete = ours.filter((object) => !left.includes(object));
  await applier.remove(toDelete.filter((object) => !isCrd(object)));
  const { kept } = await removeCrds(applier, scoped, toDelete.filter(isCrd), rule, signal);
  // The Go operator-controller adds an owner reference to the extension. With it, the garbage collector would delete the CRD together with the extension.
  await takeOver(scoped, getCrds(kept), owner.uid, signal);
  const still = await recheckKept(
    applier,
    scoped,
    all.flatMap((object) => before.get(getObjectKey(object)) ?? []),
    { ...rule, owner, isWanted },
    signal,
  );
  return { kept, left: [...left.map(toObjectRef), ...kept.map(toLeftObject), ...still.map((one) => one.left)] };
}

/**
 * Lists the live CustomResourceDefinitions in the history that are not desired, and the objects that may serve their conversion webhooks. Sends one
 * request for each such CRD.
 */
export async function listLeavingCrds(
  applier: Applier,
  request: PruneRequest,
): Promise<Pick<LostConversionRequest, "crds" | "policy" | "recorded">> {
  const before = listKept(request);
  const all = listUndesired(request).filter(isCrd);
  const leaving = all.filter((crd) => !before.has(getObjectKey(crd)));
  const earlier = all.filter((crd) => before.has(getObjectKey(crd)));
  const live = leaving.length === 0 ? new Map<string, KubeObject>() : await applier.read(leaving.map(toObjectRef));
  // If the client no longer has permission to read a CRD, the CRD does not change, see recheckKept.
  const { objects: readable } = await applier.readEach(earlier.map(toObjectRef));
  const crds = filterOwned(all, new Map([...live, ...readable]), request.owner);
  return { crds, policy: request.crdPolicy, recorded: request.history.flatMap(({ objects }) => objects.map(toObjectRef)) };
}

/** Lists the objects in the history that are not desired, regardless of their current owner. */
export function listUndesired(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const { prune: toDelete, crds } = buildPlan(request);
  return [...toDelete, ...crds.ifUnused, ...crds.kept];
}

/** Lists the objects that the identity needs permission to delete: like `listUndesired`, but without kept CRDs that the policy does not delete. */
export function listRemovals(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const kept = listKept(request);
  return listUndesired(request).filter((object) => request.crdPolicy === "Delete" || !kept.has(getObjectKey(object)));
}

/** Returns the CRDs that an earlier release has kept, by `getObjectKey`. */
function listKept({ history }: Pick<PruneRequest, "history">): ReadonlyMap<string, LeftObject> {
  const left = history.flatMap((release) => release.left ?? []).filter(isKept);
  return new Map(left.map((one) => [getObjectKey(one), one]));
}

function getCrds(kept: readonly KeptCrd[]): KubeObject[] {
  return kept.map(({ crd }) => crd);
}

function buildPlan({ history, desired, crdPolicy }: Omit<PruneRequest, "owner">): ReleasePlan {
  const recorded = new Map(
    history.flatMap(({ objects, left = [] }) =>
      [...left.map(toKubeObject), ...withSecrets(objects)].map((object) => [getObjectKey(object), object]),
    ),
  );
  return planRelease({ recorded: [...recorded.values()], desired: withSecrets(desired), crdPolicy });
}

/** Adds the Secrets that contain certificates: they are not part of a release, but are created and deleted with the objects that need them. */
function withSecrets(objects: readonly KubeObject[]): KubeObject[] {
  return [...objects, ...listCertificateSecrets(objects)];
}
