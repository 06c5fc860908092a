import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../api/k8s.ts";
import type { RestClient } from "./restClient.ts";

/**
 * What becomes of a Pod, as nothing runs it: `Ready` (Running and Ready; one that is not restarted for ever succeeds),
 * `NotReady` (Running, its containers never get ready), `CrashLoop` (its containers end again and again), `Pending` (left alone).
 */
export type PodFate = "Ready" | "NotReady" | "CrashLoop" | "Pending";

/** Decides what becomes of a Pod; asked once for every change of it. */
export type PodReadiness = (pod: KubeObject) => PodFate;

/** On a Namespace or a Pod (which wins): the fate of the Pods there. */
export const POD_FATE_ANNOTATION = "devcluster.olmv1/pod-fate";

const FATES: readonly string[] = ["Ready", "NotReady", "CrashLoop", "Pending"] satisfies PodFate[];
const RETRY_MS = 500;

/**
 * Stands in for scheduler and kubelet: writes the status of every Pod. Pods stay without a node, so a deleted one is gone at once.
 * The fate comes from the annotation on the Pod, the annotation on its Namespace, or `readiness`, in this order.
 */
export class PodSimulation {
  readonly #client: RestClient;
  readonly #pods = new Map<string, KubeObject>();
  readonly #namespaces = new Map<string, KubeObject>();
  readonly #log: (text: string) => void;
  #readiness: PodReadiness = () => "Ready";

  constructor(client: RestClient, log: (text: string) => void) {
    this.#client = client;
    this.#log = log;
  }

  /** Follows Pods and Namespaces until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follow("/api/v1/namespaces", this.#namespaces, signal, (namespace) => {
        for (const pod of this.#pods.values()) if (pod.metadata.namespace === namespace.metadata.name) this.#settle(pod, signal);
      }),
      this.#follow("/api/v1/pods", this.#pods, signal, (pod) => this.#settle(pod, signal)),
    ]);
  }

  /** Replaces the rule for Pods without an annotation and applies it to those that exist. */
  setReadiness(readiness: PodReadiness, signal: AbortSignal): void {
    this.#readiness = readiness;
    for (const pod of this.#pods.values()) this.#settle(pod, signal);
  }

  async #follow(path: string, known: Map<string, KubeObject>, signal: AbortSignal, changed: (object: KubeObject) => void): Promise<void> {
    while (!signal.aborted) {
      try {
        const list = await this.#client.list(path, signal);
        known.clear();
        for (const object of list.items) known.set(keyOf(object), object);
        for (const object of list.items) changed(object);
        for await (const { type, object } of this.#client.watch(path, list.resourceVersion, signal)) {
          if (type === "DELETED") known.delete(keyOf(object));
          else {
            known.set(keyOf(object), object);
            changed(object);
          }
        }
      } catch (err) {
        if (!signal.aborted) this.#log(`pod simulation: ${path}: ${err instanceof Error ? err.message : String(err)}`);
      }
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #fateOf(pod: KubeObject): PodFate {
    const namespace = this.#namespaces.get(`/${pod.metadata.namespace ?? ""}`);
    for (const object of [pod, namespace]) {
      const value = object?.metadata.annotations?.[POD_FATE_ANNOTATION];
      if (value !== undefined && FATES.includes(value)) return value as PodFate;
    }
    return this.#readiness(pod);
  }

  #settle(pod: KubeObject, signal: AbortSignal): void {
    if (pod.metadata.deletionTimestamp !== undefined) return;
    const status = podStatus(pod, this.#fateOf(pod), new Date().toISOString().replace(/\.\d+Z$/, "Z"));
    if (status === undefined) return;
    const path = `/api/v1/namespaces/${pod.metadata.namespace ?? ""}/pods/${pod.metadata.name}/status`;
    const body = { metadata: { uid: pod.metadata.uid }, status };
    this.#client.mergePatch(path, body, signal).catch((err: unknown) => {
      if (!signal.aborted) this.#log(`pod simulation: ${path}: ${err instanceof Error ? err.message : String(err)}`);
    });
  }
}

interface PodShape {
  spec?: { containers?: { name: string; image?: string }[]; initContainers?: { name: string; image?: string }[]; restartPolicy?: string };
  status?: { phase?: string; conditions?: { type: string; status: string }[]; containerStatuses?: { state?: object }[] };
}

/**
 * The status that `fate` means for `pod`, or undefined when it has it already.
 * @param now RFC 3339, whole seconds.
 */
export function podStatus(pod: KubeObject, fate: PodFate, now: string): object | undefined {
  const { spec, status } = pod as PodShape;
  if (fate === "Pending" || status?.phase === "Succeeded" || status?.phase === "Failed") return undefined;
  const finished = fate === "Ready" && spec?.restartPolicy !== undefined && spec.restartPolicy !== "Always";
  const ready = fate === "Ready" && !finished;
  const phase = finished ? "Succeeded" : "Running";
  const state = finished
    ? { terminated: { exitCode: 0, reason: "Completed", startedAt: now, finishedAt: now } }
    : fate === "CrashLoop"
      ? { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } }
      : { running: { startedAt: now } };
  const has = status?.containerStatuses?.[0]?.state ?? {};
  const isReady = status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
  if (status?.phase === phase && isReady === ready && Object.keys(state)[0] === Object.keys(has)[0]) return undefined;
  const condition = (type: string, value: boolean, reason?: string): object => ({
    type,
    status: value ? "True" : "False",
    lastTransitionTime: now,
    ...(reason === undefined ? {} : { reason }),
  });
  const unready = finished ? "PodCompleted" : ready ? undefined : "ContainersNotReady";
  const container = ({ name, image }: { name: string; image?: string }): object => ({
    name,
    image: image ?? "",
    imageID: "",
    ready,
    started: ready,
    restartCount: fate === "CrashLoop" ? 5 : 0,
    state,
  });
  return {
    phase,
    startTime: now,
    conditions: [
      condition("PodScheduled", true),
      condition("Initialized", true),
      condition("ContainersReady", ready, unready),
      condition("Ready", ready, unready),
    ],
    containerStatuses: (spec?.containers ?? []).map(container),
    ...(spec?.initContainers === undefined
      ? {}
      : {
          initContainerStatuses: spec.initContainers.map(({ name, image }) => ({
            name,
            image: image ?? "",
            imageID: "",
            ready: true,
            started: false,
            restartCount: 0,
            state: { terminated: { exitCode: 0, reason: "Completed", startedAt: now, finishedAt: now } },
          })),
        }),
  };
}

function keyOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}
