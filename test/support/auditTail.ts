import { open } from "node:fs/promises";
import type { AuditEvent } from "./cluster.ts";

/** What a ServiceAccount asked of the API server, and its answer. */
export interface Request {
  verb: string;
  uri: string;
  /** HTTP status. */
  code: number;
  /** What it is about; "" where there is none. */
  ref: { group: string; resource: string; namespace: string; name: string; subresource: string };
}

/** The requests of ServiceAccounts in an API server's audit log, which is read no more than once however often it is asked. */
export class AuditTail {
  readonly #path: string;
  readonly #requests = new Map<string, Request[]>();
  #offset = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** All requests of an account so far, oldest first. */
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
    const { user, verb, requestURI: uri, objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
    const { apiGroup: group = "", resource = "", namespace = "", name = "", subresource = "" } = objectRef ?? {};
    const requests = this.#requests.get(user.username) ?? [];
    this.#requests.set(user.username, requests);
    requests.push({ verb, uri, code: responseStatus?.code ?? 0, ref: { group, resource, namespace, name, subresource } });
  }
}
