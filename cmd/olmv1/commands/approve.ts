import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE, CLI_MANAGER } from "../../../pkg/api/constants.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { buildExtensionRef, readExtension } from "../../../pkg/rollout/extensions.ts";
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
    const digest = extension.status?.plan?.digest;
    if (digest === undefined) {
      terminal.err(`${nothingWaits(extension)}\n`);
      return terminal.exit(EXIT.no);
    }
    if (options.digest !== undefined && options.digest !== digest)
      throw new Error(`the pending plan has digest ${digest}, not ${options.digest}: see olmv1 describe ${name}`);
    terminal.out(`${formatPlanSummary(terminal, extension)}\n`);
    if (!(await confirm(terminal, "Approve this plan?", options.yes || options.digest !== undefined)))
      return (terminal.err("not approved\n"), terminal.exit(EXIT.no));
    const { uid, generation = 0 } = extension.metadata;
    const body = { metadata: { uid, annotations: { [ANNOTATION_APPROVE]: digest } } };
    await client.patch(buildExtensionRef(name), body, { type: "merge", fieldManager: CLI_MANAGER });
    terminal.out(`ClusterExtension ${name}: plan approved\n`);
    if (!options.wait) return undefined;
    const awaited = { generation, bundle: extension.status?.plan?.bundle.name, approved: digest };
    return reportRollout(terminal, name, await awaitRollout(terminal, client, name, awaited, options.timeout));
  });
}

function nothingWaits({ metadata, spec }: ClusterExtension): string {
  const why = spec.approval === "Manual" ? "" : "; spec.approval is not Manual, so the controller applies changes without approval";
  return `no plan of ClusterExtension ${goQuote(metadata.name)} waits for approval${why}`;
}
