import { Argument, type Command } from "commander";
import { addReleaseOptions, SHELLS, type Shell } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { CompleteOptions } from "../commands/completion/complete.ts";
import type { DevOptions } from "../commands/dev.ts";
import type { DoctorOptions } from "../commands/doctor.ts";

const DEV_HELP = `
Examples:
  olmv1 dev                                # until Ctrl-C
  olmv1 dev --once                         # for CI
  olmv1 dev --kubeconfig ~/.kube/config    # on a cluster that you have
`;

/** Adds `olmv1 dev`: the whole product on this machine, with a sample operator to look at. */
export function addDev(program: Command, terminal: Terminal): void {
  program
    .command("dev")
    .description("run the whole product on this machine: an embedded control plane (or --kubeconfig), both servers and a sample operator")
    .option("--kubeconfig <path>", "use this cluster and start none; default: $KUBECONFIG, when it is set")
    .option("--once", "install, upgrade and remove the sample operator, then exit with 0, or 1 when something failed")
    .addHelpText("after", DEV_HELP)
    .action(async (options: DevOptions) => {
      const { dev } = await import("../commands/dev.ts");
      terminal.exit(await dev(terminal, options));
    });
}

const DOCTOR_HELP = `
It checks API server, definitions, both programs with their leaders and certificates, catalogs, admission policies and metrics, and changes nothing. A check
that you have no permission for is "unknown" and counted apart. Doctor needs permission to get these objects and the Secrets of the certificates.

Examples:
  olmv1 doctor
  olmv1 doctor --system-namespace openshift-operator-controller
  olmv1 doctor -o jsonpath='{range .findings[?(@.status=="problem")]}{.check}{": "}{.message}{"\\n"}{end}'

Exit codes: 0 every check was made and found no problem, though there may be warnings; 1 a problem was found; 2 no problem was found, but not everything
could be checked.
`;

/** Adds `olmv1 doctor`: what is the matter with an installation, and what to do about it. */
export function addDoctor(program: Command, terminal: Terminal): void {
  const command = program.command("doctor").description("check the installation on a cluster, and say what to do about what is wrong");
  outputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", DOCTOR_HELP)
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import("../commands/doctor.ts");
      await doctor(terminal, options);
    });
}

const COMPLETION_HELP = `
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
    .addHelpText("after", COMPLETION_HELP)
    .action(async (shell: Shell) => {
      const { script } = await import("../commands/completion/script.ts");
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
      const { complete } = await import("../commands/completion/complete.ts");
      await complete(terminal, program, words, options);
    });
}
