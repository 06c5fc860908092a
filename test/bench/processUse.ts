import { readFile } from "node:fs/promises";

/** Resources of a process since its start. */
export interface ProcessUse {
  /** User and system time of all threads. */
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  /** Maximum of `rssBytes`. */
  readonly peakRssBytes: number;
}

/** Linux reports CPU time in hundredths of a second, regardless of the kernel's clock. */
const TICKS_PER_SECOND = 100;
/** Fields of /proc/PID/stat after the program's name, counted from its state. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;

/** @throws Error if the process does not exist, or without /proc. */
export async function readProcessUse(pid: number | undefined): Promise<ProcessUse> {
  const [stat, status] = await Promise.all([readFile(`/proc/${pid}/stat`, "utf8"), readFile(`/proc/${pid}/status`, "utf8")]);
  const members = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(members[USER_TICKS]) + Number(members[SYSTEM_TICKS]);
  return { cpuSeconds: ticks / TICKS_PER_SECOND, rssBytes: readBytes(status, "VmRSS"), peakRssBytes: readBytes(status, "VmHWM") };
}

function readBytes(status: string, member: string): number {
  const kibibytes = new RegExp(`^${member}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`the process has no ${member}: it has ended`);
  return Number(kibibytes) * 1_024;
}
