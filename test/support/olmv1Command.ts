import { runCli } from "./runCli.ts";

/** What a run of a program came to. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs `olmv1` with these arguments in this process, in a pipe, without a kubeconfig but one that they name. */
export function olmv1(...args: string[]): Promise<Ended> {
  return runCli(args, { width: Number.POSITIVE_INFINITY });
}
