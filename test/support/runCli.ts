import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";

/** What a run of the command line differs by. */
export interface CliRun {
  /** Columns; default 80. */
  width?: number;
  colour?: boolean;
  /** A person sees it, and may be asked. */
  interactive?: boolean;
  /** Standard input. */
  stdin?: string;
  /** Default: none, so that no cluster and no credentials of the machine are found by them. */
  env?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** Runs `olmv1` with these arguments in this process, without a kubeconfig but one that they name. */
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

/** A run of the command line as a golden file shows it: the command, what it printed, what it told, and how it ended. */
export function shownRun(command: string, { code, out, err }: Ended): string {
  const told = err === "" ? "" : `--- standard error\n${err}`;
  return `$ olmv1 ${command}\n${out}${told}--- exit code ${code}\n`;
}
