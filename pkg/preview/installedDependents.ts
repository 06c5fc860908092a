import type { ClusterExtension } from "../api/clusterExtension.ts";
import { mapInParallel } from "../async/concurrency.ts";
import type { Client } from "../kube/client.ts";
import { ServedResources } from "../kube/servedResources.ts";
import { ConstraintCache, loadCelRules } from "../operatorcontroller/dependencies/constraintCache.ts";
import { Dependents } from "../operatorcontroller/dependencies/installContext.ts";
import type { InstalledProvider } from "../operatorcontroller/releases/installedReleases.ts";
import { ReadOnlyReleases } from "../operatorcontroller/releases/readOnlyReleases.ts";
import { requireReadable } from "../operatorcontroller/releases/releaseStore.ts";
import { readProvidedBundle } from "../release/providedBundle.ts";
import { findLastDeployed } from "../release/record.ts";
import type { Dependent } from "../resolve/dependencies/dependents.ts";

/** Maximum number of extensions whose releases are read concurrently. */
const PARALLEL = 8;

/**
 * Returns the extensions that depend on the installed bundle of an extension, with the function that delays its uninstall in operator-controller.
 * Reads the releases of all extensions.
 * @param extensions all extensions of the cluster
 * @throws Error if the releases of an extension cannot be read; KubeError if a request fails or is denied
 */
export async function readDependents(
  client: Client,
  name: string,
  extensions: readonly ClusterExtension[],
  systemNamespace: string,
  signal: AbortSignal,
): Promise<readonly Dependent[]> {
  const releases = new ReadOnlyReleases(client, systemNamespace);
  const found = await mapInParallel(extensions, PARALLEL, (extension) => readInstalledProvider(releases, extension, signal));
  const bundles = found.flatMap((bundle) => bundle ?? []);
  const byName = new Map(extensions.map((extension) => [extension.metadata.name, extension]));
  const served = new ServedResources(client);
  const dependents = new Dependents({
    extensions: { get: (other) => byName.get(other) },
    installed: { list: () => bundles, unread: () => [] },
    apis: { resources: () => served.read(signal) },
    constraints: new ConstraintCache(loadCelRules),
    memory: { isUninstalling: (other) => byName.get(other)?.metadata.deletionTimestamp !== undefined },
  });
  return (await dependents.of(name)) ?? [];
}

/**
 * Returns the installed bundle of an extension from its release; undefined if it has none.
 * @throws Error if its releases cannot be read; KubeError if a request fails or is denied
 */
export async function readInstalledProvider(
  releases: ReadOnlyReleases,
  extension: ClusterExtension,
  signal: AbortSignal,
): Promise<InstalledProvider | undefined> {
  const history = await releases.history(extension, { signal });
  requireReadable(history);
  const deployed = findLastDeployed(history.current);
  return deployed && { ...readProvidedBundle(deployed), extension: extension.metadata.name };
}
