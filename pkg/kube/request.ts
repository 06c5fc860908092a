import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { type ApiResource, groupVersionPath } from "./discovery.ts";

/** What every call takes. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Options of `get`. `metadataOnly`: the server sends metadata alone (PartialObjectMetadata); the kind stays the one asked for. */
export interface GetOptions extends CallOptions {
  metadataOnly?: boolean;
}

/** Which objects of a kind; without a namespace, those of all namespaces. */
export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  metadataOnly?: boolean;
}

/** Options of `list`. `limit` is the size of a page (500), `maxItems` where to stop. */
export interface ListOptions extends Selection, CallOptions {
  limit?: number;
  maxItems?: number;
}

/** Options of `listPage`: `continue` is the token of the page before, `maxBytes` the size above which the page is not read. */
export interface PageOptions extends CallOptions {
  limit: number;
  continue?: string | undefined;
  maxBytes: number;
}

/** Items in the server's order, each with the kind that was asked for. */
export interface ListResult<T extends KubeObject = KubeObject> {
  items: T[];
  resourceVersion: string;
}

/**
 * Options of `watch`. `timeoutSeconds`: when the server ends the stream; five to ten minutes by default, at random.
 * `opened` is called once when the server has accepted it, which may be long before the first event.
 */
export interface WatchOptions extends Selection, CallOptions {
  resourceVersion: string;
  /** Whether the server sends the latest resourceVersion about once a minute while nothing changes. Default true. */
  bookmarks?: boolean;
  timeoutSeconds?: number;
  opened?: () => void;
}

/** One change. A BOOKMARK carries only kind and metadata.resourceVersion: all changes up to it have been sent. */
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
 * Options of `apply`. `force` takes fields over from other managers. `warn` is called with each warning of an answer that is no refusal,
 * as `warningsIn` gives it.
 */
export interface ApplyOptions extends CallOptions {
  fieldManager: string;
  force?: boolean;
  dryRun?: boolean;
  subresource?: string;
  warn?: ((text: string) => void) | undefined;
}

/** Which kind of patch is sent, and to which subresource. */
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

/** Which object or collection of a resource. Without a namespace, a namespaced resource is meant in all namespaces. */
export interface Location {
  namespace?: string | undefined;
  name?: string | undefined;
  subresource?: string | undefined;
}

/** Query parameters; undefined ones are left out, true is "true". */
export type Query = Readonly<Record<string, string | number | true | undefined>>;

/**
 * The path of a collection, object or subresource. The namespace of a cluster-scoped resource is ignored.
 * @throws TypeError when one object of a namespaced resource is meant and no namespace is given.
 */
export function resourcePath(
  gvk: GroupVersionKind,
  resource: ApiResource,
  { namespace, name, subresource }: Location,
  query: Query = {},
): string {
  if (resource.namespaced && !namespace && name !== undefined) throw new TypeError(`${gvk.kind} "${name}": no namespace given`);
  const parts = [groupVersionPath(gvk.apiVersion)];
  if (resource.namespaced && namespace) parts.push("namespaces", encodeURIComponent(namespace));
  parts.push(resource.resource);
  if (name !== undefined) parts.push(encodeURIComponent(name));
  if (subresource !== undefined) parts.push(subresource);
  const search = queryText(query);
  return parts.join("/") + (search === "" ? "" : `?${search}`);
}

function queryText(query: Query): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") params.set(key, String(value));
  return params.toString();
}
