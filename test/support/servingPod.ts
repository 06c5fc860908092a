import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { JsonObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";

/** How often a server checks whether its Secret has changed, instead of a kubelet. */
const REFRESH_MS = 500;

/** Service, certificate and responses of a `ServingPod`. */
export interface ServingOptions {
  namespace: string;
  service: string;
  /** Port of the Service (default: 443), which is named like its number. */
  port?: number;
  /** Name of the Secret with its certificate. */
  secret: string;
  /** Returns the JSON response to a request; undefined means status 404. */
  answer(request: { method: string; path: string; body: unknown }): unknown;
}

/**
 * An operator's HTTPS server for its Service: it serves with the certificate in its Secret, as a Pod that mounts it would, and the
 * API server calls it through an EndpointSlice, or through Endpoints in older versions of Kubernetes.
 */
export class ServingPod implements AsyncDisposable {
  readonly #admin: Client;
  readonly #server: Server;
  readonly #options: ServingOptions;
  readonly #stop = new AbortController();
  #refreshing: Promise<void> = Promise.resolve();
  #subsets: JsonObject[] = [];
  #certificate = "";
  /** Number of completed requests, by path. */
  readonly served = new Map<string, number>();
  /** Every certificate that it has served with, PEM. */
  readonly certificates: string[] = [];

  private constructor(admin: Client, options: ServingOptions) {
    this.#admin = admin;
    this.#options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(admin: Client, options: ServingOptions): Promise<ServingPod> {
    const pod = new ServingPod(admin, options);
    const { namespace, service, port = 443 } = options;
    const address = machineAddress();
    await new Promise<void>((resolve) => pod.#server.listen(0, address, resolve));
    const ports = [{ name: String(port), port: (pod.#server.address() as AddressInfo).port, protocol: "TCP" }];
    const { apiVersion, kind, name } = pod.#slice;
    await admin.create({
      apiVersion,
      kind,
      metadata: { name, namespace, labels: { "kubernetes.io/service-name": service } },
      addressType: "IPv4",
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports,
    });
    pod.#subsets = [{ addresses: [{ ip: address }], ports }];
    await pod.#writeEndpoints();
    pod.#refreshing = pod.#refresh();
    return pod;
  }

  get #slice(): ObjectRef {
    const { namespace, service } = this.#options;
    return { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", namespace, name: `${service}-test` };
  }

  get #endpoints(): ObjectRef {
    const { namespace, service } = this.#options;
    return { apiVersion: "v1", kind: "Endpoints", namespace, name: service };
  }

  /** Writes the Endpoints unless they are current: the controller of Endpoints replaces them if the Service selects Pods. */
  async #writeEndpoints(): Promise<void> {
    const { apiVersion, kind, name } = this.#endpoints;
    const live = await this.#admin.get(this.#endpoints);
    if (isDeepStrictEqual(live?.["subsets"], this.#subsets)) return;
    const metadata = { name, namespace: this.#options.namespace, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } };
    await this.#admin.apply({ apiVersion, kind, metadata, subsets: this.#subsets }, { fieldManager: "test", force: true });
  }

  async #refresh(): Promise<void> {
    const ref: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: this.#options.namespace, name: this.#options.secret };
    while (!this.#stop.signal.aborted) {
      const data = ((await this.#admin.get(ref).catch(() => undefined))?.["data"] ?? {}) as Record<string, string>;
      const [cert, key] = ["tls.crt", "tls.key"].map((name) => Buffer.from(data[name] ?? "", "base64").toString());
      if (cert && key && cert !== this.#certificate) {
        this.#certificate = cert;
        this.certificates.push(cert);
        this.#server.setSecureContext({ cert, key });
      }
      await this.#writeEndpoints().catch(() => undefined);
      await sleep(REFRESH_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  /** Closes the connection after each response, so that every request uses the current certificate. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const path = (request.url ?? "").split("?")[0] ?? "";
    const answer = this.#options.answer({ method: request.method ?? "", path, body: text === "" ? undefined : JSON.parse(text) });
    this.served.set(path, (this.served.get(path) ?? 0) + 1);
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json", connection: "close" });
    response.end(answer === undefined ? "" : JSON.stringify(answer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#refreshing;
    await Promise.all([this.#slice, this.#endpoints].map((ref) => this.#admin.delete(ref)));
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

/** Returns an address of this machine other than loopback, because the API server does not call endpoints on loopback. */
export function machineAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal);
  if (!found) throw new Error("this machine has only loopback addresses, and the API server does not call endpoints on loopback");
  return found.address;
}
