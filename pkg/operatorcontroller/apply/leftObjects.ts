import type { KubeObject } from "../../api/k8s.ts";
import { describeObject, isCrd, objectKey } from "../../release/identity.ts";
import { crdPolicyOf } from "../../release/plan.ts";
import type { LeftObject, ReleaseRecord } from "../../release/record.ts";
import type { ReleaseJournal } from "../releases/releaseJournal.ts";
import { withCurrent } from "../releases/releaseStore.ts";
import { reconcileRequestOf } from "../state/extensionSpec.ts";
import { formatFirst } from "../state/objectActions.ts";
import { either } from "../state/waiting.ts";
import type { ApplyContext } from "./applyContext.ts";
import { asLeft, asObject, isKept, oursOf, recheckKept, removeCrds } from "./keptCrds.ts";

/**
 * Looks after what earlier releases left behind, and records what stays:
 *
 * | object                                | is deleted                                  | checked                                        |
 * | left for another extension            | once none wants it                          | in every reconcile                             |
 * | a CustomResourceDefinition that is kept | once it is unused, unless policy is Retain | after a start, on request, once a drift interval |
 *
 * Objects that other extensions have taken are forgotten.
 * @throws RetryableError Retrying with every refused deletion.
 */
export async function pruneLeft(deployed: ReleaseRecord, pass: ApplyContext, journal: Pick<ReleaseJournal, "leave">): Promise<void> {
  const { applier, phase, context, deps } = pass;
  const { left = [] } = deployed;
  const given = left.filter((one) => !isKept(one));
  const isDue = left.some(isKept) && isRecheckDue(left, pass);
  if (given.length === 0 && !isDue) return watchLeft(deployed, pass);
  let release = deployed;
  await pass.claiming(left.map(asObject), async () => {
    const kept = isDue ? await recheck(left.filter(isKept), pass) : left.filter(isKept);
    const stays = [...(await removeGiven(given, pass)), ...kept];
    const keys = new Set(left.map(objectKey));
    const deleted = applier.actions.filter(({ verb, ref }) => verb === "deleted" && keys.has(objectKey(ref)));
    if (deleted.length > 0) {
      const text = `deleted what an earlier bundle left: ${formatFirst(deleted.map(({ ref }) => describeObject(ref)))}`;
      deps.events.record(phase.extension, "Normal", "Pruned", text);
    }
    if (isSame(left, stays)) return;
    context.log.info(
      { left: stays.map(({ kept, ...ref }) => ({ target: describeObject(ref), kept })) },
      "what earlier releases left changed",
    );
    release = await journal.leave(deployed, stays);
    phase.releases.history = withCurrent(phase.releases.history, release);
  });
  watchLeft(release, pass);
}

/** Lets a reconcile follow when something that was left for others may be deleted, or anything that was left has been taken. */
export function watchLeft({ left = [] }: ReleaseRecord, pass: ApplyContext): void {
  if (left.length === 0) return;
  const { report } = pass.phase;
  const isOver = (): Promise<boolean> =>
    Promise.resolve(left.some((one) => (!isKept(one) && !isWanted(asObject(one), pass)) || isTaken(one, pass)));
  report.awaits = either(report.awaits, isOver);
}

/** @returns what stays. */
async function removeGiven(given: readonly LeftObject[], pass: ApplyContext): Promise<LeftObject[]> {
  if (given.length === 0) return [];
  const { applier, scoped, phase, owner, context, deps } = pass;
  const ours = oursOf(given.map(asObject), await applier.read(given), owner);
  const going = ours.filter((object) => !isWanted(object, pass));
  await applier.remove(going.filter((object) => !isCrd(object)));
  const { kept } = await removeCrds(applier, scoped, going.filter(isCrd), crdPolicyOf(phase.extension.spec), context.signal);
  for (const { text } of kept) deps.events.record(phase.extension, "Normal", "Kept", text);
  const wanted = new Set(ours.filter((object) => !going.includes(object)).map(objectKey));
  return [...given.filter((one) => wanted.has(objectKey(one))), ...kept.map(asLeft)];
}

/**
 * Never deletes custom resources: who sets policy Delete before an uninstall, or for the next upgrade, does not expect data to go at once.
 * @returns what stays.
 */
async function recheck(kept: readonly LeftObject[], pass: ApplyContext): Promise<LeftObject[]> {
  const { applier, scoped, phase, owner, context, deps } = pass;
  const policy = crdPolicyOf(phase.extension.spec) === "Retain" ? "Retain" : "DeleteIfUnused";
  const request = { policy, owner, isWanted: (crd: KubeObject): boolean => isWanted(crd, pass) } as const;
  const still = await recheckKept(applier, scoped, kept, request, context.signal);
  deps.memory.of(phase.extension).keptCheckedAt = deps.now();
  // What another extension owns may no longer be readable for this one.
  return still.map(({ left }) => left).filter((one) => !(isKept(one) && isTaken(one, pass)));
}

function isRecheckDue(left: readonly LeftObject[], pass: ApplyContext): boolean {
  const { phase, deps } = pass;
  const { keptCheckedAt } = deps.memory.of(phase.extension);
  const request = reconcileRequestOf(phase.extension);
  const sinceMs = keptCheckedAt === undefined ? Number.POSITIVE_INFINITY : deps.now() - keptCheckedAt;
  return (
    sinceMs < 0 ||
    sinceMs >= deps.driftIntervalMs ||
    (request !== undefined && request !== phase.extension.status?.lastHandledReconcileAt) ||
    left.some((one) => isKept(one) && isTaken(one, pass))
  );
}

function isSame(before: readonly LeftObject[], after: readonly LeftObject[]): boolean {
  const keyOf = (one: LeftObject): string => JSON.stringify([objectKey(one), one.kept]);
  const keys = new Set(before.map(keyOf));
  return keys.size === after.length && after.every((one) => keys.has(keyOf(one)));
}

function isWanted(object: KubeObject, { deps, owner }: ApplyContext): boolean {
  return deps.handovers.isWanted(owner.name, object);
}

function isTaken(one: LeftObject, { deps, owner }: ApplyContext): boolean {
  return deps.handovers.isSettledOn(owner.name, asObject(one));
}
