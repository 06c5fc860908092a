import type { Ended } from "./olmv1Command.ts";

/** A run of the command line as a golden file shows it: the command, what it printed, what it told, and how it ended. */
export function shownRun(command: string, { code, out, err }: Ended): string {
  const told = err === "" ? "" : `--- standard error\n${err}`;
  return `$ olmv1 ${command}\n${out}${told}--- exit code ${code}\n`;
}
