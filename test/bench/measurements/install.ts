import { join } from "node:path";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../../pkg/api/constants.ts";
import { EXTENSION } from "../../../pkg/devcluster/devSample.ts";
import type { World } from "../../support/world.ts";
import { BenchCluster } from "../benchCluster.ts";
import type { BenchContext, Measurement } from "../measurement.ts";
import { isInstalled } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { readProcessUse } from "../processUse.ts";
import { catalogInMemory } from "../realData.ts";
import { prepareSample } from "../sampleExtensions.ts";

const RUNS = 7;
const TIMEOUT_MS = 60_000;
const { name: NAME, firstVersion, lastVersion } = EXTENSION;

/** Installs, upgrades and removes the sample operator several times. Every install pulls its bundle again. */
export const installMeasurement: Measurement = {
  name: "install",
  title: "time to install and upgrade the sample operator, and operator-controller memory",
  figures: ["install", "upgrade", "install.memory"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const { prepared: extension } = await prepareSample(world);
    const catalogs = await serveSecondCatalog(world, context);
    await using extensions = await Observer.start<ClusterExtension>(cluster.client, "ClusterExtension");
    const runs = context.runs ?? RUNS;
    const installs: number[] = [];
    const upgrades: number[] = [];
    const memory: number[] = [];
    const reaches = (version: string) => () => isInstalled(extensions.get(NAME), version);
    for (let run = 1; run <= runs; run++) {
      installs.push(await extensions.secondsUntil(() => world.apply(extension), reaches(firstVersion), TIMEOUT_MS));
      upgrades.push(await extensions.secondsUntil(() => unpin(world), reaches(lastVersion), TIMEOUT_MS));
      memory.push((await readProcessUse(world.installation.servers["operator-controller"].pid)).rssBytes);
      context.say(`run ${run} of ${runs}: installed in ${installs.at(-1)?.toFixed(2)} s, upgraded in ${upgrades.at(-1)?.toFixed(2)} s`);
      await world.removed("ClusterExtension", NAME);
    }
    yield {
      id: "install",
      samples: installs,
      note: `hello-operator ${firstVersion}; first run in a new process: ${formatFirst(installs)}`,
    };
    yield { id: "upgrade", samples: upgrades, note: `to ${lastVersion}; first run: ${formatFirst(upgrades)}` };
    yield { id: "install.memory", samples: memory, note: `${catalogs === 1 ? "1 catalog" : `${catalogs} catalogs`}, after each upgrade` };
  },
};

/** @returns the number of served catalogs. */
async function serveSecondCatalog(world: World, { data, say }: BenchContext): Promise<number> {
  if (data === undefined) {
    say("using one catalog, because the folder of real data does not exist");
    return 1;
  }
  const files = await catalogInMemory(join(data, "fbc/community-v4.19"));
  await world.serve("community", await world.pushCatalog("bench/community", "v1", files));
  return 2;
}

/** Removes the version from the spec, so that the newest one is installed. */
function unpin(world: World): Promise<unknown> {
  const ref = { apiVersion: API_VERSION, kind: "ClusterExtension", name: NAME };
  return world.cluster.client.patch(ref, { spec: { source: { catalog: { version: null } } } }, { type: "merge" });
}

function formatFirst(seconds: readonly number[]): string {
  return `${seconds[0]?.toFixed(2)} s`;
}
