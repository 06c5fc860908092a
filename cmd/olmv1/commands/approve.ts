import { buildPlanApproval, checkPlanApproval, sendPatch } from "../../../pkg/rollout/changes.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import type { ClusterOptions, WaitOptions } from "../cli/options.ts";
import { confirm, type Terminal } from "../cli/terminal.ts";
import { awaitRollout, formatPlanSummary, reportRollout } from "./rollout.ts";

/** Options of `olmv1 approve`. */
export interface ApproveOptions extends ClusterOptions, WaitOptions {
  digest?: string;
  yes?: boolean;
}

/** Runs `olmv1 approve`. */
export async function approve(terminal: Terminal, name: string, options: ApproveOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const approval = checkPlanApproval(extension, options.digest);
    if (approval.kind === "nothingWaits") {
      terminal.err(`${approval.message}\n`);
      return terminal.exit(EXIT.no);
    }
    if (approval.kind === "otherPlan") throw new Error(approval.message);
    terminal.out(`${formatPlanSummary(terminal, extension)}\n`);
    if (!(await confirm(terminal, "Approve this plan?", options.yes || options.digest !== undefined)))
      return (terminal.err("not approved\n"), terminal.exit(EXIT.no));
    const { digest } = approval;
    await sendPatch(client, buildPlanApproval(extension, digest));
    terminal.out(`ClusterExtension ${name}: plan approved\n`);
    if (!options.wait) return undefined;
    const { generation = 0 } = extension.metadata;
    const awaited = { generation, bundle: extension.status?.plan?.bundle.name, approved: digest };
    return reportRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, options.timeout));
  });
}
