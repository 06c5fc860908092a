import { type KubeObject, refOf } from "../api/k8s.ts";
import { Informer } from "../controller/informer.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { annotatedFate, type PodReadiness, podStatus } from "./podFate.ts";

const MAX_BACKOFF_MS = 1000;
/** How soon a status that could not be written is tried again. */
const RETRY_MS = 500;

/**
 * Stands in for scheduler and kubelet: writes the status of every Pod. Pods stay without a node, so a deleted one is gone at once.
 * A Pod's fate comes from its annotation, the annotation of its Namespace, or the rule, in this order.
 */
export class PodSimulation {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #namespaces: Informer;
  readonly #pods: Informer;
  #isOver = false;
  #readiness: PodReadiness = () => "Ready";

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

  /** Follows Pods and Namespaces until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#namespaces.run(signal), this.#pods.run(signal)]);
    this.#isOver = true;
  }

  /** Replaces the rule for Pods that no annotation decides about, also for those that exist. */
  setReadiness(readiness: PodReadiness): void {
    this.#readiness = readiness;
    for (const pod of this.#pods.list()) this.#settle(pod);
  }

  #settle(pod: KubeObject): void {
    if (pod.metadata.deletionTimestamp !== undefined) return;
    const fate = annotatedFate(pod, this.#namespaces.get(pod.metadata.namespace ?? "")) ?? this.#readiness(pod);
    const now = `${new Date().toISOString().slice(0, 19)}Z`;
    const status = podStatus(pod, fate, now);
    if (status === undefined) return;
    const body = { metadata: { uid: pod.metadata.uid }, status };
    this.#client.patch(refOf(pod), body, { type: "merge", subresource: "status" }).catch((err: unknown) => {
      if (isNotFound(err) || isConflict(err) || this.#isOver) return;
      this.#log.warn({ err, pod: pod.metadata.name, namespace: pod.metadata.namespace }, "pod status not written");
      setTimeout(() => this.#settleAgain(pod), RETRY_MS).unref();
    });
  }

  /** An API server that has just started may take nothing yet, and there need not be another event of the Pod. */
  #settleAgain({ metadata: { name, namespace } }: KubeObject): void {
    const live = this.#pods.get(name, namespace);
    if (live && !this.#isOver) this.#settle(live);
  }
}
