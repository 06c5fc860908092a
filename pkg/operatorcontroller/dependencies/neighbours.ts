import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Informer } from "../../controller/informer.ts";
import type { Neighbour } from "../../resolve/dependencies/dependencyCheck.ts";
import type { InstalledBundles } from "../installed/installedBundles.ts";
import type { ConstraintCache } from "./constraintCache.ts";

const NOTHING = { constraints: [], faults: [] };

/** Installed bundles with what they ask of others: nothing where `spec.dependencies.policy` is Ignore. */
export async function neighboursFrom(
  bundles: ReturnType<InstalledBundles["list"]>,
  { constraints, extensions }: { constraints: ConstraintCache; extensions: Pick<Informer<ClusterExtension>, "get"> },
): Promise<Neighbour[]> {
  await constraints.prepare(bundles.map(({ properties }) => properties));
  return bundles.map((provider) => {
    const isBound = extensions.get(provider.extension)?.spec?.dependencies?.policy !== "Ignore";
    return { extension: provider.extension, bundle: provider.name, provider, declared: isBound ? constraints.read(provider) : NOTHING };
  });
}
