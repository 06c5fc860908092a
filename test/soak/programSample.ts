import { readdir, readlink } from "node:fs/promises";
import { readProcessUse } from "../bench/processUse.ts";
import type { Sample } from "./samples.ts";

const WATCHES = /^operator_controller_object_watches\{[^}]*\} (\d+)/gm;

/**
 * Returns the current resources of a program. @param probes base URL of its metrics. @param since start by
 * `performance.now`.
 */
export async function sampleProgram(pid: number | undefined, probes: string, since: number): Promise<Sample> {
  const [{ rssBytes }, sockets] = await Promise.all([readProcessUse(pid), openSockets(pid)]);
  // After the count of sockets, because this request opens one.
  const metrics = await (await fetch(`${probes}/metrics`)).text();
  const watches = [...metrics.matchAll(WATCHES)].reduce((sum, [, count]) => sum + Number(count), 0);
  return { seconds: (performance.now() - since) / 1_000, rssBytes, sockets, watches };
}

async function openSockets(pid: number | undefined): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  return targets.filter((target) => target.startsWith("socket:")).length;
}
