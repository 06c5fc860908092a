import type { GroupVersionKind } from "../api/k8s.ts";
import { type ApiResource, groupVersionPath } from "./discovery.ts";

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
