import type { Command } from "commander";
import { addClusterOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { addWaitOptions } from "../cli/waitOptions.ts";
import type { ApproveOptions } from "../rollout/approve.ts";

const AFTER_HELP = `
It shows what waits, of an extension with spec.approval Manual, and writes its digest into annotation olm.operatorframework.io/approve. All objects field by
field are shown by olmv1 plan.

Examples:
  olmv1 approve argocd
  olmv1 approve argocd --digest sha256:4f0c… --no-wait   # in a pipeline, what somebody has looked at

Exit codes: 0 approved, and rolled out; 1 nothing waits for approval, or it did not come right; 2 it could not be done.
`;

/** Adds `olmv1 approve`: lets a change go on that waits for it. */
export function addApprove(program: Command, terminal: Terminal): void {
  const command = program
    .command("approve")
    .description("approve the change of an extension that waits for it, after showing it")
    .argument("<name>", "name of the ClusterExtension")
    .option("--digest <digest>", "approve this plan and no other, without asking")
    .option("-y, --yes", "approve without asking");
  addClusterOptions(addWaitOptions(command, "the change is made"))
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: ApproveOptions) => {
      const { approve } = await import("../rollout/approve.ts");
      await approve(terminal, name, options);
    });
}
