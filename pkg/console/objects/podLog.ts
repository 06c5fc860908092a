import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { LOG_LIMITS } from "../../consoleapi/objects.ts";
import type { Client } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { readErrorResponse } from "../../kube/response.ts";
import { redactUserinfo } from "../../text/redact.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { LogCleaner } from "./logText.ts";
import { explainForbidden } from "./objectView.ts";

/** Maximum number of log streams of one server. */
const MAX_LOGS = 200;
/** Maximum number of log streams of one identity, so that one user cannot take all. */
const MAX_LOGS_OF_ONE = 20;
/** Maximum size of a log that is not followed, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Time without output after which a followed log ends, in milliseconds. */
const QUIET_MS = 3_600_000;
const HEADERS_MS = 30_000;
/** Time after which the user must be allowed to read an open log again, in milliseconds. */
const CHECK_MS = 60_000;

/** Which log to read. */
export interface LogSelection {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Reads the log of the instance before the last restart. */
  readonly previous: boolean;
  /** Number of lines from the end. */
  readonly tail: number;
  readonly follow: boolean;
}

/** The user who reads a log. */
export type LogReader = Pick<ClusterIdentity, "client" | "access" | "disposed">;

/** Streams logs of Pods to pages. Reads from the API server only as fast as the page reads. */
export class PodLogs {
  /** The readers of the open logs. */
  readonly #open: LogReader[] = [];

  /**
   * Starts to send a log on a response whose head was not sent. Resolves when the log ends, the page leaves, the identity is disposed of, or the user
   * may not read the log any more: the API server ends a log neither when a token expires nor when a permission is revoked.
   * @param begin called once before the head is sent
   * @throws ConsoleError if the log cannot be read
   */
  async stream(reader: LogReader, selection: LogSelection, response: ServerResponse, begin: () => void): Promise<void> {
    if (response.destroyed) return begin(); // the page left before
    const own = this.#open.filter((one) => one === reader).length;
    if (own >= MAX_LOGS_OF_ONE || this.#open.length >= MAX_LOGS)
      throw new ConsoleError("limited", "too many open logs; close some and try again");
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    response.once("close", abort);
    this.#open.push(reader);
    const check = setInterval(() => void mayStillRead(reader, selection).then((may) => may || abort()), CHECK_MS).unref();
    try {
      const signal = AbortSignal.any([stop.signal, reader.disposed]);
      const body = await openLog(reader.client, selection, signal);
      begin();
      response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" });
      response.flushHeaders();
      await pipeline(body, new LogCleaner(), response, { signal }).catch(() => undefined); // the page sees that the response is incomplete
    } finally {
      clearInterval(check);
      this.#open.splice(this.#open.indexOf(reader), 1);
      response.off("close", abort);
    }
  }
}

/** Returns whether the user may read the log. Also returns true if the API server gives no answer. */
async function mayStillRead({ access }: LogReader, { namespace, pod }: LogSelection): Promise<boolean> {
  try {
    return await access.isAllowedNow({ verb: "get", group: "", resource: "pods", subresource: "log", namespace, name: pod });
  } catch (err) {
    return !(err instanceof KubeError && err.status === 401);
  }
}

async function openLog(client: Client, { namespace, pod, container, previous, tail, follow }: LogSelection, signal: AbortSignal) {
  const query = new URLSearchParams({ container, tailLines: String(Math.min(tail, LOG_LIMITS.tail)) });
  if (previous) query.set("previous", "true");
  if (follow) query.set("follow", "true");
  else query.set("limitBytes", String(MAX_BYTES));
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log?${query.toString()}`;
  const ref = { apiVersion: "v1", kind: "Pod", namespace, name: pod };
  return explainForbidden(client, ref, "get", "log", async () => {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(new Error("the API server does not send the log")), HEADERS_MS);
    try {
      const found = await client.request("GET", path, {
        signal: AbortSignal.any([signal, timeout.signal]),
        ...(follow ? { bodyTimeoutMs: QUIET_MS } : {}),
      });
      if (found.statusCode < 400) return found.body;
      throw await readErrorResponse(found, redactUserinfo);
    } finally {
      clearTimeout(timer);
    }
  });
}
