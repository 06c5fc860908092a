import { readdir, readlink } from "node:fs/promises";
import { processUse } from "../bench/processUse.ts";
import type { Sample } from "./samples.ts";

const WATCHES = /^operator_controller_object_watches\{[^}]*\} (\d+)/gm;

/** What a program holds now. @param probes base URL of its metrics. @param since by `performance.now`. */
export async function programSample(pid: number | undefined, probes: string, since: number): Promise<Sample> {
  const [{ rssBytes }, sockets] = await Promise.all([processUse(pid), openSockets(pid)]);
  // After the sockets: this request is one more for the program.
  const metrics = await (await fetch(`${probes}/metrics`)).text();
  const watches = [...metrics.matchAll(WATCHES)].reduce((sum, [, count]) => sum + Number(count), 0);
  return { seconds: (performance.now() - since) / 1_000, rssBytes, sockets, watches };
}

async function openSockets(pid: number | undefined): Promise<number> {
  const folder = `/proc/${pid}/fd`;
  const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => "")));
  return targets.filter((target) => target.startsWith("socket:")).length;
}
