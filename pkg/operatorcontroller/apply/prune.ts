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
import { filterOwned, isKept, type KeptCrd, recheckKept, removeCrds, toKubeObject, toLeftObject } from "./keptCrds.ts";

/** The releases whose objects are pruned, the desired objects, and their owner. */
export interface PruneRequest {
  /** Every release that may have left objects on the cluster. */
  history: readonly ReleaseRecord[];
  desired: readonly KubeObject[];
  crdPolicy: CrdPolicy;
  owner: Owner;
  /** Reports whether an object stays because another extension needs it. */
  isWanted?: (object: KubeObject) => boolean;
}

/** The objects that stay after pruning. */
export interface Pruned {
  /** CustomResourceDefinitions that stay from now on, for Events. */
  kept: KeptCrd[];
  /** Everything that stays with the owner's marks: objects that other extensions need, and new and earlier kept definitions. */
  left: LeftObject[];
}

/**
 * Lists the live objects that `prune` would delete, in that order: objects of the history that belong to the owner and are not desired. Without
 * the definitions that an earlier release has kept, which are expected to stay.
 */
export async function listLeavingObjects(applier: Applier, request: PruneRequest): Promise<KubeObject[]> {
  const { prune: leaving, crds } = buildPlan(request);
  const kept = listKept(request);
  const candidates = [...leaving, ...crds.ifUnused].filter((object) => request.crdPolicy === "Delete" || !kept.has(getObjectKey(object)));
  const live = await applier.read(candidates.map(toObjectRef));
  return filterOwned(candidates, live, request.owner);
}

/**
 * Deletes the objects of the history that are not desired, if they still belong to the owner.
 * @throws RetryableError Retrying with all failures; the deletions so far are in the applier's actions.
 */
export async function prune(applier: Applier, scoped: Client, request: PruneRequest, signal: AbortSignal): Promise<Pruned> {
  const { crdPolicy, owner, isWanted = () => false } = request;
  const plan = buildPlan(request);
  const before = listKept(request);
  const all = [...plan.prune, ...plan.crds.ifUnused, ...plan.crds.kept];
  if (all.length === 0) return { kept: [], left: [] };
  const leaving = all.filter((object) => !before.has(getObjectKey(object)));
  const ours = filterOwned(leaving, await applier.read(leaving.map(toObjectRef)), owner);
  const left = ours.filter(isWanted);
  const toDelete = ours.filter((object) => !left.includes(object));
  await applier.remove(toDelete.filter((object) => !isCrd(object)));
  const { kept } = await removeCrds(applier, scoped, toDelete.filter(isCrd), crdPolicy, signal);
  // A reference to the extension, as the Go operator-controller writes it, would let the garbage collector delete it with the extension.
  await takeOver(scoped, getCrds(kept), owner.uid, signal);
  const still = await recheckKept(
    applier,
    scoped,
    all.flatMap((object) => before.get(getObjectKey(object)) ?? []),
    { policy: crdPolicy, owner, isWanted },
    signal,
  );
  return { kept, left: [...left.map(toObjectRef), ...kept.map(toLeftObject), ...still.map((one) => one.left)] };
}

/**
 * Lists the live CustomResourceDefinitions of the history that are not desired, with the objects that may serve their conversion webhooks.
 * Sends one request for each such definition.
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
  // A definition that may no longer be read stays unchanged, see recheckKept.
  const { objects: readable } = await applier.readEach(earlier.map(toObjectRef));
  const crds = filterOwned(all, new Map([...live, ...readable]), request.owner);
  return { crds, policy: request.crdPolicy, recorded: request.history.flatMap(({ objects }) => objects.map(toObjectRef)) };
}

/** Lists the objects of the history that are not desired, regardless of their current owner. */
export function listUndesired(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const { prune: toDelete, crds } = buildPlan(request);
  return [...toDelete, ...crds.ifUnused, ...crds.kept];
}

/** Lists the objects that need permissions for their deletion: like `listUndesired`, without kept definitions that the policy does not delete. */
export function listRemovals(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const kept = listKept(request);
  return listUndesired(request).filter((object) => request.crdPolicy === "Delete" || !kept.has(getObjectKey(object)));
}

/** Returns the definitions that an earlier release has kept, by `getObjectKey`. */
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

/** Adds the Secrets of certificates: they are not part of a release, but are created and deleted with the objects that need them. */
function withSecrets(objects: readonly KubeObject[]): KubeObject[] {
  return [...objects, ...listCertificateSecrets(objects)];
}
