import type { KubeObject } from "../../api/k8s.ts";
import { describeObject, getObjectKey, isCrd } from "../../release/identity.ts";
import { getSafeCrdPolicy } from "../../release/plan.ts";
import type { LeftObject, ReleaseRecord } from "../../release/record.ts";
import type { ReleaseJournal } from "../releases/releaseJournal.ts";
import { replaceCurrent } from "../releases/releaseStore.ts";
import { combineUnblockChecks } from "../state/conditionPoller.ts";
import { readReconcileRequest } from "../state/extensionSpec.ts";
import { formatFirst } from "../state/objectActions.ts";
import type { ApplyContext } from "./applyContext.ts";
import { filterOwned, getCrdRule, isKept, recheckKept, removeCrds, toKubeObject, toLeftObject } from "./keptCrds.ts";

/**
 * Prunes objects that were kept from earlier releases, and records the objects that are still kept:
 *
 * | object                          | is deleted                                | checked                                          |
 * | kept for another extension      | when no other extension needs it          | in every reconcile                               |
 * | a kept CustomResourceDefinition | when it is unused, except with policy Retain | after a start, on request, once a drift interval |
 *
 * Drops the record of objects that other extensions have taken over.
 * @throws RetryableError Retrying with all failed deletions.
 */
export async function pruneLeft(deployed: ReleaseRecord, context: ApplyContext, journal: Pick<ReleaseJournal, "storeLeft">): Promise<void> {
  const { applier, phase, step, deps } = context;
  const { left = [] } = deployed;
  const given = left.filter((one) => !isKept(one));
  const isDue = left.some(isKept) && isRecheckDue(left, context);
  if (given.length === 0 && !isDue) return watchLeft(deployed, context);
  let release = deployed;
  await context.withLocks(left.map(toKubeObject), async () => {
    const kept = isDue ? await recheckKeptCrds(left.filter(isKept), context) : left.filter(isKept);
    const stays = [...(await pruneGiven(given, context)), ...kept];
    const keys = new Set(left.map(getObjectKey));
    const deleted = applier.actions.filter(({ verb, ref }) => verb === "deleted" && keys.has(getObjectKey(ref)));
    if (deleted.length > 0) {
      const text = `deleted objects that were kept from an earlier bundle: ${formatFirst(deleted.map(({ ref }) => describeObject(ref)))}`;
      deps.events.record(phase.extension, "Normal", "Pruned", text);
    }
    if (areSame(left, stays)) return;
    step.log.info(
      { left: stays.map(({ kept, ...ref }) => ({ target: describeObject(ref), kept })) },
      "objects kept from earlier releases changed",
    );
    release = await journal.storeLeft(deployed, stays);
    phase.releases.history = replaceCurrent(phase.releases.history, release);
  });
  await followLeft(release, context);
}

/** Keeps the permissions to delete the objects that are left for another extension, and requests a reconcile when that may change. */
export async function followLeft(release: ReleaseRecord, context: ApplyContext): Promise<void> {
  if ((release.left ?? []).some((one) => !isKept(one))) await context.deps.managed?.keepEarlierRules(context.phase.extension);
  watchLeft(release, context);
}

/** Requests a reconcile when an object that was kept for another extension may be deleted, or another extension has taken over a left object. */
function watchLeft({ left = [] }: ReleaseRecord, context: ApplyContext): void {
  if (left.length === 0) return;
  const { report } = context.phase;
  const isOver = (): Promise<boolean> =>
    Promise.resolve(left.some((one) => (!isKept(one) && !isDesired(toKubeObject(one), context)) || isTaken(one, context)));
  report.awaits = combineUnblockChecks(report.awaits, isOver);
}

/** Deletes left objects that no other extension needs. @returns the objects that are kept. */
async function pruneGiven(given: readonly LeftObject[], context: ApplyContext): Promise<LeftObject[]> {
  if (given.length === 0) return [];
  const { applier, scoped, phase, owner, step, deps } = context;
  const ours = filterOwned(given.map(toKubeObject), await applier.read(given), owner);
  const toDelete = ours.filter((object) => !isDesired(object, context));
  await applier.remove(toDelete.filter((object) => !isCrd(object)));
  const { kept } = await removeCrds(applier, scoped, toDelete.filter(isCrd), getCrdRule(phase.extension, scoped, step.signal), step.signal);
  for (const { text } of kept) deps.events.record(phase.extension, "Normal", "Kept", text);
  const desired = new Set(ours.filter((object) => !toDelete.includes(object)).map(getObjectKey));
  return [...given.filter((one) => desired.has(getObjectKey(one))), ...kept.map(toLeftObject)];
}

/**
 * Checks kept CRDs again. Never deletes custom resources, because an administrator who sets policy Delete before an uninstall or upgrade does not
 * expect an immediate loss of data.
 * @returns the CRDs that are kept.
 */
async function recheckKeptCrds(kept: readonly LeftObject[], context: ApplyContext): Promise<LeftObject[]> {
  const { applier, scoped, phase, owner, step, deps } = context;
  const policy = getSafeCrdPolicy(phase.extension.spec);
  const request = { policy, owner, isWanted: (crd: KubeObject): boolean => isDesired(crd, context) };
  const still = await recheckKept(applier, scoped, kept, request, step.signal);
  deps.memory.of(phase.extension).keptCheckedAt = deps.now();
  // If another extension has taken over a CRD, this extension may no longer have permission to read it.
  return still.map(({ left }) => left).filter((one) => !(isKept(one) && isTaken(one, context)));
}

function isRecheckDue(left: readonly LeftObject[], context: ApplyContext): boolean {
  const { phase, deps } = context;
  const { keptCheckedAt } = deps.memory.of(phase.extension);
  const request = readReconcileRequest(phase.extension);
  const sinceMs = keptCheckedAt === undefined ? Number.POSITIVE_INFINITY : deps.now() - keptCheckedAt;
  return (
    sinceMs < 0 ||
    sinceMs >= deps.driftIntervalMs ||
    (request !== undefined && request !== phase.extension.status?.lastHandledReconcileAt) ||
    left.some((one) => isKept(one) && isTaken(one, context))
  );
}

function areSame(before: readonly LeftObject[], after: readonly LeftObject[]): boolean {
  const getLeftKey = (one: LeftObject): string => JSON.stringify([getObjectKey(one), one.kept]);
  const keys = new Set(before.map(getLeftKey));
  return keys.size === after.length && after.every((one) => keys.has(getLeftKey(one)));
}

function isDesired(object: KubeObject, { deps, owner }: ApplyContext): boolean {
  return deps.handovers.isWanted(owner.name, object);
}

function isTaken(one: LeftObject, { deps, owner }: ApplyContext): boolean {
  return deps.handovers.isSettledOn(owner.name, toKubeObject(one));
}
