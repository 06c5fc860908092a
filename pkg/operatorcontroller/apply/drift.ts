import { Reason } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { isMigrated } from "../../api/migration.ts";
import { newProblem, type ProblemObject, toProblemObject } from "../../api/problems.ts";
import { RetryableError } from "../../errors/errors.ts";
import { type DriftedField, type DriftPolicy, findDriftedFields, getDriftPolicy } from "../../release/drift.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { detectsConcurrentChange } from "../../release/managedFields.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { getWatchIdentity } from "../permissions/identity.ts";
import { findWatchPermissions, type MayWatchAll } from "../permissions/ownRules.ts";
import { readReconcileRequest } from "../state/extensionSpec.ts";
import { formatActions, formatFirst, type LiveObjects, selectChanges } from "../state/objectActions.ts";
import { type Compared, createMark } from "../watches/followedObjects.ts";
import { formatUnwatched } from "../watches/objectWatches.ts";
import type { Outcome } from "./applier.ts";
import type { ApplyContext } from "./applyContext.ts";
import { findForeignObjects } from "./ownershipCheck.ts";
import { formatKinds } from "./preparedObjects.ts";

/** Number of drift intervals after which all objects are compared, including watched objects: one hour with the default interval. */
export const FULL_EVERY = 12;

/** The objects of a deployed release that are due for comparison with the cluster. */
interface ComparisonDue {
  /** All objects are due; otherwise those in `keys`. */
  readonly isFull: boolean;
  /** Whether the drift interval is over. If so, `keys` contains the unwatched objects. */
  readonly isIntervalUp: boolean;
  /** Keys of `getObjectKey`. */
  readonly keys: ReadonlySet<string>;
}

/**
 * Determines which objects to compare in a reconcile:
 *
 * | objects                                   | are compared                                                         |
 * | all                                       | after a start, on request, every 12 intervals, and with a new identity |
 * | changed or deleted according to a watch   | at once                                                              |
 * | whose last comparison failed              | in every reconcile                                                   |
 * | reported before the policy became Correct | at once                                                              |
 * | that cannot be watched                    | once an interval                                                     |
 *
 * Without watches, all objects are compared on request and once an interval.
 * @param reported keys of objects whose drift was reported under another policy and must be corrected now.
 */
function findDueObjects(
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
  const request = readReconcileRequest(extension);
  const isRequested = request !== undefined && request !== extension.status?.lastHandledReconcileAt;
  if (!watches) return { isFull: isRequested || isIntervalUp, isIntervalUp, keys: new Set(reported) };
  const isUnknown = !watches.isFollowing(name, uid, getWatchIdentity(extension, scoped).key);
  const isFull = isRequested || isUnknown || isUp(comparedAt, driftIntervalMs * FULL_EVERY);
  const unwatched = isIntervalUp ? watches.unwatched(name).map(({ ref }) => ref) : [];
  return { isFull, isIntervalUp, keys: new Set([...reported, ...[...watches.suspects(name), ...unwatched].map(getObjectKey)]) };
}

/** An object that differs from its release. */
interface Drift {
  readonly ref: ObjectRef;
  readonly kind: "deleted" | "changed";
  /** The changed fields; empty if they are unknown. */
  readonly fields: readonly DriftedField[];
  /** The object drifted between the read and the apply, which corrected the drift. */
  readonly meanwhile?: boolean;
}

/** Explains why the controller does not correct the drift of an adopted extension, and how to correct it. */
const TAKEN_OVER =
  "drift is not corrected until the first upgrade because another operator-controller installed the extension (to correct drift now, set spec.drift.policy to Correct)";

/** Reports the drift of one extension during one reconcile: new drift in Events, uncorrected drift in `status.problems`. */
class DriftReport {
  readonly #context: ApplyContext;
  readonly #chosen: DriftPolicy;

  constructor(context: ApplyContext, chosen: DriftPolicy) {
    this.#context = context;
    this.#chosen = chosen;
  }

  /** Records Events for new and for corrected drift of `objects`, and remembers uncorrected drift. */
  recordEvents(objects: readonly KubeObject[]): void {
    const { deps, phase, applier } = this.#context;
    const { policy, isTakenOver } = this.#chosen;
    const { extension, releases } = phase;
    const bundle = releases.installed?.name ?? "";
    const drifts = objects.flatMap((object) => findDrift(applier.outcomes.get(getObjectKey(object)), policy) ?? []);
    const { drifted } = deps.memory.of(extension);
    const known = new Set([...drifted.values()].map(({ text }) => text));
    for (const key of applier.outcomes.keys()) drifted.delete(key);
    if (policy === "Warn")
      for (const drift of drifts) drifted.set(getObjectKey(drift.ref), { text: describeDrift(drift), object: toDriftedObject(drift) });
    const news = drifts.map(describeDrift).filter((text) => !known.has(text));
    const why = isTakenOver ? `; ${TAKEN_OVER}` : "";
    if (news.length > 0)
      deps.events.record(extension, "Warning", "Drifted", `objects of bundle "${bundle}" drifted: ${formatFirst(news)}${why}`);
    if (policy === "Warn") return; // with policy Warn, the applier's earlier writes have not corrected this drift
    const keys = new Set(drifts.map(({ ref }) => getObjectKey(ref)));
    const corrected = selectChanges(applier.actions).filter(({ ref }) => keys.has(getObjectKey(ref)));
    if (corrected.length === 0) return;
    deps.metrics?.countCorrections(extension.metadata.name, corrected.length);
    deps.events.record(extension, "Normal", "DriftCorrected", `corrected objects of bundle "${bundle}": ${formatActions(corrected)}`);
  }

