import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { EXTENSION } from "../../../pkg/devcluster/devSample.ts";
import { BenchCluster } from "../benchCluster.ts";
import { TinyWorld } from "../many/tinyWorld.ts";
import type { Measurement } from "../measurement.ts";
import { isInstalled } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { readProcessUse } from "../processUse.ts";
import { prepareSample } from "../sampleExtensions.ts";

const RUNS = 7;
const EXTENSIONS = 100;
const TIMEOUT_MS = 120_000;
const { name: NAME, firstVersion } = EXTENSION;

/** Compares extensions with managed permissions with extensions that use a prepared ServiceAccount, in the same servers. */
export const managedMeasurement: Measurement = {
  name: "managed",
  title: "time that managed permissions add to an installation, alone and for 100 extensions (--extensions)",
  figures: ["managed.install", "managed.added", "managed.many", "managed.many-ratio", "managed.many-escalate-ratio"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const { prepared, managed } = await prepareSample(world, "union");
    const count = context.runs ?? RUNS;
    const seconds = { prepared: [] as number[], managed: [] as number[] };
    {
      await using extensions = await Observer.start<ClusterExtension>(cluster.client, "ClusterExtension");
      const install = async (extension: KubeObject): Promise<number> => {
        const reached = () => isInstalled(extensions.get(NAME), firstVersion);
        const time = await extensions.secondsUntil(() => world.apply(extension), reached, TIMEOUT_MS);
        await world.removed("ClusterExtension", NAME);
        return time;
      };
      await install(prepared);
      for (let run = 1; run <= count; run++) {
        seconds.prepared.push(await install(prepared));
        seconds.managed.push(await install(managed));
        context.say(
          `run ${run} of ${count}: ${seconds.prepared.at(-1)?.toFixed(2)} s prepared, ${seconds.managed.at(-1)?.toFixed(2)} s managed`,
        );
      }
    }
    const added = seconds.managed.map((time, run) => time - (seconds.prepared[run] ?? 0));
    yield { id: "managed.install", samples: seconds.managed, note: `hello-operator ${firstVersion}, into its own namespace` };
    yield { id: "managed.added", samples: added };
    const tiny = await TinyWorld.start(cluster, world, context.extensions ?? EXTENSIONS, context.say);
    const { "operator-controller": controller, "permission-manager": granter } = world.installation.servers;
    const readCpu = (): Promise<number[]> =>
      Promise.all([controller, granter].map(async (server) => (await readProcessUse(server.pid)).cpuSeconds));
    const all = async (isManaged: boolean): Promise<number> => {
      const before = await readCpu();
      const time = await tiny.install({}, isManaged);
      const cpu = (await readCpu()).map((seconds, i) => (seconds - (before[i] ?? 0)).toFixed(1)).join(" + ");
      const what = `${tiny.packages.length} extensions, ${isManaged ? "managed" : "prepared"}`;
      context.say(`${what}: installed in ${time.toFixed(1)} s, ${cpu} s of CPU time of operator-controller and permission-manager`);
      await tiny.remove();
      return time;
    };
    await all(false);
    const escalating = await all(false);
    // Without verb escalate, the API server compares the rules of each written role with all rules of the ServiceAccount.
    await tiny.grant("union");
    const times = [await all(false), await all(true), await all(false), await all(true)] as const;
    const managedTime = (times[1] + times[3]) / 2;
    yield { id: "managed.many", samples: [times[1], times[3]], note: "after one installation and removal of all extensions" };
    yield { id: "managed.many-ratio", samples: [managedTime / ((times[0] + times[2]) / 2)] };
    yield { id: "managed.many-escalate-ratio", samples: [managedTime / escalating] };
  },
};
