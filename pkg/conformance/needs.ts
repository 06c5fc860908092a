import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { Servers } from "./servers.ts";

/** Fields of a CustomResourceDefinition, by kind of the field need. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  ClusterCatalog: "clustercatalogs.olm.operatorframework.io",
  ClusterExtension: "clusterextensions.olm.operatorframework.io",
};

const CLUSTER_PROXY = { apiVersion: "config.openshift.io/v1", kind: "Proxy", name: "cluster" };

/** Finds out what a cluster has; asks for each need until there is an answer. */
export class ClusterNeeds {
  readonly #client: Pick<Client, "get" | "list" | "raw">;
  readonly #signal: AbortSignal;
  readonly #servers: Servers;
  readonly #known = new Map<string, Promise<string | undefined>>();

  constructor(client: Pick<Client, "get" | "list" | "raw">, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    this.#servers = new Servers(client, signal);
  }

  /**
   * Returns why the cluster does not have what a scenario needs, a reason for each need:
   * - `kind GROUP/VERSION Kind`: the API server serves the kind
   * - `no kind GROUP/VERSION Kind`: it does not
   * - `field ClusterExtension.spec.x`: the definition has the field
   * - `server NAME`: a Deployment runs it, and you may delete its Pods
   * - `replicas NAME`: it has several, and one of them leads
   * - `metrics NAME`: this program can reach the Service with its metrics
   * - `proxy`: Proxy cluster of OpenShift has an address
   * - several of these, separated by ` | `: at least one of them
   * @throws Error for another need
   */
  async findMissing(needs: readonly string[]): Promise<string[]> {
    const missing = await Promise.all(needs.map((need) => this.#ask(need)));
    return missing.filter((reason) => reason !== undefined);
  }

  #ask(need: string): Promise<string | undefined> {
    const known = this.#known.get(need);
    if (known) return known;
    const asked = this.#checkAny(need.split(" | "));
    this.#known.set(need, asked);
    // A failed request says nothing about the cluster, so the next scenario asks again.
    asked.catch(() => this.#known.delete(need));
    return asked;
  }

  async #checkAny(needs: readonly string[]): Promise<string | undefined> {
    const reasons: string[] = [];
    for (const need of needs) {
      const reason = await this.#check(need);
      if (reason === undefined) return undefined;
      reasons.push(reason);
    }
    return reasons.join(", and ");
  }

  async #check(need: string): Promise<string | undefined> {
    const [kind, ...rest] = need.split(" ");
    const subject = rest.join(" ");
    if (kind === "kind") return this.#checkKind(rest[0] ?? "", rest[1] ?? "");
    if (need.startsWith("no kind "))
      return (await this.#checkKind(rest[1] ?? "", rest[2] ?? "")) ? undefined : `the API server serves ${rest[1]} ${rest[2]}`;
    if (kind === "field") return this.#checkField(subject);
    if (kind === "server") return toReason(await this.#servers.find(subject));
    if (kind === "replicas") return this.#checkReplicas(subject);
    if (kind === "metrics") return toReason(await this.#servers.findMetrics(subject));
    if (need === "proxy") return this.#checkProxy();
    throw new Error(`unknown need "${need}"`);
  }

  async #checkKind(apiVersion: string, kind: string): Promise<string | undefined> {
    try {
      await this.#client.list({ apiVersion, kind }, { metadataOnly: true, signal: this.#signal });
      return undefined;
    } catch (err) {
      if (err instanceof KindNotServed) return `the API server does not serve ${apiVersion} ${kind}`;
      throw err;
    }
  }

  async #checkField(field: string): Promise<string | undefined> {
    const [kind = "", ...path] = field.split(".");
    const name = DEFINITIONS[kind];
    if (name === undefined) throw new Error(`unknown kind in need "field ${field}"`);
    const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name };
    const crd = await this.#client.get(definition, { signal: this.#signal });
    return crd && hasField(crd, path) ? undefined : `${kind} has no field ${path.join(".")}`;
  }

  async #checkReplicas(name: string): Promise<string | undefined> {
    const server = await this.#servers.find(name);
    if (typeof server === "string") return server;
    if (server.replicas < 2) return `Deployment ${name} has fewer than two replicas`;
    return (await this.#servers.findLeader(server)) ? undefined : `no Lease names a Pod of ${name}`;
  }

  async #checkProxy(): Promise<string | undefined> {
    const proxy = await this.#client.get(CLUSTER_PROXY, { signal: this.#signal }).catch((err: unknown) => {
      if (err instanceof KindNotServed) return undefined;
      throw err;
    });
    const { httpProxy = "" } = (proxy?.["status"] ?? {}) as { httpProxy?: string };
    return httpProxy === "" ? "Proxy cluster has no status.httpProxy" : undefined;
  }
}

function toReason(found: unknown): string | undefined {
  return typeof found === "string" ? found : undefined;
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

function hasField(crd: KubeObject, path: readonly string[]): boolean {
  const { versions } = crd["spec"] as { versions: { schema?: { openAPIV3Schema?: Schema } }[] };
  return versions.some(({ schema }) => {
    let at: Schema | undefined = schema?.openAPIV3Schema;
    for (const name of path) at = at?.properties?.[name];
    return at !== undefined;
  });
}