  /** Reports uncorrected drift and unwatched objects in `status.problems`. */
  reportProblems(): void {
    const { deps, phase } = this.#context;
    const { extension } = phase;
    const { drifted } = deps.memory.of(extension);
    const why = this.#chosen.isTakenOver ? TAKEN_OVER : "drift is not corrected because spec.drift.policy is Warn";
    const message = `${why}: ${formatFirst([...drifted.values()].map(({ text }) => text))}`;
    const details = [...drifted.values()].map(({ object }) => object);
    if (drifted.size > 0) phase.report.problems.push(newProblem("DriftDetected", { message, details }));
    const unwatched = (deps.watches?.unwatched(extension.metadata.name) ?? []).filter(({ reason }) => reason !== undefined);
    if (unwatched.length === 0) return;
    phase.report.problems.push(newProblem("DriftUnwatched", { message: formatUnwatched(unwatched, deps.driftIntervalMs) }));
  }
}

/**
 * Returns the drift that an apply corrected, or that a dry run found with policy Warn; undefined without drift or without an outcome. A change during
 * a dry run does not count as drift yet, because the object's watch reports it.
 */
function findDrift(outcome: Outcome | undefined, policy: DriftPolicy["policy"]): Drift | undefined {
  if (!outcome) return undefined;
  const { before, after } = outcome;
  if (!before) return { ref: toObjectRef(after), kind: "deleted", fields: [] };
  const ref = toObjectRef(before);
  const fields = findDriftedFields(before, after);
  if (fields.length > 0) return { ref, kind: "changed", fields };
  if (policy === "Warn") return undefined;
  if (before.metadata.uid !== after.metadata.uid) return { ref, kind: "deleted", fields, meanwhile: true };
  return detectsConcurrentChange(before.metadata, after.metadata) ? { ref, kind: "changed", fields, meanwhile: true } : undefined;
}

