import { type KubeObject, refOf } from "../../api/k8s.ts";
import { certificateSecrets } from "../../certificates/wantedCertificates.ts";
import type { Client } from "../../kube/client.ts";
import { isCrd, objectKey } from "../../release/identity.ts";
import type { Owner } from "../../release/ownership.ts";
import { type CrdPolicy, planRelease, type ReleasePlan } from "../../release/plan.ts";
import type { LeftObject, ReleaseRecord } from "../../release/record.ts";
import type { LostConversionRequest } from "../crds/lostConversions.ts";
import type { Applier } from "./applier.ts";
import { takeOver } from "./handovers.ts";
import { asLeft, asObject, isKept, type KeptCrd, oursOf, recheckKept, removeCrds } from "./keptCrds.ts";

/** What may be on the cluster, what is wanted there, and for whom. */
export interface PruneRequest {
  /** Every release that may have left objects behind. */
  history: readonly ReleaseRecord[];
  desired: readonly KubeObject[];
  crdPolicy: CrdPolicy;
  owner: Owner;
  /** Whether an object stays because another extension wants it. */
  isWanted?: (object: KubeObject) => boolean;
}

/** What stays after a removal. */
export interface Pruned {
  /** CustomResourceDefinitions that stay from now on, for Events. */
  kept: KeptCrd[];
  /** Everything that stays with the owner's marks: what other extensions want, and the definitions that stay from now on or stayed before. */
  left: LeftObject[];
}

/**
 * What is live and the owner's that the history holds and the desired objects do not: what `prune` would look at, in that order. Definitions that an
 * earlier release has left in use are not expected to go.
 */
export async function leavingObjects(applier: Applier, request: PruneRequest): Promise<KubeObject[]> {
  const { prune: leaving, crds } = planOf(request);
  const kept = keptBefore(request);
  const candidates = [...leaving, ...crds.ifUnused].filter((object) => request.crdPolicy === "Delete" || !kept.has(objectKey(object)));
  const live = await applier.read(candidates.map(refOf));
  return oursOf(candidates, live, request.owner);
}

/**
 * Removes what the history holds and the desired objects do not, as far as it is still the owner's.
 * @throws RetryableError Retrying with every refusal; what was removed until then is in the applier's actions.
 */
export async function prune(applier: Applier, scoped: Client, request: PruneRequest, signal: AbortSignal): Promise<Pruned> {
  const { crdPolicy, owner, isWanted = () => false } = request;
  const plan = planOf(request);
  const before = keptBefore(request);
  const all = [...plan.prune, ...plan.crds.ifUnused, ...plan.crds.kept];
  if (all.length === 0) return { kept: [], left: [] };
  const leaving = all.filter((object) => !before.has(objectKey(object)));
  const ours = oursOf(leaving, await applier.read(leaving.map(refOf)), owner);
  const left = ours.filter(isWanted);
  const going = ours.filter((object) => !left.includes(object));
  await applier.remove(going.filter((object) => !isCrd(object)));
  const { kept } = await removeCrds(applier, scoped, going.filter(isCrd), crdPolicy, signal);
  // A reference to the extension, as the Go operator-controller writes it, would let the garbage collector delete it with the extension.
  await takeOver(scoped, crdsOf(kept), owner.uid, signal);
  const still = await recheckKept(
    applier,
    scoped,
    all.flatMap((object) => before.get(objectKey(object)) ?? []),
    { policy: crdPolicy, owner, isWanted },
    signal,
  );
  return { kept, left: [...left.map(refOf), ...kept.map(asLeft), ...still.map((one) => one.left)] };
}

/**
 * The CustomResourceDefinitions that the desired objects leave out, with what keeps their custom resources readable.
 * One request for each such definition.
 */
export async function leavingCrds(
  applier: Applier,
  request: PruneRequest,
): Promise<Pick<LostConversionRequest, "crds" | "policy" | "recorded">> {
  const before = keptBefore(request);
  const all = unwanted(request).filter(isCrd);
  const leaving = all.filter((crd) => !before.has(objectKey(crd)));
  const earlier = all.filter((crd) => before.has(objectKey(crd)));
  const live = leaving.length === 0 ? new Map<string, KubeObject>() : await applier.read(leaving.map(refOf));
  // One that may no longer be read stays as it is, see recheckKept.
  const { objects: readable } = await applier.readEach(earlier.map(refOf));
  const crds = oursOf(all, new Map([...live, ...readable]), request.owner);
  return { crds, policy: request.crdPolicy, recorded: request.history.flatMap(({ objects }) => objects.map(refOf)) };
}

/** What the history holds and the desired objects do not, whosever it is by now. */
export function unwanted(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const { prune: going, crds } = planOf(request);
  return [...going, ...crds.ifUnused, ...crds.kept];
}

/** The same without definitions that stay because they may not be deleted: what takes permissions to remove. */
export function removals(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const kept = keptBefore(request);
  return unwanted(request).filter((object) => request.crdPolicy === "Delete" || !kept.has(objectKey(object)));
}

/** The definitions that an earlier release has kept, by `objectKey`. */
function keptBefore({ history }: Pick<PruneRequest, "history">): ReadonlyMap<string, LeftObject> {
  const left = history.flatMap((release) => release.left ?? []).filter(isKept);
  return new Map(left.map((one) => [objectKey(one), one]));
}

function crdsOf(kept: readonly KeptCrd[]): KubeObject[] {
  return kept.map(({ crd }) => crd);
}

function planOf({ history, desired, crdPolicy }: Omit<PruneRequest, "owner">): ReleasePlan {
  const recorded = new Map(
    history.flatMap(({ objects, left = [] }) =>
      [...left.map(asObject), ...withSecrets(objects)].map((object) => [objectKey(object), object]),
    ),
  );
  return planRelease({ recorded: [...recorded.values()], desired: withSecrets(desired), crdPolicy });
}

/** Certificates are in no release, but come and go with the objects that need them. */
function withSecrets(objects: readonly KubeObject[]): KubeObject[] {
  return [...objects, ...certificateSecrets(objects)];
}
