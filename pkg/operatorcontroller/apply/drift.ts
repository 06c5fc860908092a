import { Reason } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { isMigrated } from "../../api/migration.ts";
import { newProblem, type ProblemObject, toProblemObject } from "../../api/problems.ts";
import { RetryableError } from "../../errors/errors.ts";
import { type DriftedField, type DriftPolicy, driftedFields, driftPolicyOf } from "../../release/drift.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { wroteAlthoughSame } from "../../release/managedFields.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { watchIdentityOf } from "../permissions/identity.ts";
import { type MayWatchAll, watchPermissions } from "../permissions/ownRules.ts";
import { reconcileRequestOf } from "../state/extensionSpec.ts";
import { formatActions, formatFirst, type LiveObjects, selectChanges } from "../state/objectActions.ts";
import { type Compared, markOf } from "../watches/followedObjects.ts";
import { formatUnwatched } from "../watches/objectWatches.ts";
import type { Outcome } from "./applier.ts";
import type { ApplyContext } from "./applyContext.ts";
import { foreignObjects } from "./ownershipCheck.ts";
import { kindsOf } from "./preparedObjects.ts";

/** Watched objects are compared this seldom nevertheless, in drift intervals; with the default interval that is once an hour. */
export const FULL_EVERY = 12;

/** Which objects of a deployed release are to be compared with the cluster. */
interface ComparisonDue {
  /** Everything is; otherwise `keys`. */
  readonly isFull: boolean;
  /** The drift interval is up, so what cannot be watched is in `keys`. */
  readonly isIntervalUp: boolean;
  /** Of `objectKey`. */
  readonly keys: ReadonlySet<string>;
}

/**
 * What is to be compared in a pass:
 *
 * | objects                                       | are compared                         |
 * | any                                           | first of all, on request, once in 12 intervals, and when another identity acts |
 * | seen by a watch to be other than applied      | at once                              |
 * | whose last comparison failed                  | in every pass                        |
 * | reported before the policy became Correct     | at once                              |
 * | that cannot be watched                        | once an interval                     |
 *
 * Without watches everything is compared on request and once an interval.
 * @param reported keys of what was reported under another policy and is to be put back now.
 */
function comparisonDue(
  { deps, phase, scoped }: Pick<ApplyContext, "deps" | "phase" | "scoped">,
  reported: readonly string[],
): ComparisonDue {
  const { extension } = phase;
  const { name, uid = "" } = extension.metadata;
  const { watches, memory, now, driftIntervalMs } = deps;
  const { checkedAt, comparedAt } = memory.of(extension);
  const isUp = (since: number | undefined, ms: number): boolean => {
    const sinceMs = since === undefined ? Number.POSITIVE_INFINITY : now() - since;
    return sinceMs < 0 || sinceMs >= ms;
  };
  const isIntervalUp = isUp(checkedAt, driftIntervalMs);
  const request = reconcileRequestOf(extension);
  const isRequested = request !== undefined && request !== extension.status?.lastHandledReconcileAt;
  if (!watches) return { isFull: isRequested || isIntervalUp, isIntervalUp, keys: new Set(reported) };
  const isUnknown = !watches.isFollowing(name, uid, watchIdentityOf(extension, scoped).key);
  const isFull = isRequested || isUnknown || isUp(comparedAt, driftIntervalMs * FULL_EVERY);
  const unwatched = isIntervalUp ? watches.unwatched(name).map(({ ref }) => ref) : [];
  return { isFull, isIntervalUp, keys: new Set([...reported, ...[...watches.suspects(name), ...unwatched].map(objectKey)]) };
}

/** An object that is other than it was applied. */
interface Drift {
  readonly ref: ObjectRef;
  readonly kind: "deleted" | "changed";
  /** What was changed; empty where that is not known. */
  readonly fields: readonly DriftedField[];
  /** It happened between the reading of the object and the apply, which put it back without ever having seen it. */
  readonly meanwhile?: boolean;
}

