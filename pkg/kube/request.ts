import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import { type ApiResource, formatGroupVersionPath } from "./discovery.ts";
import { KubeError } from "./errors.ts";

/** Content types of request bodies. */
export const CONTENT_TYPE = {
  json: "application/json",
  jsonPatch: "application/json-patch+json",
  mergePatch: "application/merge-patch+json",
  strategicPatch: "application/strategic-merge-patch+json",
  applyPatch: "application/apply-patch+yaml",
} as const;

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/**
 * Options of `get`. `metadataOnly`: the server sends only metadata (PartialObjectMetadata). The
 * result still has the requested kind.
 */
export interface GetOptions extends CallOptions {
  metadataOnly?: boolean;
}

/** Selects objects of a kind; without a namespace, in all namespaces. */
export interface ListSelection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  metadataOnly?: boolean;
}

/** Options of `list`. `limit` is the page size (500), `maxItems` the maximum number of items. */
export interface ListOptions extends ListSelection, CallOptions {
  limit?: number;
  maxItems?: number;
  /**
   * The list may be as old as this resourceVersion, so that the API server lists from its cache at once. Default: the list is consistent, and the API
   * server may wait 100 ms until its cache is up to date (Kubernetes 1.31 and later).
   */
  notOlderThan?: string | undefined;
}

/**
 * Options of `listPage`: `continue` is the token of the previous page, `maxBytes` the maximum size
 * of a page to read.
 */
export interface PageOptions extends CallOptions {
  limit: number;
  continue?: string | undefined;
  maxBytes: number;
  /** Only apiVersion, kind and metadata of the objects. */
  metadataOnly?: boolean | undefined;
}

/** Items in the server's order, each with the requested kind. */
export interface ListResult<T extends KubeObject = KubeObject> {
  items: T[];
  resourceVersion: string;
}

/**
 * Options of `watch`. `timeoutSeconds`: when the server ends the stream; default: a random time of
 * five to ten minutes. `opened` is called once when the server has accepted the request, possibly
 * long before the first event.
 */
export interface WatchOptions extends ListSelection, CallOptions {
  resourceVersion: string;
  /**
   * Whether the server sends the latest resourceVersion about once a minute while there are no
   * changes. Default: true.
   */
  bookmarks?: boolean;
  timeoutSeconds?: number;
  opened?: () => void;
}

/**
 * One change. A BOOKMARK contains only kind and metadata.resourceVersion: all changes up to it have
 * been sent.
 */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  object: T;
}

/** Options of `create` and `replace`. */
export interface WriteOptions extends CallOptions {
  fieldManager?: string;
  dryRun?: boolean;
}

/**
 * Options of `apply`. `force` takes over fields from other managers. `warn` is called with each
 * warning of a successful response, as returned by `parseWarnings`.
 */
export interface ApplyOptions extends CallOptions {
  fieldManager: string;
  force?: boolean;
  dryRun?: boolean;
  subresource?: string;
  warn?: ((text: string) => void) | undefined;
}

/** The type of a patch, and its subresource. */
export interface PatchOptions extends WriteOptions {
  type: "merge" | "json" | "strategic";
  subresource?: string;
}

/** Options of `delete`; uid and resourceVersion are preconditions. */
export interface DeleteOptions extends CallOptions {
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: "Background" | "Foreground" | "Orphan";
  gracePeriodSeconds?: number;
  dryRun?: boolean;
}

/**
 * Selects an object or a collection of a resource. Without a namespace, selects a namespaced
 * resource in all namespaces.
 */
export interface Location {
  namespace?: string | undefined;
  name?: string;
  subresource?: string | undefined;
}

/** Query parameters; undefined ones are omitted, true becomes "true". */
export type Query = Readonly<Record<string, string | number | true | undefined>>;

/**
 * Returns the path of a collection, object or subresource. Ignores the namespace of a
 * cluster-scoped resource.
 * @throws TypeError if the namespace of a namespaced object is missing, KubeError if a name or namespace is not a path segment.
 */
export function formatResourcePath(gvk: GroupVersionKind, resource: ApiResource, location: Location, query: Query = {}): string {
  const { namespace, name, subresource } = location;
  if (resource.namespaced && !namespace && name !== undefined) throw new TypeError(`${gvk.kind} "${name}": no namespace given`);
  const parts = [formatGroupVersionPath(gvk.apiVersion)];
  if (resource.namespaced && namespace) parts.push("namespaces", encodeSegment("namespace", namespace));
  parts.push(resource.resource);
  // Objects of untrusted manifests may lack the name that their type requires.
  if (Object.hasOwn(location, "name")) parts.push(encodeSegment("resource name", name ?? ""));
  if (subresource !== undefined) parts.push(subresource);
  const search = queryText(query);
  return parts.join("/") + (search === "" ? "" : `?${search}`);
}

/**
 * Encodes a name for a path. Without the check, a request for the object "" or "." would address its collection.
 * @throws KubeError if it is not a path segment, with the text of client-go
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/path/name.go IsValidPathSegmentName
 */
function encodeSegment(what: string, text: string): string {
  const faults =
    text === "." || text === ".."
      ? [`may not be '${text}'`]
      : ["/", "%"].filter((character) => text.includes(character)).map((character) => `may not contain '${character}'`);
  if (text !== "" && faults.length === 0) return encodeURIComponent(text);
  const message = text === "" ? `${what} may not be empty` : `invalid ${what} ${goQuote(text)}: [${faults.join(" ")}]`;
  throw new KubeError(message, { status: 400, reason: "BadRequest" });
}

function queryText(query: Query): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") params.set(key, String(value));
  return params.toString();
}
