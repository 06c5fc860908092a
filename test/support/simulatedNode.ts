import { arch } from "node:os";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { Informer } from "../../pkg/controller/informer.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { isConflict, isNotFound } from "../../pkg/kube/errors.ts";
import { createLogger, type Logger } from "../../pkg/telemetry/log.ts";
import { type ContainerLog, KubeletLogs } from "./kubeletLogs.ts";
import { listPodEvents } from "./podEvents.ts";

/** Returns the log of the current or previous run of a container; undefined without such a run. */
export type ReadLog = (pod: KubeObject, container: string, previous: boolean) => ContainerLog | undefined;

/** Name of the Node. */
const NAME = "worker-1";
const NODE: ObjectRef = { apiVersion: "v1", kind: "Node", name: NAME };

/**
 * A Node that all simulated Pods run on, once their containers have started. Serves their logs, records Events like a scheduler
 * and a kubelet, and confirms deletions.
 */
export class SimulatedNode implements AsyncDisposable {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #pods: Informer;
  readonly #stop = new AbortController();
  #logs: KubeletLogs | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(client: Client) {
    this.#client = client;
    this.#log = createLogger({ component: "simulated-node", level: "error", destination: process.stderr });
    this.#pods = new Informer(client, { apiVersion: "v1", kind: "Pod" }, { maxBackoffMs: 1_000 }, this.#log);
    this.#pods.onEvent(({ type, object }) => {
      if (type !== "delete") void this.#settle(object);
    });
  }

  /** Creates the Node and assigns all Pods to it. @param client has all permissions. */
  static async start(client: Client, getLog: ReadLog): Promise<SimulatedNode> {
    const node = new SimulatedNode(client);
    node.#logs = await KubeletLogs.start({
      getPod: (namespace, name) => node.#pods.get(name, namespace),
      getLog,
    });
    await client.create({ apiVersion: "v1", kind: "Node", metadata: { name: NAME, labels: { "kubernetes.io/hostname": NAME } } });
    await client.patch(NODE, { status: describeNode(node.#logs.port) }, { type: "merge", subresource: "status" });
    node.#running = node.#pods.run(node.#stop.signal);
    return node;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#logs?.[Symbol.asyncDispose]();
  }

  async #settle(pod: KubeObject): Promise<void> {
    const { nodeName } = pod["spec"] as { nodeName?: string };
    const { phase } = (pod["status"] ?? {}) as { phase?: string };
    const { name, namespace = "", uid = "", deletionTimestamp } = pod.metadata;
    try {
      if (deletionTimestamp !== undefined && nodeName === NAME)
        await this.#client.delete(toObjectRef(pod), { uid, gracePeriodSeconds: 0, signal: this.#stop.signal });
      else if (deletionTimestamp === undefined && nodeName === undefined && phase !== "Pending") await this.#assign(name, namespace, pod);
    } catch (err) {
      if (isNotFound(err) || isConflict(err) || this.#stop.signal.aborted) return;
      this.#log.error({ err, pod: name, namespace }, "cannot simulate the node of a Pod");
    }
  }

  async #assign(name: string, namespace: string, pod: KubeObject): Promise<void> {
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { apiVersion: "v1", kind: "Node", name: NAME } };
    await this.#client.raw("POST", `/api/v1/namespaces/${namespace}/pods/${name}/binding`, binding, { signal: this.#stop.signal });
    for (const event of listPodEvents(pod, NAME)) await this.#client.create(event, { signal: this.#stop.signal });
  }
}

function describeNode(port: number): object {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const capacity = { cpu: "8", memory: "32Gi", pods: "110" };
  return {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }], // the API server would prefer, and look up, a host name
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    capacity,
    allocatable: capacity,
    conditions: [
      { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status", lastTransitionTime: now },
    ],
    nodeInfo: {
      architecture: arch() === "arm64" ? "arm64" : "amd64",
      operatingSystem: "linux",
      bootID: "",
      containerRuntimeVersion: "simulated://1.0",
      kernelVersion: "",
      kubeProxyVersion: "",
      kubeletVersion: "v1.35.0",
      machineID: "",
      osImage: "simulated",
      systemUUID: "",
    },
  };
}
