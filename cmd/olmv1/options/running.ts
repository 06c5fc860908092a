import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { addRegistryOptions, addReleaseOptions, SHELLS, type Shell } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { CompleteOptions } from "../commands/completion/complete.ts";
import type { DevOptions } from "../commands/dev.ts";
import type { DoctorOptions } from "../commands/doctor.ts";
import type { UiOptions } from "../commands/ui.ts";
import type { VersionOptions } from "../commands/version.ts";

const DEV_HELP = `
Starts the servers and, unless you use --kubeconfig, an embedded control plane.

Examples:
  olmv1 dev                                # until Ctrl-C
  olmv1 dev --once                         # for CI
  olmv1 dev --kubeconfig ~/.kube/config    # on an existing cluster

Exit codes:
  0  you stopped the command with Ctrl-C, or --once succeeded
  1  the command failed
`;

/** Adds `olmv1 dev`, which runs the servers and a sample operator on this machine. */
export function addDev(program: Command, terminal: Terminal): void {
  program
    .command("dev")
    .description("Run OLM v1 on this machine with a sample operator")
    .option("--kubeconfig <path>", "kubeconfig of the cluster to use (default: $KUBECONFIG, else an embedded control plane)")
    .option("--once", "install, upgrade and remove the sample operator, then exit")
    .addHelpText("after", DEV_HELP)
    .action(async (options: DevOptions) => {
      const { runDev } = await import("../commands/dev.ts");
      terminal.exit(await runDev(terminal, options));
    });
}

const DOCTOR_HELP = `
Checks the API server, CustomResourceDefinitions, the servers with their leaders and certificates,
catalogs, admission policies, the permissions of extensions, and metrics. The status of a check is
"unknown" if you may not read an object that it needs, such as the Secret with a certificate.

Examples:
  olmv1 doctor
  olmv1 doctor --system-namespace openshift-operator-controller
  olmv1 doctor -o jsonpath='{range .findings[?(@.status=="problem")]}{.check}{": "}{.message}{"\\n"}{end}'

Exit codes:
  0  all checks ran and found no problem; warnings are possible
  1  a check found a problem
  2  no check found a problem, but some checks could not run
`;

/** Adds `olmv1 doctor`, which checks an installation and suggests fixes. */
export function addDoctor(program: Command, terminal: Terminal): void {
  const command = program.command("doctor").description("Check the installation of OLM v1 and suggest fixes");
  addOutputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", DOCTOR_HELP)
    .action(async (options: DoctorOptions) => {
      const { runDoctor } = await import("../commands/doctor.ts");
      await runDoctor(terminal, options);
    });
}

const UI_HELP = `
Serves the console on this machine, with your kubeconfig and your permissions. It installs nothing
in the cluster. The printed link works once; only the browser that opens it can use the console.

Examples:
  olmv1 ui
  olmv1 ui --read-only --context production
  olmv1 ui --namespace shop
  olmv1 ui --no-open --port 8443    # then: ssh -L 8443:127.0.0.1:8443 HOST

Exit codes:
  0  you stopped the command with Ctrl-C
  2  the console could not start
`;

/** Adds `olmv1 ui`, which serves the web console on this machine. */
export function addUi(program: Command, terminal: Terminal): void {
  const command = program
    .command("ui")
    .description("Open the web console for the cluster of your kubeconfig")
    .addOption(new Option("--port <number>", "port on 127.0.0.1 (default: a free port)").argParser(parsePort).default(0))
    .option("--no-open", "do not open a browser")
    .option("--namespace <name>", "namespace of the extensions that the list shows first (default: all)")
    .option("--read-only", "reject all changes");
  addRegistryOptions(addReleaseOptions(command))
    .addHelpText("after", UI_HELP)
    .action(async (options: UiOptions) => {
      const { runUi } = await import("../commands/ui.ts");
      await runUi(terminal, options);
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError("Use a number from 0 to 65535; 0 selects a free port.");
  return port;
}

const VERSION_HELP = `
Examples:
  olmv1 version
  olmv1 version --client
  olmv1 version -o json
`;

/** Adds `olmv1 version`, which prints the versions of the command line, the servers and Kubernetes. */
export function addVersion(program: Command, terminal: Terminal): void {
  const command = program
    .command("version")
    .description("Print the versions of olmv1, the servers and Kubernetes")
    .option("--client", "print only the version of the olmv1 command line");
  addOutputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", VERSION_HELP)
    .action(async (options: VersionOptions) => {
      const { showVersions } = await import("../commands/version.ts");
      await showVersions(terminal, options);
    });
}

const COMPLETION_HELP = `
Completes commands, options, and names from your cluster, if it responds within two seconds. The
plug-in kubectl olmv1 needs kubectl_complete-olmv1 on the PATH, which a global npm installation provides.

Examples:
  source <(olmv1 completion bash)                                             # bash 4 and later; add it to ~/.bashrc
  olmv1 completion zsh > "\${fpath[1]}/_olmv1"                                 # zsh
  olmv1 completion fish > ~/.config/fish/completions/olmv1.fish               # fish
`;

/** Adds `olmv1 completion` and the hidden command that its scripts call. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("Print a completion script for bash, zsh or fish")
    .addArgument(new Argument("<shell>", "name of the shell").choices(SHELLS))
    .addHelpText("after", COMPLETION_HELP)
    .action(async (shell: Shell) => {
      const { getCompletionScript } = await import("../commands/completion/script.ts");
      terminal.out(getCompletionScript(shell));
    });
  program
    .command("__complete", { hidden: true })
    .argument("[words...]", "words of the command line; the last one is incomplete")
    .option("--line <text>", "command line up to the cursor, instead of words")
    .option("--breaks <characters>", "characters that end a word in the shell", "")
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[], options: CompleteOptions) => {
      const { complete } = await import("../commands/completion/complete.ts");
      await complete(terminal, program, words, options);
    });
}
