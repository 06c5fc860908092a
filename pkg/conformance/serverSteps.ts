import { text } from "node:stream/consumers";
import type { JsonObject } from "../api/k8s.ts";
import { openConnections } from "../http/connections.ts";
import type { Client } from "../kube/client.ts";
import { ServiceAccountTokens } from "../kube/tokens.ts";
import { findMismatch } from "./expectations.ts";
import type { ObjectSteps } from "./objectSteps.ts";
import type { ScenarioNames } from "./scenarioNames.ts";
import { type DeployedServer, isReadyPod, Servers } from "./servers.ts";

/** The services of ServerSteps. */
export interface ServerStepsParts {
  readonly names: ScenarioNames;
  readonly objects: ObjectSteps;
  readonly signal: AbortSignal;
}

/** Restarts the servers of OLM v1 and reads their metrics. Only for scenarios whose needs include the server. */
export class ServerSteps {
  readonly #client: Client;
  readonly #parts: ServerStepsParts;
  readonly #servers: Servers;

  constructor(client: Client, parts: ServerStepsParts) {
    this.#client = client;
    this.#parts = parts;
    this.#servers = new Servers(client, parts.signal);
  }

  /** Deletes all Pods of a server, and waits until others are ready. */
  async restart(name: string): Promise<void> {
    const { namespace, pods } = await this.#find(name);
    for (const { metadata } of pods) await this.#deletePod(namespace, metadata.name);
    const former = new Set(pods.map(({ metadata }) => metadata.uid));
    await this.#parts.objects.wait(`new Pods of ${name} to be ready`, async () => {
      const { replicas, pods: current } = await this.#find(name);
      const ready = current.filter((pod) => !former.has(pod.metadata.uid) && isReadyPod(pod));
      return ready.length >= replicas ? undefined : `${ready.length} of ${replicas} are`;
    });
  }

  /** Deletes the leading Pod of a server, and waits until another one leads. */
  async deleteLeader(name: string): Promise<void> {
    const server = await this.#find(name);
    const leader = await this.#servers.findLeader(server);
    if (!leader) throw new Error(`no Pod of ${name} leads`);
    await this.#deletePod(server.namespace, leader.name);
    await this.#parts.objects.wait(`another Pod of ${name} to lead`, async () => {
      const next = await this.#servers.findLeader(await this.#find(name));
      if (!next) return "none leads";
      return next.name === leader.name ? `${next.name} still leads` : undefined;
    });
  }

  /** Requests the metrics of a server until the response is as expected. @param account a ServiceAccount in the namespace; default: no token */
  async expectMetrics(name: string, account: string | undefined, expected: JsonObject): Promise<void> {
    const { names, objects, signal } = this.#parts;
    const url = await this.#servers.findMetrics(name);
    if (typeof url === "string") throw new Error(url);
    const token = account === undefined ? undefined : await new ServiceAccountTokens(this.#client).tokenFor(names.namespace, account)();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    // The certificate is for clients that have its authority, which is not part of the public API.
    const connections = openConnections({ tls: { rejectUnauthorized: false }, keepAliveMs: 1_000 });
    try {
      await objects.wait(`the metrics of ${name}`, async () => {
        const { statusCode, body } = await connections.request(url, { method: "GET", headers, signal });
        return findMismatch(names.substitute(expected), { status: statusCode, body: await text(body) });
      });
    } finally {
      await connections.close();
    }
  }

  async #find(name: string): Promise<DeployedServer> {
    const server = await this.#servers.find(name);
    if (typeof server === "string") throw new Error(server);
    return server;
  }

  async #deletePod(namespace: string, name: string): Promise<void> {
    await this.#client.delete({ apiVersion: "v1", kind: "Pod", namespace, name }, { signal: this.#parts.signal });
  }
}