/** Drift of what was taken over is told and not put back: until when. */
const TAKEN_OVER =
  "the extension was taken over from another operator-controller: drift is put back from its first upgrade on, or once spec.drift.policy is Correct";

/** Tells of the drift of one extension in one pass: in Events what is newly found, in the condition what stays as it is. */
class DriftReport {
  readonly #pass: ApplyContext;
  readonly #chosen: DriftPolicy;

  constructor(pass: ApplyContext, chosen: DriftPolicy) {
    this.#pass = pass;
    this.#chosen = chosen;
  }

  /** Records Events for what a comparison of `objects` found and was not known yet, and for what it put back; remembers what stays as it is. */
  tell(objects: readonly KubeObject[]): void {
    const { deps, phase, applier } = this.#pass;
    const { policy, isTakenOver } = this.#chosen;
    const { extension, releases } = phase;
    const bundle = releases.installed?.name ?? "";
    const drifts = objects.flatMap((object) => driftOf(applier.outcomes.get(objectKey(object)), policy) ?? []);
    const { drifted } = deps.memory.of(extension);
    const known = new Set([...drifted.values()].map(({ text }) => text));
    for (const key of applier.outcomes.keys()) drifted.delete(key);
    if (policy === "Warn")
      for (const drift of drifts) drifted.set(objectKey(drift.ref), { text: describeDrift(drift), object: toDriftedObject(drift) });
    const news = drifts.map(describeDrift).filter((text) => !known.has(text));
    const why = isTakenOver ? `; ${TAKEN_OVER}` : "";
    if (news.length > 0) deps.events.record(extension, "Warning", "Drifted", `of bundle "${bundle}": ${formatFirst(news)}${why}`);
    if (policy === "Warn") return; // what the applier wrote before is not about this
    const keys = new Set(drifts.map(({ ref }) => objectKey(ref)));
    const corrected = selectChanges(applier.actions).filter(({ ref }) => keys.has(objectKey(ref)));
    if (corrected.length === 0) return;
    deps.metrics?.corrected(extension.metadata.name, corrected.length);
    deps.events.record(extension, "Normal", "DriftCorrected", `put back of bundle "${bundle}": ${formatActions(corrected)}`);
  }

  /** Says in the condition what is not put back, and what is looked after less closely. */
  note(): void {
    const { deps, phase } = this.#pass;
    const { extension } = phase;
    const { drifted } = deps.memory.of(extension);
    const why = this.#chosen.isTakenOver ? TAKEN_OVER : "drift is not put back, since spec.drift.policy is Warn";
    const message = `${why}: ${formatFirst([...drifted.values()].map(({ text }) => text))}`;
    const details = [...drifted.values()].map(({ object }) => object);
    if (drifted.size > 0) phase.report.problems.push(newProblem("DriftDetected", { message, details }));
    const unwatched = (deps.watches?.unwatched(extension.metadata.name) ?? []).filter(({ because }) => because !== undefined);
    if (unwatched.length === 0) return;
    phase.report.problems.push(newProblem("DriftUnwatched", { message: formatUnwatched(unwatched, deps.driftIntervalMs) }));
  }
}

/**
 * What an apply put right, or with policy Warn a dry run would; undefined where the object is as it should be, or nothing is known. What
 * happened while a dry run was made is no drift yet: whoever watches the object hears of it.
 */
function driftOf(outcome: Outcome | undefined, policy: DriftPolicy["policy"]): Drift | undefined {
  if (!outcome) return undefined;
  const { before, after } = outcome;
  if (!before) return { ref: refOf(after), kind: "deleted", fields: [] };
  const ref = refOf(before);
  const fields = driftedFields(before, after);
  if (fields.length > 0) return { ref, kind: "changed", fields };
  if (policy === "Warn") return undefined;
  if (before.metadata.uid !== after.metadata.uid) return { ref, kind: "deleted", fields, meanwhile: true };
  return wroteAlthoughSame(before.metadata, after.metadata) ? { ref, kind: "changed", fields, meanwhile: true } : undefined;
}

