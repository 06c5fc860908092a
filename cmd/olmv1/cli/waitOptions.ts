import type { Command } from "commander";
import { durationOf } from "./duration.ts";

const DEFAULT_MS = 5 * 60_000;

/** Adds `--wait`, `--no-wait` and `--timeout`. @param forWhat completes "wait until …". */
export function addWaitOptions(command: Command, forWhat: string): Command {
  return command
    .option("--wait", `wait until ${forWhat}`, true)
    .option("--no-wait", "return at once; the cluster goes on by itself")
    .option("--timeout <duration>", "how long to wait, such as 90s, 5m or 1h (default: 5m)", durationOf, DEFAULT_MS);
}
