import { setTimeout as sleep } from "node:timers/promises";
import { AuditTail, type Request } from "../../support/auditTail.ts";
import { readProcessUse } from "../processUse.ts";

/** Activity of processes. */
export interface Busy {
  /** Time from the start until the last activity. */
  readonly seconds: number;
  /** CPU time of each process until then, in the order of the processes. */
  readonly cpuSeconds: readonly number[];
}

const SAMPLE_MS = 100;
/** CPU time of an idle process, which only has timers and watches. */
const IDLE_CPU_SECONDS = 0.02;
const QUIET_SAMPLES = 10;

/**
 * Waits until all processes have been idle for a second: at most 0.02 s of CPU time in each 0.1 s.
 * @param isDone whether the processes have done their work; idle time before that does not count.
 * @throws Error after a timeout.
 */
export async function waitUntilQuiet(
  pids: readonly (number | undefined)[],
  timeoutMs: number,
  isDone: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<Busy> {
  const read = async (): Promise<number[]> => Promise.all(pids.map(async (pid) => (await readProcessUse(pid)).cpuSeconds));
  const started = performance.now();
  const first = await read();
  let before = first;
  let lastBusy = { at: started, cpu: first };
  let done = false;
  for (let quiet = 0; quiet < QUIET_SAMPLES; ) {
    if (performance.now() - started > timeoutMs) throw new Error(`the servers were not idle within ${timeoutMs / 1_000} s`);
    await sleep(SAMPLE_MS);
    const now = await read();
    const isBusy = !done || now.some((cpu, i) => cpu - (before[i] ?? cpu) > IDLE_CPU_SECONDS);
    done ||= await isDone();
    quiet = isBusy ? 0 : quiet + 1;
    if (isBusy) lastBusy = { at: performance.now(), cpu: now };
    before = now;
  }
  return { seconds: (lastBusy.at - started) / 1_000, cpuSeconds: lastBusy.cpu.map((cpu, i) => cpu - (first[i] ?? cpu)) };
}

const SETTLE_MS = 10_000;

/** Waits until no new watch has started for some seconds. @returns the number of watches. */
export async function waitUntilWatched(auditLog: string): Promise<number> {
  const audit = new AuditTail(auditLog);
  let [before, now] = [-1, 0];
  while (before !== now) {
    await sleep(SETTLE_MS);
    [before, now] = [now, countStreams(await audit.listRequests())];
  }
  return now;
}

/** Counts the watches of installers by the list before each, because a watch appears in the log only when it ends. */
function countStreams(requests: readonly Request[]): number {
  const lists = requests.filter(({ account, verb }) => verb === "list" && /^system:serviceaccount:tiny-\d+:/.test(account));
  const selected = lists.filter(({ uri, code }) => uri.includes("Selector=") && code === 200);
  return new Set(selected.map(({ account, uri }) => `${account} ${uri}`)).size;
}
