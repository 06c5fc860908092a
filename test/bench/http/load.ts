import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { LoadOrder, LoadResult } from "./loadOrder.ts";

const run = promisify(execFile);

/** Sends requests from a process of its own, so that the client's work is not in the measured process; it still shares the machine's cores. */
export async function load(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, "loadClient.ts"), JSON.stringify(order)]);
  return JSON.parse(stdout) as LoadResult;
}
