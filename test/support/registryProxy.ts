import { createServer, type IncomingMessage, type Server, type ServerResponse, request as send } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A fault for requests of one kind; without any of the members after `times`, requests pass. */
export interface RegistryFault {
  on: "ping" | "manifest" | "blob";
  /** Prefix of the repository's name; any repository if unset. */
  repository?: string;
  /** How often it strikes; always if unset. */
  times?: number;
  /** A response instead of the registry's; `body` is padded with blanks to `size` bytes. */
  answer?: { status: number; headers?: Record<string, string>; body?: string; size?: number };
  /** Redirects the client to the same path at another "host:port". */
  redirectTo?: string;
  /** Never responds. */
  hang?: boolean;
  /** Breaks the connection before a response. */
  reset?: boolean;
  /** Breaks the connection after this number of bytes of the body. */
  cutAfter?: number;
  /** Changes the last byte of the body. */
  corrupt?: boolean;
  /** Announces, and sends, this number of bytes more (or less) than the body has. */
  lengthBy?: number;
  bytesPerSecond?: number;
}

/** A request for a part of a repository that reached the proxy. */
export interface ProxiedRequest {
  kind: RegistryFault["on"] | "other";
  path: string;
  method: string | undefined;
  authorization: string | undefined;
}

/** A proxy for a real registry on loopback that injects faults and forwards everything else unchanged. It can stop and start again. */
export class RegistryProxy implements AsyncDisposable {
  readonly requests: ProxiedRequest[] = [];
  readonly #upstream: string;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #faults: { fault: RegistryFault; left: number }[] = [];

  private constructor(upstream: string) {
    this.#upstream = upstream;
  }

  /** @param upstream "host:port" of the registry, plain HTTP. */
  static async start(upstream: string): Promise<RegistryProxy> {
    const proxy = new RegistryProxy(upstream);
    await proxy.up();
    return proxy;
  }

  get host(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Replaces the faults. */
  arm(...faults: readonly RegistryFault[]): void {
    this.#faults = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
  }

  /** Returns the number of requests of a kind for a repository. */
  count(kind: ProxiedRequest["kind"], repository: string): number {
    return this.requests.filter((request) => request.kind === kind && request.path.startsWith(`/v2/${repository}/`)).length;
  }

  /** Listens, on the same port each time. */
  async up(): Promise<void> {
    const server = createServer((req, res) => void this.#serve(req, res).catch(() => req.socket.destroy()));
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes every connection and accepts no new one. */
  async down(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      if (server) server.close(() => resolve());
      else resolve();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on("error", () => undefined);
    const kind = parseKind(req.url ?? "");
    this.requests.push({ kind, path: req.url ?? "", method: req.method, authorization: req.headers.authorization });
    const isMeant = ({ on, repository = "" }: RegistryFault): boolean => on === kind && (req.url ?? "").startsWith(`/v2/${repository}`);
    const armed = this.#faults.find(({ fault, left }) => isMeant(fault) && left > 0);
    if (armed) armed.left -= 1;
    const fault = armed?.fault;
    if (fault?.hang) return;
    if (fault?.reset) return void req.socket.destroy();
    if (fault?.redirectTo !== undefined) {
      res.writeHead(307, { location: `http://${fault.redirectTo}${req.url}` }).end();
      return;
    }
    if (fault?.answer) {
      const { status, headers = {}, body = "", size = 0 } = fault.answer;
      return void res.writeHead(status, headers).end(body.padEnd(size));
    }
    const { status, headers, body } = await this.#fetch(req);
    if (fault === undefined) return void res.writeHead(status, headers).end(body);
    return breaking(res, { status, headers, body }, fault);
  }

  async #fetch(req: IncomingMessage): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const [hostname, port] = this.#upstream.split(":");
    const headers = { ...req.headers, host: this.#upstream, connection: "close" };
    send({ hostname, port, method: req.method, path: req.url, headers }, resolve).on("error", reject).end();
    const answer = await promise;
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const { connection: _, "transfer-encoding": __, ...kept } = answer.headers;
    return { status: answer.statusCode ?? 502, headers: kept as Record<string, string>, body: Buffer.concat(chunks) };
  }
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Sends the response that the fault specifies. */
async function breaking(res: ServerResponse, { status, headers, body }: Answer, fault: RegistryFault): Promise<void> {
  let sent = Buffer.from(body);
  if (fault.corrupt) sent[sent.length - 1] = (sent.at(-1) ?? 0) ^ 0xff;
  if (fault.lengthBy !== undefined)
    sent = fault.lengthBy > 0 ? Buffer.concat([sent, Buffer.alloc(fault.lengthBy)]) : sent.subarray(0, fault.lengthBy);
  res.writeHead(status, { ...headers, "content-length": sent.length });
  if (fault.cutAfter !== undefined) {
    await new Promise<void>((resolve) => res.write(sent.subarray(0, fault.cutAfter), () => resolve()));
    return void res.socket?.destroy();
  }
  if (fault.bytesPerSecond === undefined) return void res.end(sent);
  const piece = Math.max(1, Math.floor(fault.bytesPerSecond / 10));
  for (let at = 0; at < sent.length && !res.destroyed; at += piece) {
    res.write(sent.subarray(at, at + piece));
    await sleep(100);
  }
  return void res.end();
}

function parseKind(path: string): ProxiedRequest["kind"] {
  if (path === "/v2/") return "ping";
  if (path.includes("/manifests/")) return "manifest";
  return path.includes("/blobs/") ? "blob" : "other";
}
