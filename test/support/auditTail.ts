import { open } from "node:fs/promises";
import type { AuditEvent } from "./cluster.ts";

/** A request of a ServiceAccount to the API server, and its response. */
export interface Request {
  verb: string;
  uri: string;
  /** HTTP status. */
  code: number;
  /** Why the request was allowed or denied, such as the binding and the role; "" if the API server gives no reason. */
  reason: string;
  /** The requested resource or path; "" if there is none. */
  ref: { group: string; resource: string; namespace: string; name: string; subresource: string };
  /** When the API server received the request and ended it, as texts in the order of time. */
  time: { begin: string; end: string };
}

/** Reads the requests of ServiceAccounts from an API server's audit log; reads each line only once. */
export class AuditTail {
  readonly #path: string;
  readonly #requests = new Map<string, Request[]>();
  #offset = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns all requests of an account so far, oldest first. */
  async requestsOf(namespace: string, account: string): Promise<readonly Request[]> {
    await (this.#reading = this.#reading.then(() => this.#read()));
    return this.#requests.get(`system:serviceaccount:${namespace}:${account}`) ?? [];
  }

  async #read(): Promise<void> {
    const file = await open(this.#path);
    try {
      const { size } = await file.stat();
      const { buffer } = await file.read(Buffer.alloc(size - this.#offset), 0, size - this.#offset, this.#offset);
      const end = buffer.lastIndexOf("\n") + 1;
      this.#offset += end;
      for (const line of buffer.toString("utf8", 0, end).split("\n")) if (line.includes("system:serviceaccount:")) this.#take(line);
    } finally {
      await file.close();
    }
  }

  #take(line: string): void {
    const { user, verb, requestURI: uri, objectRef, responseStatus, annotations, ...times } = JSON.parse(line) as AuditEvent;
    const { apiGroup: group = "", resource = "", namespace = "", name = "", subresource = "" } = objectRef ?? {};
    const requests = this.#requests.get(user.username) ?? [];
    this.#requests.set(user.username, requests);
    const reason = annotations?.["authorization.k8s.io/reason"] ?? "";
    const ref = { group, resource, namespace, name, subresource };
    const time = { begin: times.requestReceivedTimestamp, end: times.stageTimestamp };
    requests.push({ verb, uri, code: responseStatus?.code ?? 0, reason, ref, time });
  }
}
