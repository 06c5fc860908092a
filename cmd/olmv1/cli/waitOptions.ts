import type { Command } from "commander";
import { durationOption } from "./duration.ts";

/** Adds `--wait`, `--no-wait` and `--timeout`. @param forWhat completes "wait until …". */
export function addWaitOptions(command: Command, forWhat: string): Command {
  return command
    .option("--wait", `wait until ${forWhat}`, true)
    .option("--no-wait", "return at once; the cluster goes on by itself")
    .addOption(durationOption("--timeout", "how long to wait", "5m"));
}
