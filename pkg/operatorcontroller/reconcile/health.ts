import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { StepContext } from "../../controller/stepSequence.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import {
  computeAvailability,
  formatDeadlineExceeded,
  getRolloutDeadline,
  type ObjectHealth,
  type ProgressDeadline,
  withPodProblem,
} from "../../release/health/availability.ts";
import { computeHealth, hasHealth } from "../../release/health/health.ts";
import { createHealth, type Health } from "../../release/health/healthState.ts";
import { findWorstPod, getPodSelector } from "../../release/health/pods.ts";
import { getObjectKey } from "../../release/identity.ts";
import { findLastDeployed, type ReleaseRecord } from "../../release/record.ts";
import type { CachedHealth } from "../state/extensionCache.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import { type ActingPhase, hasClient, type Phase } from "../state/phases.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";
import type { Services } from "./services.ts";

/** Maximum number of concurrent requests for one extension, the same as during an apply. */
const PARALLEL_READS = 8;
/** Maximum number of workloads whose Pods are checked at once. The message explains only one object. */
const MAX_EXPLAINED = 3;
/** Maximum number of Pods to check for one workload. */
const MAX_PODS = 50;

/** Inputs of a health check. */
interface HealthReading {
  /** Client with the identity of the extension's ServiceAccount. */
  client: Pick<Client, "get" | "list">;
  /** Objects that this reconcile has already read or written. They are not read again. */
  live: LiveObjects;
  /** Whether to check the Pods of unhealthy workloads. */
  explain: boolean;
  /** Start of the release, in milliseconds since the epoch. */
  releasedAt: number;
  /** Milliseconds since the epoch. */
  now: number;
  signal: AbortSignal;
}

/**
 * Returns the health of those `objects` whose kind has a health, in the same order, with the Pod problems of unhealthy workloads. An object that
 * cannot be read has state unknown.
 * @param objects the objects of the release.
 * @throws the signal's reason if it aborts, and nothing else.
 */
async function readHealth(objects: readonly KubeObject[], reading: HealthReading): Promise<ObjectHealth[]> {
  const checked = objects.filter(hasHealth);
  const results = await mapInParallel(checked, PARALLEL_READS, (object) => readOne(object, reading));
  const found = checked.map((object, i) => ({ ref: toObjectRef(object), ...(results[i] as ObjectResult) }));
  const unhealthy = found.filter(({ health: { state } }) => state === "failed" || state === "progressing");
  const explained = unhealthy
    .flatMap(({ live }) => (live && getPodSelector(live) ? [live] : []))
    .slice(0, reading.explain ? MAX_EXPLAINED : 0);
  const explanations = await mapInParallel(explained, PARALLEL_READS, (workload) => explain(workload, reading));
  const byObject = new Map(explained.map((workload, i) => [workload, explanations[i]]));
  return found.map(({ ref, live, health: own }) => ({ ref, health: live ? withPodProblem(own, byObject.get(live)) : own }));
}

interface ObjectResult {
  live: KubeObject | undefined;
  health: Health;
}

async function readOne(object: KubeObject, { client, live, now, signal }: HealthReading): Promise<ObjectResult> {
  try {
    const found = live.get(getObjectKey(object)) ?? (await client.get(toObjectRef(object), { signal }));
    if (found) return { live: found, health: computeHealth(found, now) };
    return { live: undefined, health: createHealth("failed", "NotFound", "it does not exist") };
  } catch (err) {
    signal.throwIfAborted();
    return { live: undefined, health: toHealth(err) };
  }
}

function toHealth(err: unknown): Health {
  if (err instanceof KindNotServed)
    return createHealth("failed", "KindNotServed", `the cluster does not serve its kind (${getErrorMessage(err)})`);
  if (isForbidden(err)) return createHealth("unknown", "Forbidden", `reading it is forbidden: ${getErrorMessage(err)}`);
  return createHealth("unknown", "ReadFailed", `cannot read it: ${getErrorMessage(err)}`);
}

