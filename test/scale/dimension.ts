import { setTimeout as sleep } from "node:timers/promises";
import { INSTALLED_SERVERS, type ServerName } from "../../pkg/devcluster/installation.ts";
import { BenchCluster } from "../bench/benchCluster.ts";
import { waitUntilQuiet } from "../bench/many/quiet.ts";
import { readProcessUse } from "../bench/processUse.ts";
import { AuditTail } from "../support/auditTail.ts";
import type { World } from "../support/world.ts";

/** Cost of one size of a dimension. */
export interface Cost {
  /** Time until the work was done. */
  readonly seconds: number;
  /** Of each program until it was idle again. */
  readonly cpuSeconds: Readonly<Record<string, number>>;
  /** Maximum memory of each program since its start, including the preparation. */
  readonly peakBytes: Readonly<Record<string, number>>;
  /** Memory when idle. */
  readonly restBytes: Readonly<Record<string, number>>;
  /** Requests of all programs and installers to the API server, without watches. */
  readonly requests: number;
}

/** Something that can be large, such as the number of extensions. */
export interface Dimension {
  readonly name: string;
  /** What is counted, for the table, such as "extensions". */
  readonly unit: string;
  /** What is measured, for the report. */
  readonly description: string;
  /** Ascending; the last one is the goal. */
  readonly sizes: readonly number[];
  measure(size: number, context: ScaleContext): Promise<Cost>;
}

/** Services for measurements. */
export interface ScaleContext {
  /** Returns the folder of the bundled programs. */
  readonly programs: () => Promise<string>;
  readonly say: (line: string) => void;
}

const QUIET_MS = 900_000;
/** Time until idle threads end and V8 returns unused memory. */
const REST_MS = 60_000;

/** Runs `work` with new programs on a new control plane and measures them. @param prepare work that only counts for peak memory */
export async function measureWork<T>(
  context: ScaleContext,
  prepare: (cluster: BenchCluster, world: World) => Promise<T>,
  work: (prepared: T) => Promise<void>,
  extraArgs: Partial<Record<ServerName, readonly string[]>> = {},
): Promise<Cost> {
  await using cluster = await BenchCluster.start(context);
  await using world = await cluster.startServers(extraArgs);
  const prepared = await prepare(cluster, world);
  const { servers } = world.installation;
  const pids = INSTALLED_SERVERS.map((name) => servers[name].pid);
  await waitUntilQuiet(pids, QUIET_MS);
  const before = await Promise.all(pids.map(readProcessUse));
  const audit = await AuditTail.fromNow(cluster.auditLog);
  const began = performance.now();
  await work(prepared);
  const seconds = (performance.now() - began) / 1_000;
  await waitUntilQuiet(pids, QUIET_MS);
  const after = await Promise.all(pids.map(readProcessUse));
  const requests = (await audit.listRequests()).length;
  await sleep(REST_MS);
  const rested = await Promise.all(pids.map(readProcessUse));
  const byProgram = (value: (index: number) => number): Record<string, number> =>
    Object.fromEntries(INSTALLED_SERVERS.map((name, i) => [name, value(i)]));
  return {
    seconds,
    requests,
    cpuSeconds: byProgram((i) => (after[i]?.cpuSeconds ?? 0) - (before[i]?.cpuSeconds ?? 0)),
    peakBytes: byProgram((i) => after[i]?.peakRssBytes ?? 0),
    restBytes: byProgram((i) => rested[i]?.rssBytes ?? 0),
  };
}