/** Describes drift, such as `Service ns/a was changed: /spec/ports/0/name by "kubectl-edit"`; Contains no values, which may be secret. */
function describeDrift({ ref, kind, fields, meanwhile }: Drift): string {
  const what = `${describeObject(ref)} was ${kind}${meanwhile ? " during the comparison" : ""}`;
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
 * Compares the objects of a deployed release that are due (see `findDueObjects`) with the cluster, and corrects (policy Correct) or reports (Warn)
 * drift. With policy Ignore, compares nothing. Continues with the other objects if the kind of an object is no longer served.
 * @throws RetryableError with all objects that could not be compared or corrected.
 */
export async function reconcileDrift(deployed: ReleaseRecord, context: ApplyContext): Promise<void> {
  const { deps, phase, scoped, step } = context;
  const { extension, releases, changes } = phase;
  const chosen = getDriftPolicy(extension.spec, deployed);
  const { policy } = chosen;
  const entry = deps.memory.of(extension);
  const reported = policy === "Correct" ? [...entry.drifted.keys()] : [];
  if (policy !== "Warn") entry.drifted.clear();
  if (policy === "Ignore") return deps.watches?.forget(extension.metadata.name);
  const report = new DriftReport(context, chosen);
  const due = findDueObjects(context, reported);
  if (!due.isFull && due.keys.size === 0) {
    deps.watches?.remind(extension.metadata.name);
    return report.reportProblems();
  }
  changes.began = true;
  const from = deps.now();
  const { objects, kinds } = await context.prepare(deployed.objects);
  const selected = due.isFull ? objects : objects.filter((object) => due.keys.has(getObjectKey(object)));
  const unserved = selected.filter((object) => kinds.unserved.some((other) => getObjectKey(other) === getObjectKey(object)));
  const served = selected.filter((object) => !unserved.includes(object));
  deps.watches?.hold(extension.metadata.name);
  let mayWatchAll: MayWatchAll | undefined;
  try {
    if (deps.watches && due.isFull) mayWatchAll = await findWatchPermissions(scoped, served, (gvk) => kinds.resourceOf(gvk), step.signal);
    await compare(context, served, policy);
  } finally {
    report.recordEvents(selected); // in case the comparison failed, too
    resumeWatches(context, selected, chosen, due.isFull ? { mayWatchAll } : undefined);
    if (deps.watches && due.isFull) entry.comparedAt = from; // the watches know which objects failed
  }
  if (due.isFull && policy === "Correct") changes.live = context.applier.applied;
  report.reportProblems();
  if (unserved.length > 0) {
    const text = `cannot restore objects of bundle "${releases.installed?.name ?? ""}": this cluster no longer serves ${formatKinds(unserved)}`;
    throw new RetryableError("KindNotServed", text);
  }
  if (due.isFull || due.isIntervalUp) entry.checkedAt = from;
}

/** Watches all objects of a release after its apply. @param mayWatchAll the result of `findWatchPermissions`; undefined if nothing is watched. */
export function followRelease({ deps, phase, scoped, applier }: ApplyContext, mayWatchAll: MayWatchAll | undefined): void {
  const { extension } = phase;
  const { name, uid = "" } = extension.metadata;
  const entry = deps.memory.of(extension);
  entry.checkedAt = entry.comparedAt = deps.now();
  entry.drifted.clear();
  if (extension.spec.drift?.policy === "Ignore") return deps.watches?.forget(name);
  const compared = [...applier.outcomes.values()].map(
    ({ after }): Compared => ({ ref: toObjectRef(after), mark: createMark(after.metadata), outcome: "same" }),
  );
  return deps.watches?.follow(name, uid, getWatchIdentity(extension, scoped, mayWatchAll), compared);
}

/** Applies objects; with policy Warn, only runs dry runs. The results are in the applier's `outcomes`. */
function compare(context: ApplyContext, objects: readonly KubeObject[], policy: ActivePolicy): Promise<void> {
  const { applier, phase } = context;
  return context.withLocks(objects, async () => {
    const read = await applier.read(objects.map(toObjectRef));
    const { found, lost } = await takeBackObjects(context, objects, read, policy);
    const live = policy === "Warn" ? found : await context.adoptFields(found);
    const ours = objects.filter((object) => !lost.has(getObjectKey(object)));
    const applied = context.toApply(ours, live, isMigrated(phase.extension)); // otherwise the apply would recreate all Pods that OLM v0 created
    await (policy === "Warn" ? applier.compare(applied, live) : applier.apply(applied, live, { continueOnFailure: true }));
    if (lost.size > 0) throw new RetryableError(Reason.Retrying, [...lost.values()].join("\n"));
  });
}

/**
 * Takes over objects that other extensions have taken over from this extension but no longer contain.
 * @returns the live objects except those that other extensions own, and messages about these, by `getObjectKey`.
 */
async function takeBackObjects(
  context: ApplyContext,
  objects: readonly KubeObject[],
  read: LiveObjects,
  policy: ActivePolicy,
): Promise<{ found: LiveObjects; lost: Map<string, string> }> {
  const { deps, owner } = context;
  const released = new Set(objects.map(getObjectKey));
  const foreign = findForeignObjects({ desired: objects, live: read, owner, extensionExists: deps.extensionExists, released });
  const needs = foreign.flatMap(({ object, owner: other }) =>
    policy === "Correct" && other !== undefined && deps.handovers.hasLeft(other, object) ? [{ object, owner: other }] : [],
  );
  const taken = new Set(needs.map(({ object }) => getObjectKey(object)));
  const lost = new Map(
    foreign.flatMap(({ object, message }): [string, string][] =>
      taken.has(getObjectKey(object)) ? [] : [[getObjectKey(object), message]],
    ),
  );
  const after = await context.takeFromOthers(needs, read);
  return { found: new Map([...after].filter(([key]) => !lost.has(key))), lost };
}

/** Resumes the watches with the results of a comparison. @param full set after all objects were compared: all of them are watched from now on. */
function resumeWatches(
  { deps, phase, scoped, step, applier }: ApplyContext,
  objects: readonly KubeObject[],
  { policy }: DriftPolicy,
  full: { mayWatchAll: MayWatchAll | undefined } | undefined,
): void {
  const { name, uid = "" } = phase.extension.metadata;
  const active = policy === "Warn" ? "Warn" : "Correct";
  const compared = objects.map((object) => toCompared(object, applier.outcomes.get(getObjectKey(object)), active));
  if (step.signal.aborted) deps.watches?.resume(name, []);
  else if (full) deps.watches?.follow(name, uid, getWatchIdentity(phase.extension, scoped, full.mayWatchAll), compared);
  else deps.watches?.resume(name, compared);
}

function toCompared(object: KubeObject, outcome: Outcome | undefined, policy: ActivePolicy): Compared {
  const ref = toObjectRef(object);
  if (!outcome) return { ref, mark: undefined, outcome: "failed" };
  const drifted = findDrift(outcome, policy) !== undefined;
  if (policy === "Warn") return { ref, mark: outcome.before && createMark(outcome.before.metadata), outcome: drifted ? "drifted" : "same" };
  return { ref, mark: createMark(outcome.after.metadata), outcome: drifted ? "corrected" : "same" };
}