/** Such as `Service ns/a was changed: /spec/ports/0/name by "kubectl-edit"`; never with values, which may be secret. */
function describeDrift({ ref, kind, fields, meanwhile }: Drift): string {
  const what = `${describeObject(ref)} was ${kind}${meanwhile ? " while it was compared" : ""}`;
  return fields.length === 0 ? what : `${what}: ${formatFirst(fields.map(describeField))}`;
}

function toDriftedObject({ ref, kind, fields }: Drift): ProblemObject {
  return { ...toProblemObject(ref), message: kind, ...(fields.length > 0 ? { fields: fields.map(({ path }) => path) } : {}) };
}

function describeField({ path, managers }: DriftedField): string {
  return managers.length === 0 ? `${path} removed` : `${path} by ${managers.map((manager) => `"${manager}"`).join(" and ")}`;
}

type ActivePolicy = "Correct" | "Warn";

/**
 * Compares objects of a deployed release with the cluster as far as that is due (see `comparisonDue`), and puts back (policy Correct) or
 * reports (Warn) what is other than it was applied. With policy Ignore nothing is compared. An object whose kind is no longer served does not
 * keep the others from it.
 * @throws RetryableError with everything that could not be compared or put back.
 */
export async function maintain(deployed: ReleaseRecord, pass: ApplyContext): Promise<void> {
  const { deps, phase, scoped, context } = pass;
  const { extension, releases, changes } = phase;
  const chosen = driftPolicyOf(extension.spec, deployed);
  const { policy } = chosen;
  const remembered = deps.memory.of(extension);
  const reported = policy === "Correct" ? [...remembered.drifted.keys()] : [];
  if (policy !== "Warn") remembered.drifted.clear();
  if (policy === "Ignore") return deps.watches?.forget(extension.metadata.name);
  const report = new DriftReport(pass, chosen);
  const due = comparisonDue(pass, reported);
  if (!due.isFull && due.keys.size === 0) {
    deps.watches?.remind(extension.metadata.name);
    return report.note();
  }
  changes.began = true;
  const from = deps.now();
  const { objects, kinds } = await pass.prepare(deployed.objects);
  const wanted = due.isFull ? objects : objects.filter((object) => due.keys.has(objectKey(object)));
  const unserved = wanted.filter((object) => kinds.unserved.some((other) => objectKey(other) === objectKey(object)));
  const served = wanted.filter((object) => !unserved.includes(object));
  deps.watches?.hold(extension.metadata.name);
  let mayWatchAll: MayWatchAll | undefined;
  try {
    if (deps.watches && due.isFull) mayWatchAll = await watchPermissions(scoped, served, (gvk) => kinds.resourceOf(gvk), context.signal);
    await compare(pass, served, policy);
  } finally {
    report.tell(wanted); // also of a comparison that ended early
    watchOn(pass, wanted, chosen, due.isFull ? { mayWatchAll } : undefined);
    if (deps.watches && due.isFull) remembered.comparedAt = from; // what failed is known by name now
  }
  if (due.isFull && policy === "Correct") changes.live = pass.applier.applied;
  report.note();
  if (unserved.length > 0) {
    const text = `this cluster no longer serves ${kindsOf(unserved)}: objects of that kind in bundle "${releases.installed?.name ?? ""}" cannot be put back`;
    throw new RetryableError("KindNotServed", text);
  }
  if (due.isFull || due.isIntervalUp) remembered.checkedAt = from;
}

