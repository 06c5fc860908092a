import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import type { DevOptions } from "../dev/dev.ts";

const AFTER_HELP = `
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
    .addHelpText("after", AFTER_HELP)
    .action(async (options: DevOptions) => {
      const { dev } = await import("../dev/dev.ts");
      terminal.exit(await dev(terminal, options));
    });
}
