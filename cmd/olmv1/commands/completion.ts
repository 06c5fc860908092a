import { Argument, type Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import type { CompleteOptions } from "../completion/complete.ts";
import { SHELLS, type Shell } from "../completion/shells.ts";

const AFTER_HELP = `
Names of extensions, catalogs, namespaces and contexts are those that your cluster has now; where it does not answer in two seconds, none are proposed.
kubectl completes its plug-in kubectl olmv1 by itself where kubectl_complete-olmv1 is on the PATH, as npm install --global puts it.

Examples:
  source <(olmv1 completion bash)                                             # bash 4 and later; add it to ~/.bashrc
  olmv1 completion zsh > "\${fpath[1]}/_olmv1"                                 # zsh
  olmv1 completion fish > ~/.config/fish/completions/olmv1.fish               # fish
`;

/** Adds `olmv1 completion`, and the hidden command that its scripts call. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("print a script that lets a shell complete commands, options and names")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText("after", AFTER_HELP)
    .action(async (shell: Shell) => {
      const { script } = await import("../completion/script.ts");
      terminal.out(script(shell));
    });
  program
    .command("__complete", { hidden: true })
    .argument("[words...]", "the words of the command line, the last of which is being typed")
    .option("--line <text>", "the command line up to the cursor, in place of words")
    .option("--breaks <characters>", "what the shell takes for the end of a word", "")
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[], options: CompleteOptions) => {
      const { complete } = await import("../completion/complete.ts");
      await complete(terminal, program, words, options);
    });
}
