import { open, stat } from "node:fs/promises";
import type { AuditEvent } from "./cluster.ts";

/** A request of a ServiceAccount to the API server, and its response. */
export interface Request {
  /** User name, such as "system:serviceaccount:namespace:name". */
  account: string;
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

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection"]);
/** Leases are renewed all the time; creating a review or a token only asks a question. */
const NOT_WRITTEN = /^(leases|(self)?subject\w+|\w+reviews)$/;

/** Returns whether a request changes an object other than a Lease. */
export function isWrite({ verb, uri, ref: { resource, subresource } }: Request): boolean {
  return WRITES.has(verb) && !uri.includes("dryRun=") && !NOT_WRITTEN.test(resource) && subresource !== "token";
}

/** Far more than the longest line. */
const CHUNK_BYTES = 16 * 1024 * 1024;

/** Reads the requests of ServiceAccounts from an API server's audit log; reads each line only once. */
export class AuditTail {
  readonly #path: string;
  readonly #requests = new Map<string, Request[]>();
  #offset: number;
  #reading: Promise<void> = Promise.resolve();

  /** @param offset in bytes; earlier requests are not read */
  constructor(path: string, offset = 0) {
    this.#path = path;
    this.#offset = offset;
  }

  /** Creates a reader of the requests from now on. */
  static async fromNow(path: string): Promise<AuditTail> {
    return new AuditTail(path, (await stat(path)).size);
  }

  /** Returns the writes of all ServiceAccounts so far, without those of Kubernetes itself. */
  async listWrites(): Promise<Request[]> {
    return (await this.listRequests()).filter(isWrite);
  }

  /** Returns the requests of all ServiceAccounts so far, without watches and without those of Kubernetes itself. */
  async listRequests(): Promise<Request[]> {
    await this.#update();
    const others = [...this.#requests].filter(([account]) => !account.includes(":kube-system:"));
    return others.flatMap(([, requests]) => requests).filter(({ verb }) => verb !== "watch");
  }

  /** Returns all requests of an account so far, oldest first. */
  async requestsOf(namespace: string, account: string): Promise<readonly Request[]> {
    await this.#update();
    return this.#requests.get(`system:serviceaccount:${namespace}:${account}`) ?? [];
  }

  #update(): Promise<void> {
    return (this.#reading = this.#reading.then(() => this.#read()));
  }

  async #read(): Promise<void> {
    const file = await open(this.#path);
    try {
      const buffer = Buffer.alloc(CHUNK_BYTES);
      for (let end = -1; end !== 0; this.#offset += end) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, this.#offset);
        end = buffer.subarray(0, bytesRead).lastIndexOf("\n") + 1;
        for (const line of buffer.toString("utf8", 0, end).split("\n")) if (line.includes("system:serviceaccount:")) this.#take(line);
      }
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
    requests.push({ account: user.username, verb, uri, code: responseStatus?.code ?? 0, reason, ref, time });
  }
}
