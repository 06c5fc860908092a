import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { SecureVersion, TLSSocket } from "node:tls";
import { KubeConfig, type User } from "@kubernetes/client-node";
import { Credentials } from "../../pkg/kube/credentials.ts";

/** A request that the loopback server received. */
export interface SeenRequest {
  method: string;
  /** Path with query. */
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
  /** Common name of the client certificate, if the connection has one. */
  certificate: string | undefined;
  /** Number of the connection, in order of first requests. */
  connection: number;
}

/** The response: a status and JSON (or text), or a function that writes it. */
export type Answer =
  | { status?: number; json?: unknown; text?: string; headers?: Record<string, string> }
  | ((response: ServerResponse) => void);

type Handler = (request: SeenRequest) => Answer;

/** A server on loopback whose responses the test writes, to simulate rare behaviour of an API server. */
export class LoopbackApi implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly url: string;
  readonly #server: Server;
  readonly #connections = new Map<object, number>();

  private constructor(server: Server, scheme: string) {
    this.#server = server;
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param tls serves https and requests client certificates of the same CA. */
  static async start(handler: Handler, tls?: { key: string; cert: string; ca: string; maxVersion?: SecureVersion }): Promise<LoopbackApi> {
    let self: LoopbackApi | undefined;
    const listener = (request: IncomingMessage, response: ServerResponse): void => void self?.serve(request, response, handler);
    const server = tls ? createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false }, listener) : createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    self = new LoopbackApi(server, tls ? "https" : "http");
    return self;
  }

  /** Returns credentials for this server. */
  credentials(user: Partial<User> = {}, caData?: string, now?: () => number): Credentials {
    return new Credentials(() => {
      const config = new KubeConfig();
      const cluster = {
        name: "loopback",
        server: this.url,
        skipTLSVerify: caData === undefined,
        ...(caData === undefined ? {} : { caData }),
      };
      config.loadFromClusterAndUser(cluster, { name: "user", ...user });
      return config;
    }, now);
  }

  /** Returns the content of a kubeconfig for this server. */
  get kubeconfig(): string {
    return JSON.stringify({
      clusters: [{ name: "loopback", cluster: { server: this.url, "insecure-skip-tls-verify": true } }],
      users: [{ name: "user", user: {} }],
      contexts: [{ name: "loopback", context: { cluster: "loopback", user: "user" } }],
      "current-context": "loopback",
    });
  }

  /** Returns method and path of all requests so far. */
  get log(): string[] {
    return this.requests.map(({ method, url }) => `${method} ${url}`);
  }

  async serve(request: IncomingMessage, response: ServerResponse, handler: Handler): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { socket, method = "", url = "", headers } = request;
    if (!this.#connections.has(socket)) this.#connections.set(socket, this.#connections.size + 1);
    const certificate = "getPeerCertificate" in socket ? (socket as TLSSocket).getPeerCertificate().subject?.CN : undefined;
    const seen: SeenRequest = {
      method,
      url,
      headers,
      body: Buffer.concat(chunks).toString(),
      certificate: typeof certificate === "string" ? certificate : undefined,
      connection: this.#connections.get(socket) ?? 0,
    };
    this.requests.push(seen);
    const answer = handler(seen);
    if (typeof answer === "function") {
      answer(response);
      return;
    }
    const text = answer.text ?? JSON.stringify(answer.json ?? {});
    response.writeHead(answer.status ?? 200, {
      "content-type": answer.text === undefined ? "application/json" : "text/plain",
      ...answer.headers,
    });
    response.end(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

/** Creates a response that rejects a request with a Status body, like the API server. */
export function statusAnswer(code: number, reason: string, message: string, details?: object): { status: number; json: unknown } {
  return { status: code, json: { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, details } };
}
