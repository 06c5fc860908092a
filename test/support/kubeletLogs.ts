import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { serverCertificate } from "./serverCertificate.ts";

/** A line of a log. */
export interface LogLine {
  readonly time: Date;
  readonly text: string;
}

/** The log of one run of a container. */
export interface ContainerLog {
  /** Returns the line at this position, from 0; undefined after the last line. Lines in the future are written later. */
  line(index: number): LogLine | undefined;
}

/** What the logs of a node are read from. */
export interface LogSource {
  /** Returns a Pod of the node. */
  getPod(namespace: string, name: string): KubeObject | undefined;
  /** Returns the log of the current or previous run of a container; undefined without such a run. */
  getLog(pod: KubeObject, container: string, previous: boolean): ContainerLog | undefined;
}

/** The parameters of a request for a log. */
interface LogRequest {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number;
  readonly limitBytes: number;
  readonly since: number;
}

const POLL_MS = 100;
const PATH = /^\/containerLogs\/([^/]+)\/([^/]+)\/([^/]+)$/;

/**
 * Serves `/containerLogs/NAMESPACE/POD/CONTAINER` like a kubelet, on loopback. The API server reads Pod logs from it, if it
 * belongs to the Node of the Pod.
 * @see https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/kubelet/server/server.go, getContainerLogs
 */
export class KubeletLogs implements AsyncDisposable {
  readonly #server: Server;
  readonly #source: LogSource;
  readonly #stop = new AbortController();

  private constructor(server: Server, source: LogSource) {
    this.#server = server;
    this.#source = source;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch((err: unknown) => response.destroy(err instanceof Error ? err : undefined));
    });
  }

  static async start(source: LogSource): Promise<KubeletLogs> {
    const logs = new KubeletLogs(createServer(await serverCertificate("127.0.0.1")), source);
    logs.#server.listen(0, "127.0.0.1");
    await once(logs.#server, "listening");
    return logs;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "", "https://127.0.0.1");
    const [, namespace = "", name = "", container = ""] = PATH.exec(url.pathname) ?? [];
    if (request.method !== "GET" || name === "") return answer(response, 404, "404 page not found");
    const pod = this.#source.getPod(namespace, name);
    if (!pod) return answer(response, 404, `pod "${name}" does not exist`);
    if (!listContainers(pod).includes(container)) return answer(response, 404, `container "${container}" not found in pod "${name}"`);
    const options = readOptions(url.searchParams);
    const log = this.#source.getLog(pod, container, options.previous);
    if (!log && options.previous) return answer(response, 400, `previous terminated container "${container}" in pod "${name}" not found`);
    if (!log) return answer(response, 400, `container "${container}" in pod "${name}" is waiting to start: ContainerCreating`);
    response.writeHead(200, { "content-type": "text/plain" });
    const closed = new AbortController();
    response.once("close", () => closed.abort());
    await writeLog(response, log, options, AbortSignal.any([closed.signal, this.#stop.signal]));
    response.end();
  }
}

async function writeLog(response: ServerResponse, log: ContainerLog, options: LogRequest, signal: AbortSignal): Promise<void> {
  const { follow, limitBytes, since, tailLines, timestamps } = options;
  const format = ({ time, text }: LogLine): string => `${timestamps ? `${time.toISOString()} ` : ""}${text}\n`;
  const written: LogLine[] = [];
  let next = 0;
  for (let line = log.line(next); line && line.time.getTime() <= Date.now(); line = log.line(++next))
    if (line.time.getTime() >= since) written.push(line);
  const shown = tailLines < written.length ? written.slice(written.length - tailLines) : written;
  const bytes = Buffer.from(shown.map(format).join("")).subarray(0, limitBytes);
  response.write(bytes);
  if (!follow) return;
  let left = limitBytes - bytes.length;
  while (left > 0 && !signal.aborted) {
    const line = log.line(next);
    if (!line) return;
    if (line.time.getTime() > Date.now()) {
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
      continue;
    }
    const text = Buffer.from(format(line)).subarray(0, left);
    left -= text.length;
    next++;
    if (!response.write(text)) await once(response, "drain", { signal }).catch(() => undefined);
  }
}

function readOptions(query: URLSearchParams): LogRequest {
  const number = (name: string): number => Number(query.get(name) ?? Number.POSITIVE_INFINITY);
  const sinceTime = query.get("sinceTime");
  const sinceSeconds = number("sinceSeconds");
  return {
    follow: query.get("follow") === "true",
    previous: query.get("previous") === "true",
    timestamps: query.get("timestamps") === "true",
    tailLines: number("tailLines"),
    limitBytes: number("limitBytes"),
    since: sinceTime === null ? Date.now() - sinceSeconds * 1_000 : Date.parse(sinceTime),
  };
}

function listContainers({ spec }: KubeObject): string[] {
  const { containers = [], initContainers = [] } = (spec ?? {}) as Record<string, { name: string }[]>;
  return [...initContainers, ...containers].map(({ name }) => name);
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain" }).end(text);
}
