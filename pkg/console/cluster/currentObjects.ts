import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { buildExtensionRef } from "../../rollout/extensions.ts";
import { ConsoleError } from "../http/consoleError.ts";
import type { ClusterIdentity } from "./clusterIdentity.ts";

/** Time to wait for the first list of a watch, in milliseconds. */
const SYNC_MS = 2_000;

/** Reads an extension from the API server. @throws ConsoleError notFound */
export async function requireExtension(client: Pick<Client, "get">, name: string, signal?: AbortSignal): Promise<ClusterExtension> {
  return requireFound(await client.get<ClusterExtension>(buildExtensionRef(name), signal ? { signal } : {}), name);
}

/** Returns an extension: from the watch, or from the API server if the user may not list extensions. @throws ConsoleError notFound */
export async function readCurrentExtension({ watches, client }: ClusterIdentity, name: string): Promise<ClusterExtension> {
  const found = (await isSynced(watches.extensions))
    ? watches.extensions.get(name)
    : await client.get<ClusterExtension>(buildExtensionRef(name));
  return requireFound(found, name);
}

function requireFound(found: ClusterExtension | undefined, name: string): ClusterExtension {
  if (found) return found;
  throw new ConsoleError("notFound", `ClusterExtension ${goQuote(name)} does not exist`, {
    next: "Check the name in the list of extensions.",
  });
}

/** Returns all extensions: from the watch, or from the API server while the watch starts. @throws KubeError if the user may not list them */
export async function listCurrentExtensions({ watches, client }: ClusterIdentity, signal: AbortSignal): Promise<ClusterExtension[]> {
  if (await isSynced(watches.extensions)) return watches.extensions.list();
  return (await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal })).items;
}

/** Returns all catalogs: from the watch, or from the API server while the watch starts. @throws KubeError if the user may not list them */
export async function listCurrentCatalogs({ watches, client }: ClusterIdentity, signal: AbortSignal): Promise<ClusterCatalog[]> {
  if (await isSynced(watches.catalogs)) return watches.catalogs.list();
  return (await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal })).items;
}

/** Reports whether a watch has listed all objects; waits a short time for that. */
async function isSynced<T extends KubeObject>(informer: {
  readonly hasSynced: boolean;
  readonly synced: Promise<void>;
  list(): T[];
}): Promise<boolean> {
  if (informer.hasSynced) return true;
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, SYNC_MS);
  await Promise.race([informer.synced.catch(() => undefined), late.promise]);
  clearTimeout(timer);
  return informer.hasSynced;
}
