import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../../pkg/api/constants.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { grantInstaller } from "../../support/installer.ts";
import type { World } from "../../support/world.ts";
import { BenchCluster } from "../benchCluster.ts";
import { isInstalled } from "../extensionState.ts";
import { inParallel } from "../inParallel.ts";
import { requestsSince, untilQuiet } from "../many/quiet.ts";
import { TINY_VERSION, TinyPackage } from "../many/tinyPackage.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { Observer } from "../observer.ts";
import { type ProcessUse, processUse } from "../processUse.ts";

const CATALOG = "tiny";
const CATALOG_REPOSITORY = "bench/tiny-catalog";
const AT_ONCE = 8;
const CHANGES = 3;
const INSTALL_TIMEOUT_MS = 300_000;
const QUIET_TIMEOUT_MS = 120_000;

/** Many small extensions at once, each in a namespace and with a ServiceAccount of its own; then their catalog changes, but nothing for them. */
export const manyMeasurement: Measurement = {
  name: "many-extensions",
  title: "100 small extensions applied at once (--extensions); then a change of their catalog until all is quiet",
  figures: ["many.time", "many.cpu", "many.memory", "many.quiet", "many.quiet-cpu"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const packages = Array.from({ length: context.extensions }, (_, i) => new TinyPackage(i));
    context.say(`preparing ${packages.length} packages, namespaces and ServiceAccounts`);
    const images = new Map<string, string>();
    await inParallel(packages, AT_ONCE, async (one) => {
      const { name } = one;
      images.set(name, await world.pushBundle(`bench/${name}`, `v${TINY_VERSION}`, name, one.bundleFiles()));
      const objects = renderBundle(loadBundle(one.bundleFiles()), { installNamespace: name });
      await grantInstaller(cluster.client, one.extension(), objects);
    });
    const edition = (number: number): Promise<string> => pushEdition(world, packages, images, number);
    await world.serve(CATALOG, await edition(0));
    yield* installAll(packages, cluster, world, context.say);
    yield* changeCatalog(edition, cluster, world, context.runs ?? CHANGES, context.say);
  },
};

/** @returns reference by digest of a catalog image that differs from every other edition's. */
function pushEdition(
  world: World,
  packages: readonly TinyPackage[],
  images: ReadonlyMap<string, string>,
  edition: number,
): Promise<string> {
  const lines = packages.map((one, i) => one.catalogLines(images.get(one.name) ?? "", i === 0 ? edition : 0));
  return world.pushCatalog(CATALOG_REPOSITORY, `edition-${edition}`, new Map([["catalog.json", Buffer.from(lines.join(""))]]));
}

async function* installAll(
  packages: readonly TinyPackage[],
  cluster: BenchCluster,
  world: World,
  say: (line: string) => void,
): AsyncGenerator<Figure> {
  await using extensions = await Observer.start<ClusterExtension>(cluster.client, "ClusterExtension");
  const before = await controllerUse(world);
  const applyAll = (): Promise<void> => inParallel(packages, packages.length, (one) => world.apply(one.extension()));
  const allInstalled = (): boolean => packages.every(({ name }) => isInstalled(extensions.get(name), TINY_VERSION));
  const seconds = await extensions.secondsUntil(applyAll, allInstalled, INSTALL_TIMEOUT_MS);
  const after = await controllerUse(world);
  say(`${packages.length} extensions installed in ${seconds.toFixed(1)} s`);
  const note = `${packages.length} extensions of 7 objects, each with its own namespace and ServiceAccount; none has a CRD`;
  yield { id: "many.time", samples: [seconds], note };
  yield { id: "many.cpu", samples: [after.cpuSeconds - before.cpuSeconds] };
  yield {
    id: "many.memory",
    samples: [after.rssBytes],
    note: `1 catalog; peak ${Math.round(after.peakRssBytes / 1e6)} MB, before the first extension ${Math.round(before.rssBytes / 1e6)} MB`,
  };
}

async function* changeCatalog(
  edition: (number: number) => Promise<string>,
  cluster: BenchCluster,
  world: World,
  changes: number,
  say: (line: string) => void,
): AsyncGenerator<Figure> {
  const { catalogd, "operator-controller": controller } = world.installation.servers;
  const pids = [controller.pid, catalogd.pid];
  say("waiting for the servers to come to rest");
  await untilQuiet(pids, QUIET_TIMEOUT_MS);
  const times: number[] = [];
  const cpu: number[] = [];
  const requests: number[] = [];
  for (let change = 1; change <= changes; change++) {
    const ref = await edition(change);
    const since = new Date();
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: "ClusterCatalog", name: CATALOG },
      { spec: { source: { image: { ref } } } },
      { type: "merge" },
    );
    const busy = await untilQuiet(pids, QUIET_TIMEOUT_MS);
    await assertServed(cluster, ref);
    const made = await requestsSince(cluster.auditLog, since);
    const last = made.reduce((latest, { requestReceivedTimestamp: at }) => Math.max(latest, new Date(at).getTime()), since.getTime());
    times.push(Math.max(busy.seconds, (last - since.getTime()) / 1_000));
    cpu.push(busy.cpuSeconds[0] ?? 0);
    requests.push(made.length);
    say(`change ${change} of ${changes}: quiet after ${times.at(-1)?.toFixed(2)} s, ${made.length} requests to the API server`);
  }
  yield { id: "many.quiet", samples: times, note: `requests to the API server: ${requests.join(", ")}` };
  yield { id: "many.quiet-cpu", samples: cpu };
}

async function assertServed(cluster: BenchCluster, ref: string): Promise<void> {
  const catalog = await cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: CATALOG });
  const served = catalog?.status?.resolvedSource?.image?.ref;
  if (served !== ref) throw new Error(`the servers are quiet, but ClusterCatalog ${CATALOG} serves ${served ?? "nothing"} and not ${ref}`);
}

function controllerUse(world: World): Promise<ProcessUse> {
  return processUse(world.installation.servers["operator-controller"].pid);
}
