import { messageOf } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { checkUpgrade, type UpgradeCheck, type UpgradeTarget, upgradeTarget } from "../../../pkg/openshift/upgradeCheck.ts";
import type { ClusterVersion } from "../../../pkg/version/clusterVersion.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { parseClusterVersion } from "../../../pkg/operatorcontroller/clusterupgrade/clusterVersionSource.ts";
import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import { EXIT } from "../cli/exitCodes.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { readClusterVersion, readExtensions } from "./clusterState.ts";
import { textReport } from "./textReport.ts";

/** How `olmv1 cluster-upgrade-check` can be asked. */
export interface CheckOptions extends ReleaseOptions {
  to?: string;
  clusterVersion?: string;
  output: Output;
}

/** `olmv1 cluster-upgrade-check`. */
export async function showUpgradeCheck(terminal: Terminal, options: CheckOptions): Promise<void> {
  const check = await answer(options);
  await print(terminal, options.output, { data: check, text: () => textReport(check, terminal.width) });
  if (!check.upgradeable) terminal.exit(EXIT.no);
}

async function answer(options: CheckOptions): Promise<UpgradeCheck> {
  const { to, systemNamespace, clusterVersion } = options;
  const given = clusterVersion === undefined ? undefined : givenVersion(clusterVersion);
  return await withCluster(options, async (client) => {
    try {
      const cluster = given ?? (await readClusterVersion(client));
      const target = targetOf(to, cluster);
      return checkUpgrade(await readExtensions(client, { systemNamespace, cluster, target }), cluster, target);
    } catch (err) {
      if (!isRefusal(err)) throw err;
      throw new Error(`${messageOf(err)}; grant that right, as config/openshift/upgrade-checker.yaml does`, { cause: err });
    }
  });
}

function givenVersion(text: string): ClusterVersion {
  try {
    return parseClusterVersion(text);
  } catch (err) {
    throw new Error(`--cluster-version: ${goQuote(text)}: ${messageOf(err)}`, { cause: err });
  }
}

function targetOf(to: string | undefined, cluster: ClusterVersion): UpgradeTarget {
  if (to === undefined && cluster.kind !== "known") {
    const why = cluster.kind === "none" ? "this cluster has no ClusterVersion" : cluster.because;
    throw new Error(
      `the version of the cluster is not known: ${why}; give it with --cluster-version, or the version to upgrade to with --to`,
    );
  }
  try {
    return upgradeTarget(to, cluster);
  } catch (err) {
    throw new Error(`--to: ${messageOf(err)}`, { cause: err });
  }
}

function isRefusal(err: unknown): boolean {
  for (let cause = err; cause instanceof Error; cause = cause.cause) if (isForbidden(cause)) return true;
  return false;
}
