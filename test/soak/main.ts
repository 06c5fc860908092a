import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { environmentOfImage } from "../bench/programs.ts";
import { noSmallDisk } from "../support/smallDisk.ts";
import { listRunFaults, soakReport } from "./report.ts";
import { runSoak } from "./soakRun.ts";

const USAGE = `npm run -s soak -- [--hours N | --minutes N] [--extensions N] [--seed N] [--report FILE]

Runs the bundled programs on a control plane for N hours (default 2) with 300 extensions from four catalogs. Causes faults, one after
another, while catalogs change, extensions are upgraded and reinstalled, and objects are deleted. Checks all the time that no object or
data of users is lost, and after each fault that all extensions converge. Prints a report as Markdown. Exits 1 after a violation, if
memory grows, or if sockets or watches leak. The same seed causes the same faults in the same order.`;

/** Set for the process that runs with a small disk. */
const DISK = "OLMV1_SOAK_DISK";
const DISK_SIZE = "256m";

/** Runs this program again in a mount namespace with a small file system for caches. @returns its exit code */
async function runOnSmallDisk(folder: string): Promise<number> {
  const mount = `mount -t tmpfs -o size=${DISK_SIZE} tmpfs "$0" && exec "$@"`;
  const command = ["-rm", "sh", "-c", mount, folder, process.execPath, import.meta.filename, ...process.argv.slice(2)];
  const child = spawn("unshare", command, { stdio: "inherit", env: { ...process.env, [DISK]: folder } });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

const { values } = parseArgs({
  options: {
    hours: { type: "string" },
    minutes: { type: "string" },
    extensions: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    report: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(USAGE);
else process.exitCode = await run();

async function run(): Promise<number> {
  const noDisk = noSmallDisk();
  const given = process.env[DISK];
  const disk = given ?? (await mkdtemp(join(tmpdir(), "olmv1-soak-")));
  try {
    return given === undefined && noDisk === undefined
      ? await runOnSmallDisk(disk)
      : await runHere(disk, given === undefined ? noDisk : undefined);
  } finally {
    if (given === undefined) await rm(disk, { recursive: true, force: true });
  }
}

async function runHere(disk: string, noDisk: string | undefined): Promise<number> {
  for (const [name, value] of Object.entries(await environmentOfImage())) process.env[name] ??= value;
  const soak = await runSoak({
    minutes: values.minutes === undefined ? Number(values.hours ?? 2) * 60 : Number(values.minutes),
    extensions: Number(values.extensions),
    seed: Number(values.seed),
    disk,
    noDisk,
    say: (line) => void process.stderr.write(`${line}\n`),
  });
  const report = soakReport(soak);
  console.log(report);
  if (values.report !== undefined) await writeFile(values.report, report);
  return listRunFaults(soak).length > 0 ? 1 : 0;
}
