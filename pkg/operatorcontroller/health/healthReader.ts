import { type KubeObject, refOf } from "../../api/k8s.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed, isForbidden } from "../../kube/errors.ts";
import { type ObjectHealth, withPodProblem } from "../../release/health/availability.ts";
import { hasHealth, healthOf } from "../../release/health/health.ts";
import { type Health, health } from "../../release/health/healthState.ts";
import { podSelectorOf, worstPod } from "../../release/health/pods.ts";
import { objectKey } from "../../release/identity.ts";
import type { LiveObjects } from "../apply/applier.ts";

/** Requests under way at once for one extension, as many as an apply has. */
const PARALLEL = 8;
/** Workloads whose Pods are looked at in one check: the message tells of one object anyway. */
const EXPLAINED = 3;
/** Pods that are looked at for one workload. */
const PODS = 50;

/** With what, and for which moment, health is read. */
export interface HealthReading {
  /** Of the extension's ServiceAccount. */
  client: Pick<Client, "get" | "list">;
  /** Objects that were read or written in this pass; they are not read again. */
  live: LiveObjects;
  /** Whether to look at the Pods of workloads that are not healthy. */
  explain: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  signal: AbortSignal;
}

/**
 * The health of those of `objects` that have one, in their order; of workloads that are not healthy, with what is wrong with their Pods.
 * What may not be read, or cannot be just now, is unknown.
 * @param objects as they were released.
 * @throws the signal's reason when it aborts, and nothing else.
 */
export async function readHealth(objects: readonly KubeObject[], reading: HealthReading): Promise<ObjectHealth[]> {
  const asked = objects.filter(hasHealth);
  const answers = await mapInParallel(asked, PARALLEL, (object) => readOne(object, reading));
  const found = asked.map((object, i) => ({ ref: refOf(object), ...(answers[i] as Answer) }));
  const ill = found.filter(({ health: { state } }) => state === "failed" || state === "progressing");
  const explained = ill.flatMap(({ live }) => (live && podSelectorOf(live) ? [live] : [])).slice(0, reading.explain ? EXPLAINED : 0);
  const explanations = await mapInParallel(explained, PARALLEL, (workload) => explain(workload, reading));
  const byObject = new Map(explained.map((workload, i) => [workload, explanations[i]]));
  return found.map(({ ref, live, health: own }) => ({ ref, health: live ? withPodProblem(own, byObject.get(live)) : own }));
}

interface Answer {
  live: KubeObject | undefined;
  health: Health;
}

async function readOne(object: KubeObject, { client, live, now, signal }: HealthReading): Promise<Answer> {
  try {
    const found = live.get(objectKey(object)) ?? (await client.get(refOf(object), { signal }));
    if (found) return { live: found, health: healthOf(found, now) };
    return { live: undefined, health: health("failed", "NotFound", "it does not exist") };
  } catch (err) {
    signal.throwIfAborted();
    return { live: undefined, health: unread(err) };
  }
}

function unread(err: unknown): Health {
  if (err instanceof KindNotServed) return health("failed", "KindNotServed", `this cluster does not serve its kind (${messageOf(err)})`);
  if (isForbidden(err)) return health("unknown", "Forbidden", `it may not be read: ${messageOf(err)}`);
  return health("unknown", "ReadFailed", `it could not be read: ${messageOf(err)}`);
}

/** Pods are a help: where they cannot be listed, the workload's own status has to do. */
async function explain(workload: KubeObject, { client, now, signal }: HealthReading): Promise<ReturnType<typeof worstPod>> {
  const labelSelector = podSelectorOf(workload);
  const { namespace } = workload.metadata;
  if (labelSelector === undefined || namespace === undefined) return undefined;
  try {
    const options = { namespace, labelSelector, limit: PODS, maxItems: PODS, signal };
    return worstPod((await client.list({ apiVersion: "v1", kind: "Pod" }, options)).items, now);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
