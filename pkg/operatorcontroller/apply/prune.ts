import { type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { certificateSecrets } from "../../certificates/wantedCertificates.ts";
import type { Client } from "../../kube/client.ts";
import { isCrd, objectKey } from "../../release/identity.ts";
import { type Owner, ownershipOf } from "../../release/ownership.ts";
import { type CrdPolicy, planRelease, type ReleasePlan } from "../../release/plan.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { Applier, LiveObjects } from "./applier.ts";
import type { LostConversionRequest } from "./lostConversions.ts";
import { type KeptCrd, removeCrds } from "./removeCrds.ts";
import { takeOver } from "./takeOver.ts";

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
  /** CustomResourceDefinitions. */
  kept: KeptCrd[];
  /** What other extensions want, still with the owner's marks. */
  left: ObjectRef[];
}

/** What is live and the owner's that the history holds and the desired objects do not: what `prune` would look at, in that order. */
export async function leavingObjects(applier: Applier, request: PruneRequest): Promise<KubeObject[]> {
  const { prune: leaving, crds } = planOf(request);
  const candidates = [...leaving, ...crds.ifUnused];
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
  const leaving = [...plan.prune, ...plan.crds.ifUnused, ...plan.crds.kept];
  if (leaving.length === 0) return { kept: [], left: [] };
  const ours = oursOf(leaving, await applier.read(leaving.map(refOf)), owner);
  const left = ours.filter(isWanted);
  const going = ours.filter((object) => !left.includes(object));
  await applier.remove(going.filter((object) => !isCrd(object)));
  const { kept } = await removeCrds(applier, scoped, going.filter(isCrd), crdPolicy, signal);
  // A reference to the extension, as the Go operator-controller writes it, would let the garbage collector delete it with the extension.
  await takeOver(scoped, crdsOf(kept), owner.uid, signal);
  return { kept, left: left.map(refOf) };
}

/**
 * The CustomResourceDefinitions that the desired objects leave out, with what keeps their custom resources readable.
 * One request for each such definition.
 */
export async function leavingCrds(
  applier: Applier,
  request: PruneRequest,
): Promise<Pick<LostConversionRequest, "crds" | "policy" | "recorded">> {
  const leaving = unwanted(request).filter(isCrd);
  const crds = leaving.length === 0 ? [] : oursOf(leaving, await applier.read(leaving.map(refOf)), request.owner);
  return { crds, policy: request.crdPolicy, recorded: request.history.flatMap(({ objects }) => objects.map(refOf)) };
}

/** What the history holds and the desired objects do not, whosever it is by now. */
export function unwanted(request: Omit<PruneRequest, "owner">): KubeObject[] {
  const { prune: going, crds } = planOf(request);
  return [...going, ...crds.ifUnused, ...crds.kept];
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

/** What names an object, as an object. */
export function asObject({ apiVersion, kind, name, namespace }: ObjectRef): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}

/** Certificates are in no release, but come and go with the objects that need them. */
function withSecrets(objects: readonly KubeObject[]): KubeObject[] {
  return [...objects, ...certificateSecrets(objects)];
}

/** Those of `objects` that are live and the owner's, as they are on the cluster. */
export function oursOf(objects: readonly KubeObject[], live: LiveObjects, owner: Owner): KubeObject[] {
  return objects.flatMap((object) => {
    const found = live.get(objectKey(object));
    return found && ownershipOf(found, owner).kind === "ours" ? [found] : [];
  });
}
