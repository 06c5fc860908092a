import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";
import type { Ended } from "./olmv1Command.ts";

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
