import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";

/** How often a server looks whether its Secret has changed, in place of a kubelet. */
const REFRESH_MS = 500;

interface Review {
  request: { uid: string; object?: KubeObject; objects?: KubeObject[]; desiredAPIVersion?: string };
}

/**
 * An operator's webhook server behind its Service: it serves with what its Secret holds, as a Pod that mounts it would, and is called by the
 * API server through an EndpointSlice. It refuses ConfigMaps with data `refuse`, and converts by setting apiVersion and `spec.convertedTo`.
 */
export class WebhookServer implements AsyncDisposable {
  readonly #admin: Client;
  readonly #server: Server;
  readonly #secret: ObjectRef;
  readonly #stop = new AbortController();
  #certificate = "";
  /** Requests that were answered, by path. */
  readonly served = new Map<string, number>();
  /** Every certificate that it has served with, PEM. */
  readonly certificates: string[] = [];

  private constructor(admin: Client, secret: ObjectRef) {
    this.#admin = admin;
    this.#secret = secret;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @param service of the webhooks, whose port is 443. */
  static async start(admin: Client, namespace: string, service: string, secret: string): Promise<WebhookServer> {
    const server = new WebhookServer(admin, { apiVersion: "v1", kind: "Secret", namespace, name: secret });
    const address = machineAddress();
    await new Promise<void>((resolve) => server.#server.listen(0, address, resolve));
    await admin.create({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${service}-test`, namespace, labels: { "kubernetes.io/service-name": service } },
      addressType: "IPv4",
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: "443", port: (server.#server.address() as AddressInfo).port, protocol: "TCP" }],
    });
    void server.#refresh();
    return server;
  }

  async #refresh(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const data = ((await this.#admin.get(this.#secret).catch(() => undefined))?.["data"] ?? {}) as Record<string, string>;
      const [cert, key] = ["tls.crt", "tls.key"].map((name) => Buffer.from(data[name] ?? "", "base64").toString());
      if (cert && key && cert !== this.#certificate) {
        this.#certificate = cert;
        this.certificates.push(cert);
        this.#server.setSecureContext({ cert, key });
      }
      await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
    }
  }

  /** Each answer ends its connection, so that every request meets the certificate of its moment. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = (request.url ?? "").split("?")[0] ?? "";
    const { request: review, ...rest } = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    const answer = path === "/convert" ? converted(review) : checked(review);
    this.served.set(path, (this.served.get(path) ?? 0) + 1);
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ ...rest, response: { uid: review.uid, ...answer } }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

function checked({ object }: Review["request"]): object {
  const data = (object?.["data"] ?? {}) as Record<string, string>;
  return data["refuse"] === undefined ? { allowed: true } : { allowed: false, status: { message: `refused: ${data["refuse"]}` } };
}

function converted({ objects = [], desiredAPIVersion = "" }: Review["request"]): object {
  const convertedObjects = objects.map((object) => ({
    ...object,
    apiVersion: desiredAPIVersion,
    spec: { ...(object["spec"] as object | undefined), convertedTo: desiredAPIVersion },
  }));
  return { result: { status: "Success" }, convertedObjects };
}

/** An address of this machine that is not loopback: the API server calls no endpoints there. */
function machineAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal);
  if (!found) throw new Error("this machine has no address but loopback, to which the API server sends no webhook calls");
  return found.address;
}
