import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Input of the load client: plain data, because the client runs in another process. */
export interface LoadOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Each connection sends its next request after the previous response. */
  readonly connections: number;
  /** Duration of the measurement, without the warm-up that opens connections. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Trusted certificate in PEM, for https. */
  readonly ca?: string | undefined;
}

/** Result of the load client. */
export interface LoadResult {
  readonly seconds: number;
  /** Complete responses. */
  readonly answers: number;
  readonly bodyBytes: number;
  /** Length of one response. */
  readonly answerBytes: number;
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The content-encoding of the last response. */
  readonly encoding: string;
  readonly clientCpuSeconds: number;
}

const run = promisify(execFile);

/**
 * Sends requests from a separate process, so that the client's work is not part of the measured process. It still
 * shares the machine's cores.
 */
export async function load(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, "loadClient.ts"), JSON.stringify(order)]);
  return JSON.parse(stdout) as LoadResult;
}
