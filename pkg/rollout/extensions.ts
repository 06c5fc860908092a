import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS } from "../api/constants.ts";
import type { ObjectRef } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import { compareText, findSimilarName } from "../text/compare.ts";

/** Kind of extensions. */
const EXTENSION_KIND = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;

/** Returns the reference of an extension. */
export function buildExtensionRef(name: string): ObjectRef {
  return { ...EXTENSION_KIND, name };
}

/** Returns the reference of the ExtensionPermissions of an extension. */
export function buildPermissionsRef(name: string): ObjectRef {
  return { ...EXTENSION_PERMISSIONS, name };
}

/** Returns all extensions on the cluster, sorted by name. */
export async function listClusterExtensions(client: Pick<Client, "list">): Promise<ClusterExtension[]> {
  const { items } = await client.list<ClusterExtension>(EXTENSION_KIND);
  return items.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/**
 * Returns one extension. @throws Error that suggests a similar name or `olmv1 list` if it does not exist.
 */
export async function readExtension(client: Pick<Client, "get" | "list">, name: string): Promise<ClusterExtension> {
  const found = await client.get<ClusterExtension>(buildExtensionRef(name));
  if (found) return found;
  const others = await listClusterExtensions(client).catch(() => []);
  const names = others.map(({ metadata }) => metadata.name);
  const similar = findSimilarName(name, names) ?? others.find(({ spec }) => spec.source.catalog?.packageName === name)?.metadata.name;
  const advice = similar === undefined ? "run olmv1 list to list all extensions" : `did you mean ${goQuote(similar)}?`;
  throw new Error(`ClusterExtension ${goQuote(name)} not found; ${advice}`);
}

/** An extension with its installed bundle. */
export interface InstalledExtension {
  readonly extension: string;
  readonly package: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly version: string;
  readonly release?: string | undefined;
  /** Catalog of the bundle, according to the status. */
  readonly catalog?: string | undefined;
}

/**
 * Returns the installed bundles of all ClusterExtensions, according to their status; undefined without a cluster, or if
 * listing is forbidden.
 */
export async function listInstalledExtensions(client: Client | undefined, signal: AbortSignal): Promise<InstalledExtension[] | undefined> {
  if (!client) return undefined;
  try {
    const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
    return items.flatMap(readInstalledExtension);
  } catch (err) {
    if (isForbidden(err) || err instanceof KindNotServed) return undefined;
    throw err;
  }
}

/** Returns the installed bundle of an extension, if it comes from a catalog. */
export function readInstalledExtension({ metadata, spec, status }: ClusterExtension): InstalledExtension[] {
  const packageName = spec?.source?.catalog?.packageName;
  const bundle = status?.install?.bundle;
  if (packageName === undefined || !bundle) return [];
  const { name, version, release } = bundle;
  return [{ extension: metadata.name, package: packageName, bundle: name, version, release, catalog: status.install?.catalog }];
}
