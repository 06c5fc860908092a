import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { ServerName } from "../../pkg/devcluster/installation.ts";
import { BenchCluster } from "../bench/benchCluster.ts";
import { TinyWorld } from "../bench/many/tinyWorld.ts";
import { buildPrograms, environmentOfImage } from "../bench/programs.ts";
import { Churn } from "./churn.ts";
import { sampleProgram } from "./programSample.ts";
import { listRunFaults, soakReport } from "./report.ts";
import type { Course, Sample } from "./samples.ts";

const USAGE = `npm run -s soak -- [--minutes N] [--extensions N] [--report FILE]

Runs both bundled programs on a control plane for N minutes (default 30), while a catalog changes, extensions are reinstalled and
objects are deleted. Prints a report as Markdown. Exits 1 if memory grows after the first third, or if sockets or watches leak.`;

const PROGRAMS: readonly ServerName[] = ["catalogd", "operator-controller"];
const SAMPLE_MS = 5_000;
/** Time in which servers close idle connections (after a minute) and return freed memory. */
const REST_MS = 90_000;

async function soak(minutes: number, extensions: number): Promise<Parameters<typeof soakReport>[0]> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  for (const [name, value] of Object.entries(await environmentOfImage())) process.env[name] ??= value;
  await using cluster = await BenchCluster.start({ say, programs: buildPrograms(say) });
  await using world = await cluster.startServers();
  const tiny = await TinyWorld.start(cluster, world, extensions, say);
  say(`${extensions} extensions installed in ${(await tiny.install()).toFixed(1)} s`);
  const since = performance.now();
  const takeSamples = (): Promise<Sample[]> =>
    Promise.all(
      PROGRAMS.map((program) => sampleProgram(world.installation.servers[program].pid, world.installation.probes[program], since)),
    );
  const churn = new Churn(cluster, world, tiny);
  const stop = new AbortController();
  await sleep(REST_MS);
  const first = await takeSamples();
  const began = performance.now();
  const samples: Sample[][] = [];
  const running = churn.run(stop.signal);
  while (performance.now() - began < minutes * 60_000) {
    await sleep(SAMPLE_MS);
    samples.push(await takeSamples());
    if (samples.length % 12 === 0) say(`${Math.round((performance.now() - began) / 60_000)} of ${minutes} minutes`);
  }
  stop.abort();
  await running;
  await sleep(REST_MS);
  const last = await takeSamples();
  const courses = PROGRAMS.map(
    (program, i): Course => ({
      program,
      samples: samples.flatMap((all) => all[i] ?? []),
      first: first[i] as Sample,
      last: last[i] as Sample,
    }),
  );
  const warmUpSeconds = (began - since) / 1_000 + (minutes * 60) / 3;
  return { minutes, extensions, warmUpSeconds, courses, counts: churn.counts };
}

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    extensions: { type: "string", default: "20" },
    report: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(USAGE);
else {
  const run = await soak(Number(values.minutes), Number(values.extensions));
  const report = soakReport(run);
  console.log(report);
  if (values.report !== undefined) await writeFile(values.report, report);
  process.exitCode = listRunFaults(run).length > 0 ? 1 : 0;
}
