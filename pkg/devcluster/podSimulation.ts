import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { Informer } from "../controller/informer.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/**
 * The simulated outcome of a Pod: `Ready` (Running and Ready; succeeds if it has a restart policy
 * other than Always), `NotReady` (Running, but its containers never become ready), `CrashLoop` (its
 * containers repeatedly end), `Pending` (unchanged).
 */
export type PodOutcome = "Ready" | "NotReady" | "CrashLoop" | "Pending";

/** Determines the outcome of a Pod. Called for every change of the Pod. */
export type PodReadiness = (pod: KubeObject) => PodOutcome;

/** Annotation on a Pod or a Namespace: the outcome of that Pod, or of all Pods in the Namespace. */
export const POD_OUTCOME_ANNOTATION = "devcluster.olmv1/pod-fate";

const OUTCOMES: readonly string[] = ["Ready", "NotReady", "CrashLoop", "Pending"] satisfies PodOutcome[];

/** Returns the outcome in the annotation of the Pod, else in that of its Namespace; undefined if neither is set. */
export function readPodOutcome(pod: KubeObject, namespace: KubeObject | undefined): PodOutcome | undefined {
  for (const object of [pod, namespace]) {
    const value = object?.metadata.annotations?.[POD_OUTCOME_ANNOTATION];
    if (value !== undefined && OUTCOMES.includes(value)) return value as PodOutcome;
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
 * Returns the status of `pod` for `outcome`, or undefined if it is unchanged. Pure.
 * @param now RFC 3339, whole seconds.
 */
export function buildPodStatus(pod: KubeObject, outcome: PodOutcome, now: string): object | undefined {
  const { spec = {}, status = {} } = pod as KubeObject & PodShape;
  if (outcome === "Pending" || status.phase === "Succeeded" || status.phase === "Failed") return undefined;
  const finishes = (spec.restartPolicy ?? "Always") !== "Always";
  const succeeded = outcome === "Ready" && finishes;
  const ready = outcome === "Ready" && !finishes;
  const state = containerState(outcome, succeeded, now);
  const phase = succeeded ? "Succeeded" : "Running";
  if (status.phase === phase && isReady(status) === ready && getContainerState(status) === Object.keys(state)[0]) return undefined;
  const reason = succeeded ? "PodCompleted" : "ContainersNotReady";
  const container = ({ name, image = "" }: Container): object => {
    const restarts = outcome === "CrashLoop" ? { restartCount: 5, lastState: crashedState(now) } : { restartCount: 0 };
    return { name, image, imageID: "", ready, started: ready, ...restarts, state };
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
      return { name, image, imageID: "", ready: true, started: false, restartCount: 0, state: completedState(now) };
    }),
  };
}

function containerState(outcome: PodOutcome, succeeded: boolean, now: string): object {
  if (succeeded) return completedState(now);
  if (outcome === "CrashLoop") return { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } };
  return { running: { startedAt: now } };
}

function completedState(now: string): object {
  return { terminated: { exitCode: 0, reason: "Completed", startedAt: now, finishedAt: now } };
}

function crashedState(now: string): object {
  return { terminated: { exitCode: 1, reason: "Error", startedAt: now, finishedAt: now } };
}

function condition(type: string, value: boolean, now: string, falseReason?: string): object {
  return { type, status: value ? "True" : "False", lastTransitionTime: now, ...(value ? {} : { reason: falseReason }) };
}

function isReady({ conditions = [] }: NonNullable<PodShape["status"]>): boolean {
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function getContainerState({ containerStatuses = [] }: NonNullable<PodShape["status"]>): string | undefined {
  return Object.keys(containerStatuses[0]?.state ?? {})[0];
}

/** Reports whether an image of a Pod is on a host of the top-level domain that never exists. */
function hasMissingImage(pod: KubeObject): boolean {
  const { containers = [] } = (pod as KubeObject & PodShape).spec ?? {};
  return containers.some(({ image = "" }) => image.split("/")[0]?.endsWith(".invalid"));
}

const MAX_BACKOFF_MS = 1000;
/** Delay before a failed status write is retried. */
const RETRY_MS = 500;

/**
 * Simulates scheduler and kubelet: writes the status of every Pod. Pods have no node, so a deleted
 * one is removed immediately. A Pod's outcome is determined by its annotation, the annotation of
 * its Namespace, or the rule, in this order. Without a rule, Pods are ready unless an image is on a host of domain `.invalid`.
 */
export class PodSimulation {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #namespaces: Informer;
  readonly #pods: Informer;
  #isOver = false;
  #readiness: PodReadiness = (pod) => (hasMissingImage(pod) ? "NotReady" : "Ready");

  constructor(client: Client, log: Logger) {
    this.#client = client;
    this.#log = log;
    this.#namespaces = new Informer(client, { apiVersion: "v1", kind: "Namespace" }, { maxBackoffMs: MAX_BACKOFF_MS }, log);
    this.#pods = new Informer(client, { apiVersion: "v1", kind: "Pod" }, { maxBackoffMs: MAX_BACKOFF_MS }, log);
    this.#pods.onEvent(({ type, object }) => {
      if (type !== "delete") this.#settle(object);
    });
    this.#namespaces.onEvent(({ object }) => {
      for (const pod of this.#pods.list()) if (pod.metadata.namespace === object.metadata.name) this.#settle(pod);
    });
  }

  /** Watches Pods and Namespaces until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#namespaces.run(signal), this.#pods.run(signal)]);
    this.#isOver = true;
  }

  /** Replaces the rule for Pods without an annotation, including existing ones. */
  setReadiness(readiness: PodReadiness): void {
    this.#readiness = readiness;
    for (const pod of this.#pods.list()) this.#settle(pod);
  }

  #settle(pod: KubeObject): void {
    if (pod.metadata.deletionTimestamp !== undefined) return;
    const outcome = readPodOutcome(pod, this.#namespaces.get(pod.metadata.namespace ?? "")) ?? this.#readiness(pod);
    const now = `${new Date().toISOString().slice(0, 19)}Z`;
    const status = buildPodStatus(pod, outcome, now);
    if (status === undefined) return;
    const body = { metadata: { uid: pod.metadata.uid }, status };
    this.#client.patch(toObjectRef(pod), body, { type: "merge", subresource: "status" }).catch((err: unknown) => {
      if (isNotFound(err) || isConflict(err) || this.#isOver) return;
      this.#log.warn({ err, pod: pod.metadata.name, namespace: pod.metadata.namespace }, "cannot write pod status");
      setTimeout(() => this.#settleAgain(pod), RETRY_MS).unref();
    });
  }

  /** A restarted API server may reject writes at first, and there may be no further event for the Pod. */
  #settleAgain({ metadata: { name, namespace } }: KubeObject): void {
    const live = this.#pods.get(name, namespace);
    if (live && !this.#isOver) this.#settle(live);
  }
}
