import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import type { BenchCluster } from "../../bench/benchCluster.ts";
import { TINY_VERSION, TinyPackage } from "../../bench/many/tinyPackage.ts";
import { isInstalled } from "../../bench/objectState.ts";
import { Observer } from "../../bench/observer.ts";
import { grantInstaller } from "../../support/serviceAccounts.ts";
import type { World } from "../../support/world.ts";
import { type Dimension, measureWork } from "../dimension.ts";

/** Maximum of watchNamespaces of an extension. */
const PER_EXTENSION = 100;
const AT_ONCE = 8;
const TIMEOUT_MS = 1_800_000;

/** Namespaces that extensions watch, with a Role and a RoleBinding of the extension in each. */
export const namespacesDimension: Dimension = {
  name: "namespaces",
  unit: "namespaces",
  description: `Extensions watch ${PER_EXTENSION} namespaces each (MultiNamespace), with a Role and a RoleBinding in each of them. Their ServiceAccounts have permissions only in these namespaces.`,
  sizes: [1_000, 3_000, 10_000],
  measure: (size, context) =>
    measureWork(
      context,
      (cluster, world) => prepare(cluster, world, size, context.say),
      async (work) => work(),
    ),
};

/** Creates namespaces, packages and ServiceAccounts. @returns a function that installs the extensions */
async function prepare(cluster: BenchCluster, world: World, size: number, say: (line: string) => void): Promise<() => Promise<void>> {
  const extensions: ClusterExtension[] = [];
  const lines: string[] = [];
  for (let i = 0; i * PER_EXTENSION < size; i++) {
    const tiny = new TinyPackage(i, { installModes: ["MultiNamespace"] });
    const count = Math.min(PER_EXTENSION, size - i * PER_EXTENSION);
    const watchNamespaces = Array.from({ length: count }, (_, at) => `${tiny.name}-team-${String(at).padStart(3, "0")}`);
    say(`${tiny.name}: ${count} namespaces`);
    await mapInParallel(watchNamespaces, AT_ONCE, (name) => world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
    const image = await world.pushBundle(`scale/${tiny.name}`, `v${TINY_VERSION}`, tiny.name, tiny.bundleFiles());
    lines.push(tiny.catalogLines([{ version: TINY_VERSION, image }], 0));
    const inline = { watchNamespaces };
    const extension = tiny.extension();
    extensions.push({ ...extension, spec: { ...extension.spec, config: { configType: "Inline", inline } } });
    const objects = renderBundle(loadBundle(tiny.bundleFiles()), { installNamespace: tiny.name, config: inline });
    await grantInstaller(cluster.client, extension, objects);
  }
  await world.serve("scale", await world.pushCatalog("scale/catalog", "v1", new Map([["catalog.json", Buffer.from(lines.join(""))]])));
  return async () => {
    await using observed = await Observer.start<ClusterExtension>(cluster.client, "ClusterExtension");
    const apply = (): Promise<unknown> => Promise.all(extensions.map((extension) => world.apply(extension)));
    const allInstalled = (): boolean => extensions.every(({ metadata: { name } }) => isInstalled(observed.get(name), TINY_VERSION));
    await observed.secondsUntil(apply, allInstalled, TIMEOUT_MS);
  };
}
