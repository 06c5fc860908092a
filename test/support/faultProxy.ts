import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { Agent, request as send } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { generate } from "selfsigned";
import { type ApiRequest, ArmedFaults, apiRequestFrom, type FaultAction, type FaultRule } from "./faultRule.ts";
import { statusAnswer } from "./loopbackApi.ts";

/** A request that the proxy received, and its outcome. */
export interface ProxiedRequest extends ApiRequest {
  /** Time of arrival, in milliseconds of `performance.now()`. */
  readonly at: number;
  /** Status of the response, of the API server or a rule; undefined until there is one. */
  status: number | undefined;
  /** Whether the API server responded. */
  reached: boolean;
  /** Whether the API server reported in the stream of a watch that the resourceVersion is too old. */
  expired: boolean;
}

/** Functions that the proxy calls with every request. */
export interface RequestHooks {
  /** Called before the proxy forwards the request; the proxy waits for the promise. */
  readonly before?: (request: SentRequest) => Promise<void> | undefined;
  /** Called after the API server has responded, before the response is sent to the client. */
  readonly after?: (request: SentRequest) => void;
}

/** A request with its body. */
export interface SentRequest extends ApiRequest {
  readonly body: Buffer;
}

/** Headers that belong to the connection and not to the request. */
const HOP_BY_HOP = new Set(["connection", "host", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings"]);
const EXPIRED = '"reason":"Expired"';

/**
 * A proxy for the API server that injects the faults of its rules and forwards everything else unchanged. It serves HTTP/1.1 and HTTP/2
 * and forwards bearer tokens; it does not support client certificates.
 */
export class FaultProxy implements AsyncDisposable {
  /** For example "https://127.0.0.1:40123". */
  readonly url: string;
  /** PEM text of the certificate authority of the proxy. */
  readonly ca: string;
  /** Every request so far, in order of arrival. */
  readonly requests: ProxiedRequest[] = [];
  readonly #server: Http2SecureServer;
  readonly #upstream: { readonly url: URL; readonly agent: Agent };
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Breaks the connections that carry a watch. */
  readonly #watches = new Set<() => void>();
  #faults = new ArmedFaults();
  readonly #hooks = new Set<RequestHooks>();

  private constructor(server: Http2SecureServer, ca: string, upstream: { url: URL; agent: Agent }) {
    this.#server = server;
    this.#upstream = upstream;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.ca = ca;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("error", () => undefined);
      session.once("close", () => this.#sessions.delete(session));
    });
    server.on("tlsClientError", () => undefined);
    server.on("request", (request, response) => void this.#serve(request, response).catch(() => request.socket.destroy()));
  }

  /** @param upstream URL of the API server; its certificate is not verified. */
  static async start(upstream: string): Promise<FaultProxy> {
    const { cert, private: key } = await generate([{ name: "commonName", value: "fault-proxy" }], {
      algorithm: "sha256",
      keyType: "ec",
      extensions: [
        { name: "basicConstraints", cA: true, critical: true },
        { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
      ],
    });
    const server = createSecureServer({ key, cert, allowHTTP1: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FaultProxy(server, cert, { url: new URL(upstream), agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) });
  }

  /** Replaces the rules. @returns how often the new ones strike. */
  arm(rules: readonly FaultRule[]): ArmedFaults {
    this.#faults = new ArmedFaults(rules);
    return this.#faults;
  }

  /** Adds hooks; drops requests whose clients disconnect while a hook delays them. @returns a function that removes the hooks */
  addHooks(hooks: RequestHooks): () => void {
    this.#hooks.add(hooks);
    return () => this.#hooks.delete(hooks);
  }

  removeAllHooks(): void {
    this.#hooks.clear();
  }

  /** Breaks the connections of all open watches. */
  dropWatches(): void {
    for (const drop of this.#watches) drop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    this.#upstream.agent.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    let closed = false;
    response.once("close", () => {
      closed = true;
    });
    const isClosed = (): boolean => closed;
    const seen = { ...apiRequestFrom(request.method, request.url, request.headers), at: performance.now() };
    const logged: ProxiedRequest = { ...seen, status: undefined, reached: false, expired: false };
    this.requests.push(logged);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const fault = this.#faults.strike(seen);
    if (fault?.cut === "before") return breakConnection(request);
    if (fault?.cut === "watches") this.dropWatches();
    if (fault?.answer !== undefined) {
      logged.status = fault.answer;
      return answer(response, fault, fault.answer);
    }
    if (fault?.delayMs !== undefined) await sleep(fault.delayMs);
    const sent: SentRequest = { ...seen, body: Buffer.concat(chunks) };
    await Promise.all([...this.#hooks].map(async ({ before }) => before?.(sent)));
    if (isClosed()) return breakConnection(request);
    let answered: IncomingMessage;
    try {
      answered = await this.#forward(request, response, sent.body);
    } catch {
      return breakConnection(request); // as if the API server itself had disconnected
    }
    logged.reached = true;
    for (const { after } of this.#hooks) after?.(sent);
    if (fault?.cut === "after") {
      answered.destroy();
      return breakConnection(request);
    }
    logged.status = answered.statusCode;
    return this.#handBack(request, response, answered, logged);
  }

  #forward(request: Http2ServerRequest, response: Http2ServerResponse, body: Buffer): Promise<IncomingMessage> {
    const { url, agent } = this.#upstream;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const options = { agent, method: request.method, path: request.url, headers: { ...passedOn(request.headers), host: url.host } };
    const sent = send(url, options, resolve);
    sent.on("error", reject);
    response.once("close", () => sent.destroy());
    sent.end(body);
    return promise;
  }

  #handBack(request: Http2ServerRequest, response: Http2ServerResponse, answered: IncomingMessage, logged: ProxiedRequest): void {
    const drop = (): void => breakConnection(request);
    if (logged.verb === "watch") {
      this.#watches.add(drop);
      response.once("close", () => this.#watches.delete(drop));
      answered.on("data", (chunk: Buffer) => {
        logged.expired ||= chunk.includes(EXPIRED);
      });
    }
    answered.on("error", drop);
    response.writeHead(answered.statusCode ?? 502, passedOn(answered.headers));
    if ("flushHeaders" in response) (response as unknown as ServerResponse).flushHeaders();
    answered.pipe(response);
  }
}

/** Destroys the connection; with HTTP/2, all of its streams end. */
function breakConnection({ socket, stream }: Http2ServerRequest): void {
  if (stream?.session) stream.session.destroy();
  else socket.destroy();
}

function answer(response: Http2ServerResponse, { reason, message, retryAfter }: FaultAction, status: number): void {
  const { json } = statusAnswer(status, reason ?? "", message ?? `status ${status} by a test`);
  const wait: OutgoingHttpHeaders = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  response.writeHead(status, { "content-type": "application/json", ...wait });
  response.end(JSON.stringify(json));
}

function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":") && !HOP_BY_HOP.has(name)));
}