/** Returns the worst Pod problem of a workload. Undefined if Pods cannot be listed: in this case, the workload's own status is reported. */
async function explain(workload: KubeObject, { client, releasedAt, now, signal }: HealthReading): Promise<ReturnType<typeof findWorstPod>> {
  const labelSelector = getPodSelector(workload);
  const { namespace } = workload.metadata;
  if (labelSelector === undefined || namespace === undefined) return undefined;
  try {
    const options = { namespace, labelSelector, limit: MAX_PODS, maxItems: MAX_PODS, signal };
    return findWorstPod((await client.list({ apiVersion: "v1", kind: "Pod" }, options)).items, { workload, releasedAt, now });
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Dependencies of the health check. */
export interface HealthServices extends Pick<Services, "releases" | "memory" | "now" | "requeueAfter" | "minuteMs" | "driftIntervalMs"> {
  /** Reports whether the watches notice all changes of an extension's objects. Default: no object is watched. */
  watches?: Pick<ObjectWatches, "covers">;
}

/** Delay in milliseconds after the first check that finds an unhealthy release. Doubles with each check, up to the maximum. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Checks whether the deployed release works, as the ServiceAccount, and schedules the next check:
 *
 * | last result       | since then                                                        | reads                           |
 * | none              |                                                                   | every object that has a health  |
 * | any               | another release, a failed release, or a reported change           | the same                        |
 * | any               | this reconcile compared all objects with the cluster              | nothing: it has them already    |
 * | healthy           | the drift interval is over, and some objects are not watched, or  | the same as first               |
 * |                   | the newest release failed or is pending                           |                                 |
 * | healthy           | otherwise                                                         | nothing                         |
 * | unhealthy         | the delay is over: one second, doubled each time, at most 15 s    | the same as first               |
 *
 * A healthy extension whose objects are watched therefore costs no requests. The first healthy result of a release is recorded as its rollout.
 * @throws the signal's reason if it aborts. Objects that cannot be read result in Unknown, not in an error.
 */
export async function checkHealth(deps: HealthServices, phase: Phase, context: StepContext): Promise<void> {
  if (!hasClient(phase)) return;
  const { extension, changes, releases, report } = phase;
  const release = changes.deployed ?? findLastDeployed(releases.history.current);
  if (!release) return;
  const entry = deps.memory.of(extension);
  if (isDue(entry.health, release, phase, deps)) {
    entry.health = await readAvailability(deps, phase, release, context.signal);
    const { availability, dueAt } = entry.health;
    context.log.debug({ release: release.version, available: availability.status, reason: availability.reason, dueAt }, "health checked");
  }
  const known = entry.health;
  if (!known) return;
  report.availability = known.availability;
  if (known.availability.status === "True" && release.rolledOutAt === undefined) await recordRolledOut(deps, phase, release, context);
  else checkDeadline(deps, phase, release);
  if (known.dueAt !== Number.POSITIVE_INFINITY) deps.requeueAfter(extension.metadata.name, known.dueAt - deps.now());
}

function isDue(
  known: CachedHealth | undefined,
  release: ReleaseRecord,
  { changes, extension }: ActingPhase,
  deps: HealthServices,
): boolean {
  const now = deps.now();
  if (known?.release !== release.version || now >= known.dueAt) return true;
  if (now < known.readAt) return true; // the clock was set back
  if (now - known.readAt >= deps.driftIntervalMs && !deps.watches?.covers(extension.metadata.name)) return true;
  if (changes.failed) return true;
  const { live } = changes;
  return live !== undefined && release.objects.filter(hasHealth).every((object) => live.has(getObjectKey(object)));
}

async function readAvailability(
  deps: HealthServices,
  { extension, client, changes }: ActingPhase,
  release: ReleaseRecord,
  signal: AbortSignal,
): Promise<CachedHealth> {
  const { live = new Map() } = changes;
  const before = deps.memory.of(extension).health;
  const explain = changes.deployed === undefined; // right after an apply, Pods have no problems yet
  const releasedAt = Date.parse(release.lastDeployed);
  const objects = await readHealth(release.objects, { client, live, explain, releasedAt, now: deps.now(), signal });
  const availability = computeAvailability(objects, { rolledOut: release.rolledOutAt !== undefined });
  const found = { release: release.version, availability, readAt: deps.now() };
  if (availability.status === "True") return { ...found, checks: 0, dueAt: Number.POSITIVE_INFINITY };
  const checks = before?.release === release.version ? before.checks : 0;
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** checks, LONGEST_PAUSE_MS);
  return { ...found, checks: checks + 1, dueAt: found.readAt + pause };
}

/** Records that a release was rolled out. Only logs errors, because the next reconcile retries and only the deadline depends on the record. */
async function recordRolledOut(
  deps: HealthServices,
  { extension, changes }: ActingPhase,
  release: ReleaseRecord,
  { log, signal }: StepContext,
): Promise<void> {
  const { name, uid = "" } = extension.metadata;
  const record: ReleaseRecord = { ...release, rolledOutAt: new Date(deps.now()).toISOString() };
  try {
    await deps.releases.update(record, { name, uid }, { signal });
    changes.deployed = record;
    log.info({ release: release.version }, "release rolled out");
  } catch (err) {
    signal.throwIfAborted();
    log.warn({ release: release.version, reason: getErrorMessage(err) }, "cannot record that the release was rolled out");
  }
}

function checkDeadline(deps: HealthServices, { extension, releases, report }: ActingPhase, release: ReleaseRecord): void {
  const { availability } = report;
  const minutes = extension.spec.progressDeadlineMinutes;
  if (!minutes || availability?.status !== "False") return;
  const deadline: ProgressDeadline = { minutes, minuteMs: deps.minuteMs };
  const ends = getRolloutDeadline(release, deadline);
  if (ends === undefined) return;
  const left = ends - deps.now();
  if (left > 0) deps.requeueAfter(extension.metadata.name, left);
  else report.overdue = formatDeadlineExceeded(releases.installed?.version ?? "", deadline, availability);
}