/** Watches everything of a release that has just been applied. @param mayWatchAll as `watchPermissions` gave it; undefined where nothing is watched. */
export function followRelease({ deps, phase, scoped, applier }: ApplyContext, mayWatchAll: MayWatchAll | undefined): void {
  const { extension } = phase;
  const { name, uid = "" } = extension.metadata;
  const remembered = deps.memory.of(extension);
  remembered.checkedAt = remembered.comparedAt = deps.now();
  remembered.drifted.clear();
  if (extension.spec.drift?.policy === "Ignore") return deps.watches?.forget(name);
  const compared = [...applier.outcomes.values()].map(
    ({ after }): Compared => ({ ref: refOf(after), mark: markOf(after.metadata), outcome: "same" }),
  );
  return deps.watches?.follow(name, uid, watchIdentityOf(extension, scoped, mayWatchAll), compared);
}

/** Puts objects back, or with policy Warn only finds out what would be; what comes of each is in the applier's outcomes. */
function compare(pass: ApplyContext, objects: readonly KubeObject[], policy: ActivePolicy): Promise<void> {
  const { applier, phase } = pass;
  return pass.claiming(objects, async () => {
    const read = await applier.read(objects.map(refOf));
    const { found, lost } = await withoutLost(pass, objects, read, policy);
    const live = policy === "Warn" ? found : await pass.take(found);
    const ours = objects.filter((object) => !lost.has(objectKey(object)));
    const applied = pass.applied(ours, live, isMigrated(phase.extension)); // or all Pods that OLM classic made are made anew
    await (policy === "Warn" ? applier.compare(applied, live) : applier.apply(applied, live, { goOn: true }));
    if (lost.size > 0) throw new RetryableError(Reason.Retrying, [...lost.values()].join("\n"));
  });
}

/**
 * Takes back what other extensions have taken and left behind since.
 * @returns the live objects without those that other extensions own, and the messages about these by `objectKey`.
 */
async function withoutLost(
  pass: ApplyContext,
  objects: readonly KubeObject[],
  read: LiveObjects,
  policy: ActivePolicy,
): Promise<{ found: LiveObjects; lost: Map<string, string> }> {
  const { deps, owner } = pass;
  const released = new Set(objects.map(objectKey));
  const foreign = foreignObjects({ desired: objects, live: read, owner, extensionExists: deps.extensionExists, released });
  const needs = foreign.flatMap(({ object, owner: other }) =>
    policy === "Correct" && other !== undefined && deps.handovers.hasLeft(other, object) ? [{ object, owner: other }] : [],
  );
  const taken = new Set(needs.map(({ object }) => objectKey(object)));
  const lost = new Map(
    foreign.flatMap(({ object, message }): [string, string][] => (taken.has(objectKey(object)) ? [] : [[objectKey(object), message]])),
  );
  const after = await pass.takeFromOthers(needs, read);
  return { found: new Map([...after].filter(([key]) => !lost.has(key))), lost };
}

/** Lets the watches go on from what a comparison came to. @param full set when everything was compared: from now on everything is watched. */
function watchOn(
  { deps, phase, scoped, context, applier }: ApplyContext,
  objects: readonly KubeObject[],
  { policy }: DriftPolicy,
  full: { mayWatchAll: MayWatchAll | undefined } | undefined,
): void {
  const { name, uid = "" } = phase.extension.metadata;
  const active = policy === "Warn" ? "Warn" : "Correct";
  const compared = objects.map((object) => comparedFrom(object, applier.outcomes.get(objectKey(object)), active));
  if (context.signal.aborted) deps.watches?.resume(name, []);
  else if (full) deps.watches?.follow(name, uid, watchIdentityOf(phase.extension, scoped, full.mayWatchAll), compared);
  else deps.watches?.resume(name, compared);
}

function comparedFrom(object: KubeObject, outcome: Outcome | undefined, policy: ActivePolicy): Compared {
  const ref = refOf(object);
  if (!outcome) return { ref, mark: undefined, outcome: "failed" };
  const drifted = driftOf(outcome, policy) !== undefined;
  if (policy === "Warn") return { ref, mark: outcome.before && markOf(outcome.before.metadata), outcome: drifted ? "drifted" : "same" };
  return { ref, mark: markOf(outcome.after.metadata), outcome: drifted ? "corrected" : "same" };
}
