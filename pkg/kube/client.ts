import { type GroupVersionKind, type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { writeExactJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import type { HttpResponse } from "../http/types.ts";
import { Credentials } from "./credentials.ts";
import { type ApiResource, Discovery } from "./discovery.ts";
import { isExpired, isNotFound, isTooLargeVersion } from "./errors.ts";
import {
  type ApplyOptions,
  type CallOptions,
  CONTENT_TYPE,
  type DeleteOptions,
  formatResourcePath,
  type GetOptions,
  type ListOptions,
  type ListResult,
  type Location,
  type PageOptions,
  type PatchOptions,
  type Query,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from "./request.ts";
import { isPathNotFound, parseWarnings, readBytes, readErrorResponse, readResponse, type TextFilter } from "./response.ts";
import { type RequestInit, type TokenSource, Transport, type TransportOptions } from "./transport.ts";
import { getAcceptHeader, watchEvents } from "./watch.ts";

const PAGE = 500;
const PATCH_TYPES = { merge: CONTENT_TYPE.mergePatch, json: CONTENT_TYPE.jsonPatch, strategic: CONTENT_TYPE.strategicPatch } as const;

/**
 * Client of the API server with one identity. Returns objects as received, including unknown fields. Every call throws KubeError if the server
 * rejects it, KindNotServed if the server does not serve the kind, and an error of undici if there is no response.
 */
export class Client {
  readonly #transport: Transport;
  readonly #discovery: Discovery;
  readonly #filterText: TextFilter;

  private constructor(transport: Transport, discovery: Discovery, filterText: TextFilter = (text) => text) {
    this.#transport = transport;
    this.#discovery = discovery;
    this.#filterText = filterText;
  }

  /**
   * Creates a client with the identity of the kubeconfig at `path`, else of KUBECONFIG, else of the
   * Pod, else of ~/.kube/config.
   */
  static fromKubeConfig(path?: string, options: TransportOptions = {}): Client {
    return Client.of(Credentials.fromKubeConfig(path), options);
  }

  /** Creates a client with these credentials. */
  static of(credentials: Credentials, options: TransportOptions = {}): Client {
    const transport = Transport.of(credentials, options);
    return new Client(transport, createDiscovery(transport));
  }

  /**
   * Returns a client for the same server that authenticates with tokens from the source, without a client certificate. All token clients of one
   * parent share a connection pool and, unless `ownDiscovery` is set because the parent has no credentials, the parent's discovery. `close` the parent
   * to close them.
   */
  withToken(source: TokenSource, { ownDiscovery = false } = {}): Client {
    const transport = this.#transport.withToken(source);
    return new Client(transport, ownDiscovery ? createDiscovery(transport) : this.#discovery, this.#filterText);
  }

  /**
   * Returns a client with the same server and identity that transforms the server's errors and warnings, which may quote the request, with
   * `filterText`. `close` the parent to close it.
   */
  withTextFilter(filterText: (text: string) => string): Client {
    return new Client(this.#transport, this.#discovery, filterText);
  }

  /**
   * Returns a client with the same server and identity that calls `mayWrite` before each request other than GET or HEAD, and waits for it. If it throws, the
   * request fails with its error. Also applies to clients that `withToken` derives from it. `close` the parent to close them.
   */
  guardedBy(mayWrite: () => void | Promise<void>): Client {
    return new Client(this.#transport.guardedBy(mayWrite), this.#discovery, this.#filterText);
  }

  /**
   * Returns the resource of a kind; refreshes discovery once if it is unknown. @throws
   * KindNotServed
   */
  resourceFor(gvk: GroupVersionKind): Promise<ApiResource> {
    return this.#discovery.resourceFor(gvk);
  }

  /** Returns one object, or undefined if it does not exist. */
  async get<T extends KubeObject = KubeObject>(ref: ObjectRef, options: GetOptions = {}): Promise<T | undefined> {
    const headers = { accept: getAcceptHeader("object", options.metadataOnly) };
    const found = await absentAs(undefined, this.#call("GET", ref, ref, {}, { headers, signal: options.signal }));
    // Custom resources may have `items` or a kind that ends with List, but lists never have a name.
    if (isList(found) && (found as Partial<KubeObject>).metadata?.name === undefined)
      throw new Error(`reading ${ref.kind} ${goQuote(ref.name)}: the response of the API server is a list`);
    return found === undefined ? undefined : { ...(found as T), apiVersion: ref.apiVersion, kind: ref.kind };
  }

  /** Lists all objects of a kind that match, page by page; watch from the returned resourceVersion. */
  async list<T extends KubeObject = KubeObject>(gvk: GroupVersionKind, options: ListOptions = {}): Promise<ListResult<T>> {
    const { namespace, labelSelector, fieldSelector, limit = PAGE, maxItems = Number.POSITIVE_INFINITY, signal } = options;
    let { notOlderThan } = options;
    const headers = { accept: getAcceptHeader("list", options.metadataOnly) };
    const items: T[] = [];
    let token: string | undefined;
    let page: number | undefined = limit;
    for (;;) {
      // A continue token already contains the resourceVersion.
      const isOldAllowed = token === undefined && notOlderThan !== undefined;
      const age: Query = isOldAllowed ? { resourceVersion: notOlderThan, resourceVersionMatch: "NotOlderThan" } : {};
      const query: Query = { labelSelector, fieldSelector, limit: page, continue: token, ...age };
      let list: KubeList;
      try {
        list = (await this.#call("GET", gvk, { namespace }, query, { headers, signal })) as KubeList;
      } catch (err) {
        if (isOldAllowed && isTooLargeVersion(err)) {
          notOlderThan = undefined; // another API server, whose cache is older
          continue;
        }
        if (token === undefined || !isExpired(err)) throw err;
        items.length = 0; // the snapshot of the list has expired: read it without pages
        token = undefined;
        page = undefined;
        continue;
      }
      if (!isList(list)) throw new Error(`listing ${gvk.kind} (${gvk.apiVersion}): the response of the API server is not a list`);
      for (const item of list.items ?? []) items.push({ ...item, apiVersion: gvk.apiVersion, kind: gvk.kind } as T);
      token = list.metadata?.continue;
      if (!token || items.length >= maxItems)
        return { items: items.slice(0, maxItems), resourceVersion: list.metadata?.resourceVersion ?? "" };
    }
  }

  /**
   * Reads one page of the list of a kind in all namespaces as raw bytes, so that a page of large
   * objects can be parsed in another thread.
   * @returns undefined, without reading the rest, if the page is larger than `maxBytes`.
   */
  async listPage(
    gvk: GroupVersionKind,
    { limit, continue: token, maxBytes, metadataOnly, signal }: PageOptions,
  ): Promise<Uint8Array | undefined> {
    const headers = { accept: getAcceptHeader("list", metadataOnly) };
    const response = await this.#send("GET", gvk, {}, { limit, continue: token }, { headers, signal });
    return readBytes(response.body, maxBytes);
  }

  /** Creates an object; supports `metadata.generateName`. */
  async create<T extends KubeObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const location = { namespace: object.metadata.namespace };
    return (await this.#call("POST", object, location, writeQuery(options), bodyInit(object, CONTENT_TYPE.json, options))) as T;
  }

  /** Replaces an object. If `object` contains a resourceVersion, it must match. */
  async replace<T extends KubeObject>(object: T, options: WriteOptions & { subresource?: string } = {}): Promise<T> {
    const location = { ...toObjectRef(object), subresource: options.subresource };
    return (await this.#call("PUT", object, location, writeQuery(options), bodyInit(object, CONTENT_TYPE.json, options))) as T;
  }

  /**
   * Applies an object server-side: creates it, or sets the manager's fields.
   * @throws KubeError 409 with the conflicting managers if they own a field that would change and `force` is not set.
   */
  async apply<T extends KubeObject>(object: T, options: ApplyOptions): Promise<T> {
    const location = { ...toObjectRef(object), subresource: options.subresource };
    const init = bodyInit(object, CONTENT_TYPE.applyPatch, options);
    const response = await this.#send("PATCH", object, location, writeQuery(options), init);
    if (options.warn) for (const text of parseWarnings(response.headers["warning"])) options.warn(this.#filterText(text));
    return (await readResponse(response, this.#filterText)) as T;
  }

  /** Patches one object; returns the patched object. */
  async patch<T extends KubeObject = KubeObject>(ref: ObjectRef, body: unknown, options: PatchOptions): Promise<T> {
    const location = { ...ref, subresource: options.subresource };
    return (await this.#call("PATCH", ref, location, writeQuery(options), bodyInit(body, PATCH_TYPES[options.type], options))) as T;
  }

  /**
   * Deletes one object if its uid and resourceVersion match.
   * @returns false if it does not exist; true if it was deleted or waits for finalizers.
   * @throws KubeError 409 if a precondition fails.
   */
  async delete(ref: ObjectRef, options: DeleteOptions = {}): Promise<boolean> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options;
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion },
      propagationPolicy,
      gracePeriodSeconds,
      dryRun: options.dryRun ? ["All"] : undefined,
    };
    const deleted = this.#call("DELETE", ref, ref, {}, bodyInit(body, CONTENT_TYPE.json, options));
    return absentAs(
      false,
      deleted.then(() => true),
    );
  }

  /**
   * Yields the changes of a kind after a resourceVersion, until the server ends the stream (some
   * minutes) or `signal` aborts.
   * @throws KubeError, with `isExpired` if a new list is needed; undici's errors if the connection
   * breaks.
   */
  async *watch<T extends KubeObject = KubeObject>(gvk: GroupVersionKind, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const { namespace, signal } = options;
    yield* watchEvents<T>(gvk, options, async (query, init) => {
      return (await this.#send("GET", gvk, { namespace }, query, { ...init, signal })).body;
    });
  }

  /** Sends any request and parses the response. @throws KubeError for every status from 400. */
  async raw(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<unknown> {
    const init = body === undefined ? { signal: options.signal } : bodyInit(body, CONTENT_TYPE.json, options);
    return readResponse(await this.#transport.request(method, path, init), this.#filterText);
  }

  /** Sends any request; returns the response with any status. The caller must consume its body. */
  request(method: string, path: string, init: RequestInit = {}): Promise<HttpResponse> {
    return this.#transport.request(method, path, init);
  }

  /** Closes all connections, including those of token clients. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  async #call(method: string, gvk: GroupVersionKind, location: Location, query: Query, init: RequestInit): Promise<unknown> {
    return readResponse(await this.#send(method, gvk, location, query, init), this.#filterText);
  }

  /**
   * Sends a request for a kind. If its path is not served, refreshes discovery once, because CRDs
   * change.
   */
  async #send(method: string, gvk: GroupVersionKind, location: Location, query: Query, init: RequestInit) {
    for (let fresh = false; ; fresh = true) {
      const resource = await this.#discovery.resourceFor(gvk);
      const response = await this.#transport.request(method, formatResourcePath(gvk, resource, location, query), init);
      if (response.statusCode < 400) return response;
      const err = await readErrorResponse(response, this.#filterText);
      if (fresh || !isPathNotFound(err)) throw err;
      this.#discovery.forget(gvk.apiVersion);
    }
  }
}

interface KubeList {
  items?: KubeObject[] | null;
  metadata?: { continue?: string; resourceVersion?: string };
}

/** Returns a discovery that reads with the identity of the transport. */
function createDiscovery(transport: Transport): Discovery {
  return new Discovery(async (path) => {
    const response = await transport.request("GET", path);
    if (response.statusCode !== 404) return (await readResponse(response, (text) => text)) as { resources?: [] };
    await response.body.dump();
    return undefined;
  });
}

/** Returns whether a response is a list. Any other response with status 200 must not be mistaken for an empty list. */
function isList(answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const { kind = "", items } = answer as { kind?: unknown; items?: unknown };
  return Array.isArray(items) || (items !== undefined ? items === null : String(kind).endsWith("List"));
}

function writeQuery(options: { fieldManager?: string; force?: boolean; dryRun?: boolean }): Query {
  return { fieldManager: options.fieldManager, force: options.force || undefined, dryRun: options.dryRun ? "All" : undefined };
}

function bodyInit(body: unknown, type: string, options: CallOptions): RequestInit {
  return { body: writeExactJson(body), headers: { "content-type": type }, signal: options.signal };
}

async function absentAs<T, U>(value: U, call: Promise<T>): Promise<T | U> {
  try {
    return await call;
  } catch (err) {
    if (isNotFound(err)) return value;
    throw err;
  }
}
