import { lookup } from "node:dns/promises";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { isObject } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { isAllowed } from "../operatorcontroller/permissions/ownRules.ts";

/** Label of the Deployment and the Service of a server, such as "catalogd". */
const LABEL_SERVER = "app.kubernetes.io/name";
const METRICS_PORT = "metrics";

/** The Deployment of a server, and its Pods that are not being deleted. */
export interface DeployedServer {
  readonly namespace: string;
  readonly replicas: number;
  readonly pods: readonly KubeObject[];
}

/** Finds the Deployments, Pods, Leases and Services of the servers of OLM v1, which may have any name and namespace. */
export class Servers {
  readonly #client: Pick<Client, "list" | "raw">;
  readonly #signal: AbortSignal;

  constructor(client: Pick<Client, "list" | "raw">, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Returns a server, or why it cannot be restarted. */
  async find(name: string): Promise<DeployedServer | string> {
    const label = `${LABEL_SERVER}=${name}`;
    const [deployment, ...more] = await this.#list("apps/v1", "Deployment", { labelSelector: label });
    if (!deployment) return `no Deployment has label ${label}`;
    if (more.length > 0) return `${more.length + 1} Deployments have label ${label}`;
    const { namespace = "" } = deployment.metadata;
    const { replicas = 1, selector } = deployment["spec"] as { replicas?: number; selector: { matchLabels?: Record<string, string> } };
    const mayDelete = await isAllowed(this.#client, namespace, { group: "", resource: "pods", name: "", verb: "delete" }, this.#signal);
    if (!mayDelete) return `you may not delete Pods in namespace ${namespace}`;
    const labels = Object.entries(selector.matchLabels ?? {}).map((pair) => pair.join("="));
    const pods = await this.#list("v1", "Pod", { namespace, labelSelector: labels.join(",") });
    return { namespace, replicas, pods: pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined) };
  }

  /** Returns the Pod that leads: a Lease in its namespace has a holder that starts with its name, as in controller-runtime. */
  async findLeader({ namespace, pods }: DeployedServer): Promise<ObjectRef | undefined> {
    const leases = await this.#list("coordination.k8s.io/v1", "Lease", { namespace });
    const holders = leases.map(({ spec }) => (isObject(spec) ? String(spec["holderIdentity"]) : ""));
    const leader = pods.find(({ metadata }) => holders.some((holder) => holder.startsWith(`${metadata.name}_`)));
    return leader && toObjectRef(leader);
  }

  /** Returns the address of a server's metrics, or why this program cannot reach it. */
  async findMetrics(name: string): Promise<URL | string> {
    const label = `${LABEL_SERVER}=${name}`;
    const services = await this.#list("v1", "Service", { labelSelector: label });
    const [first] = services.flatMap((service) => toMetricsAddress(service) ?? []);
    if (!first) return `no Service with label ${label} has a port ${METRICS_PORT}`;
    try {
      await lookup(first.hostname);
      return first;
    } catch (err) {
      return `cannot resolve ${first.hostname} (${getErrorMessage(err)}). Run the tests in the cluster, as a Job`;
    }
  }

  async #list(apiVersion: string, kind: string, options: { namespace?: string; labelSelector?: string }): Promise<KubeObject[]> {
    return (await this.#client.list({ apiVersion, kind }, { ...options, signal: this.#signal })).items;
  }
}

/** Reports whether a Pod is ready. */
export function isReadyPod({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
}

/** The port is the one named metrics, or the only one. */
function toMetricsAddress({ metadata, spec }: KubeObject): URL | undefined {
  const { ports = [], externalName } = spec as { ports?: { name?: string; port: number }[]; externalName?: string };
  const port = ports.find((one) => one.name === METRICS_PORT) ?? (ports.length === 1 ? ports[0] : undefined);
  return port && new URL(`https://${externalName ?? `${metadata.name}.${metadata.namespace}.svc`}:${port.port}/metrics`);
}
