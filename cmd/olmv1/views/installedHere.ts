import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden, KindNotServed } from "../../../pkg/kube/errors.ts";

/** A bundle that an extension of the cluster has installed. */
export interface InstalledHere {
  readonly extension: string;
  readonly package: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly version: string;
  readonly release?: string | undefined;
  /** The catalog that it came from, as status has it. */
  readonly catalog?: string | undefined;
}

/** What the cluster's ClusterExtensions have installed by their status; undefined where no cluster is asked, or they may not be listed. */
export async function installedHere(client: Client | undefined, signal: AbortSignal): Promise<InstalledHere[] | undefined> {
  if (!client) return undefined;
  try {
    const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
    return items.flatMap(installedBy);
  } catch (err) {
    if (isForbidden(err) || err instanceof KindNotServed) return undefined;
    throw err;
  }
}

/** What an extension has installed, as far as it comes from a catalog. */
export function installedBy({ metadata, spec, status }: ClusterExtension): InstalledHere[] {
  const packageName = spec?.source?.catalog?.packageName;
  const bundle = status?.install?.bundle;
  if (packageName === undefined || !bundle) return [];
  const { name, version, release } = bundle;
  return [{ extension: metadata.name, package: packageName, bundle: name, version, release, catalog: status.install?.catalog }];
}
