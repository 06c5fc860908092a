import { createInterface } from "node:readline";
import { Agent, request } from "undici";
import type { KubeObject } from "../api/k8s.ts";
import type { KeyPair } from "./certificates.ts";

/** The few requests of the control plane's own keeper: probes and the pod simulation. */
export class RestClient {
  readonly #server: string;
  readonly #agent: Agent;

  /** @param identity the client certificate; without one requests are anonymous. */
  constructor(server: string, ca: string, identity?: KeyPair) {
    this.#server = server;
    this.#agent = new Agent({ connect: { ca, ...identity }, bodyTimeout: 0, connections: 20 });
  }

  /** HTTP status of a GET. */
  async status(path: string, signal: AbortSignal): Promise<number> {
    const { statusCode, body } = await request(new URL(path, this.#server), { dispatcher: this.#agent, signal });
    await body.dump();
    return statusCode;
  }

  async list(path: string, signal: AbortSignal): Promise<{ items: KubeObject[]; resourceVersion: string }> {
    const { statusCode, body } = await request(new URL(path, this.#server), { dispatcher: this.#agent, signal });
    if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${(await body.text()).slice(0, 200)}`);
    const { items, metadata } = (await body.json()) as { items: KubeObject[]; metadata: { resourceVersion: string } };
    return { items, resourceVersion: metadata.resourceVersion };
  }

  /** Changes after `resourceVersion` until the server ends the stream. */
  async *watch(path: string, resourceVersion: string, signal: AbortSignal): AsyncGenerator<{ type: string; object: KubeObject }> {
    const url = new URL(`${path}?watch=1&resourceVersion=${resourceVersion}`, this.#server);
    const { statusCode, body } = await request(url, { dispatcher: this.#agent, signal });
    if (statusCode !== 200) throw new Error(`watch ${path}: ${statusCode} ${(await body.text()).slice(0, 200)}`);
    for await (const line of createInterface({ input: body })) {
      const event = JSON.parse(line) as { type: string; object: KubeObject };
      if (event.type === "ERROR") throw new Error(`watch ${path}: ${JSON.stringify(event.object).slice(0, 200)}`);
      yield event;
    }
  }

  /** An object that is gone or another one by now is no error. */
  async mergePatch(path: string, content: object, signal: AbortSignal): Promise<void> {
    const headers = { "content-type": "application/merge-patch+json" };
    const options = { method: "PATCH", headers, body: JSON.stringify(content), dispatcher: this.#agent, signal } as const;
    const { statusCode, body } = await request(new URL(path, this.#server), options);
    const text = await body.text();
    if (statusCode >= 300 && statusCode !== 404 && statusCode !== 409) throw new Error(`${statusCode} ${text.slice(0, 300)}`);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
