import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import type { NameKind } from "./kinds.ts";
import { keptByBash, wordsOf } from "./line.ts";
import { type Position, positionOf } from "./position.ts";
import { type Proposal, proposalsAt } from "./proposals.ts";

/** How `olmv1 __complete` can be asked. */
export interface CompleteOptions {
  line?: string;
  breaks: string;
}

/** What the shell is told beside proposals, as flags of which a number is made. @see github.com/spf13/cobra ShellCompDirective */
const DIRECTIVE = { none: 0, noSpace: 2, noFiles: 4, onlyFolders: 16 } as const;

/** `olmv1 __complete`: a proposal a line, with a tab before what it means; last `:` and the directive. */
export async function complete(
  terminal: Pick<Terminal, "out" | "env">,
  program: Command,
  given: readonly string[],
  options: CompleteOptions,
): Promise<void> {
  const words = options.line === undefined ? given : wordsOf(options.line).slice(1);
  const position = positionOf(program, words);
  const { proposals, kind } = proposalsAt(position);
  const found = [...proposals, ...(await named(kind, position, terminal.env))];
  const typed = (position.kind === "value" ? position.glue : "") + position.typed;
  const fitting = found.filter(({ word }) => word.startsWith(typed));
  const kept = keptByBash(words.at(-1) ?? "", options.breaks);
  const lines = fitting.map(({ word, help }) => [word.slice(kept), ...(help ? [firstLine(help)] : [])].join("\t"));
  terminal.out([...lines, `:${directiveFor(kind, fitting)}`, ""].join("\n"));
}

/** What a shell would put into the command line as it is: names from a cluster or a catalog must mean nothing to it, nor be options. */
const PLAIN = /^[\w.:@/+][\w.:@/+-]*$/;
/** These are looked up in a folder. */
const IN_FOLDER = new Set<NameKind>(["catalogPackage", "catalogChannel", "catalogBundle"]);
/** Nothing is looked up for these. */
const NOT_LIVE = new Set<NameKind>(["file", "folder", "free"]);

async function named(kind: NameKind, position: Position, env: Terminal["env"]): Promise<Proposal[]> {
  if (NOT_LIVE.has(kind)) return [];
  const { given, words } = position;
  if (IN_FOLDER.has(kind)) {
    const { catalogNames } = await import("./catalogNames.ts");
    const names = await catalogNames(kind, words[0] ?? ".", words[1]);
    return names.filter((name) => PLAIN.test(name)).map((word) => ({ word }));
  }
  const of = (name: string): string | undefined => given.get(name);
  const [kubeconfig, context, namespace] = [of("--kubeconfig"), of("--context"), of("--namespace")];
  if (kind === "package") {
    const { packageNames } = await import("./packageNames.ts");
    const names = await packageNames(env, { kubeconfig, context, catalogDir: of("--catalog-dir") });
    return names.filter((name) => PLAIN.test(name)).map((name) => ({ word: (position.kind === "value" ? position.glue : "") + name }));
  }
  const { liveNames } = await import("./liveNames.ts"); // a client of the cluster takes time to load
  const names = await liveNames(kind, {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(namespace === undefined ? {} : { namespace }),
  });
  const glue = position.kind === "value" ? position.glue : "";
  return names.filter((name) => PLAIN.test(name)).map((name) => ({ word: glue + name }));
}

function directiveFor(kind: NameKind, found: readonly Proposal[]): number {
  if (kind === "folder") return DIRECTIVE.onlyFolders;
  if (kind === "file") return DIRECTIVE.none;
  return DIRECTIVE.noFiles + (found.length === 1 && found[0]?.word.endsWith("=") ? DIRECTIVE.noSpace : 0);
}

function firstLine(help: string): string {
  return help.replaceAll(/\s+/g, " ").trim();
}
