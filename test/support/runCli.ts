import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";

/** Options of a run of the command line. */
export interface CliRun {
  /** Columns; default 80. */
  width?: number;
  colour?: boolean;
  /** Whether the terminal is interactive. */
  interactive?: boolean;
  /** Standard input. */
  stdin?: string;
  /** Default: empty, so that no cluster and no credentials of the machine are found. */
  env?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Runs `olmv1` with these arguments in this process, without a kubeconfig unless the arguments set one. */
export async function runCli(args: readonly string[], run: CliRun = {}): Promise<Ended> {
  const { width = 80, colour = false, interactive = false, stdin = "", env = {}, signal } = run;
  process.env["KUBECONFIG"] = "/nowhere";
  const ended = { out: "", err: "" };
  const terminal = new CommandTerminal({
    out: (text) => void (ended.out += text),
    err: (text) => void (ended.err += text),
    stdin: () => Promise.resolve(stdin),
    width,
    colour,
    interactive,
    env,
    ...(signal === undefined ? {} : { signal }),
  });
  return { code: await runCommandLine(args, terminal), ...ended };
}

/** The result of a run of a program. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** Runs `olmv1` with these arguments in this process, in a pipe, without a kubeconfig unless the arguments set one. */
export function olmv1(...args: string[]): Promise<Ended> {
  return runCli(args, { width: Number.POSITIVE_INFINITY });
}

/** Returns the standard output of `olmv1`. @throws Error with its standard error if it exits with a code other than 0. */
export async function olmv1Prints(...args: string[]): Promise<string> {
  const { code, out, err } = await olmv1(...args);
  if (code !== 0) throw new Error(err);
  return out;
}

/** Formats a run of the command line for a golden file: the command, standard output, standard error, and the exit code. */
export function shownRun(command: string, { code, out, err }: Ended): string {
  const standardError = err === "" ? "" : `--- standard error\n${err}`;
  return `$ olmv1 ${command}\n${out}${standardError}--- exit code ${code}\n`;
}
