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

/** What `olmv1` prints. @throws Error with what it complains of where it ends with another code than 0. */
export async function olmv1Prints(...args: string[]): Promise<string> {
  const { code, out, err } = await olmv1(...args);
  if (code !== 0) throw new Error(err);
  return out;
}
