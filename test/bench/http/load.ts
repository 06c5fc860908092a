import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** What the load client is to do; plain data, as it crosses processes. */
export interface LoadOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Each sends its next request when the answer to the last one is complete. */
  readonly connections: number;
  /** Length of the measurement; what comes before, while connections are made, does not count. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Certificate to trust, in PEM; for https. */
  readonly ca?: string | undefined;
}

/** What the load client saw. */
export interface LoadResult {
  readonly seconds: number;
  /** Complete answers. */
  readonly answers: number;
  readonly bodyBytes: number;
  /** Length of one answer. */
  readonly answerBytes: number;
  /** How many of each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The content-encoding of the last answer. */
  readonly encoding: string;
  readonly clientCpuSeconds: number;
}

const run = promisify(execFile);

/** Sends requests from a process of its own, so that the client's work is not in the measured process; it still shares the machine's cores. */
export async function load(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, "loadClient.ts"), JSON.stringify(order)]);
  return JSON.parse(stdout) as LoadResult;
}
