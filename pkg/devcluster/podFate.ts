import type { KubeObject } from "../api/k8s.ts";

/**
 * What becomes of a Pod, as nothing runs it: `Ready` (Running and Ready; one that is not restarted for ever succeeds),
 * `NotReady` (Running, its containers never get ready), `CrashLoop` (its containers end again and again), `Pending` (left alone).
 */
export type PodFate = "Ready" | "NotReady" | "CrashLoop" | "Pending";

/** Decides what becomes of a Pod; asked at every change of it. */
export type PodReadiness = (pod: KubeObject) => PodFate;

/** On a Pod or a Namespace: the fate of that Pod or of the Pods there. */
export const POD_FATE_ANNOTATION = "devcluster.olmv1/pod-fate";

const FATES: readonly string[] = ["Ready", "NotReady", "CrashLoop", "Pending"] satisfies PodFate[];

/** The fate that the annotations say, that of the Pod first; undefined when they say none. */
export function annotatedFate(pod: KubeObject, namespace: KubeObject | undefined): PodFate | undefined {
  for (const object of [pod, namespace]) {
    const value = object?.metadata.annotations?.[POD_FATE_ANNOTATION];
    if (value !== undefined && FATES.includes(value)) return value as PodFate;
  }
  return undefined;
}

interface Container {
  name: string;
  image?: string;
}

interface PodShape {
  spec?: { containers?: Container[]; initContainers?: Container[]; restartPolicy?: string };
  status?: { phase?: string; conditions?: { type: string; status: string }[]; containerStatuses?: { state?: object }[] };
}

/**
 * The status that `fate` means for `pod`, or undefined when it has it already or stays as it is. Pure.
 * @param now RFC 3339, whole seconds.
 */
export function podStatus(pod: KubeObject, fate: PodFate, now: string): object | undefined {
  const { spec = {}, status = {} } = pod as KubeObject & PodShape;
  if (fate === "Pending" || status.phase === "Succeeded" || status.phase === "Failed") return undefined;
  const finishes = (spec.restartPolicy ?? "Always") !== "Always";
  const succeeded = fate === "Ready" && finishes;
  const ready = fate === "Ready" && !finishes;
  const state = containerState(fate, succeeded, now);
  const phase = succeeded ? "Succeeded" : "Running";
  if (status.phase === phase && isReady(status) === ready && stateOf(status) === Object.keys(state)[0]) return undefined;
  const reason = succeeded ? "PodCompleted" : "ContainersNotReady";
  const container = ({ name, image = "" }: Container): object => {
    return { name, image, imageID: "", ready, started: ready, restartCount: fate === "CrashLoop" ? 5 : 0, state };
  };
  return {
    phase,
    startTime: now,
    conditions: [
      condition("PodScheduled", true, now),
      condition("Initialized", true, now),
      condition("ContainersReady", ready, now, reason),
      condition("Ready", ready, now, reason),
    ],
    containerStatuses: (spec.containers ?? []).map(container),
    initContainerStatuses: (spec.initContainers ?? []).map(({ name, image = "" }) => {
      return { name, image, imageID: "", ready: true, started: false, restartCount: 0, state: completed(now) };
    }),
  };
}

function containerState(fate: PodFate, succeeded: boolean, now: string): object {
  if (succeeded) return completed(now);
  if (fate === "CrashLoop") return { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } };
  return { running: { startedAt: now } };
}

function completed(now: string): object {
  return { terminated: { exitCode: 0, reason: "Completed", startedAt: now, finishedAt: now } };
}

function condition(type: string, value: boolean, now: string, falseReason?: string): object {
  return { type, status: value ? "True" : "False", lastTransitionTime: now, ...(value ? {} : { reason: falseReason }) };
}

function isReady({ conditions = [] }: NonNullable<PodShape["status"]>): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function stateOf({ containerStatuses = [] }: NonNullable<PodShape["status"]>): string | undefined {
  return Object.keys(containerStatuses[0]?.state ?? {})[0];
}
