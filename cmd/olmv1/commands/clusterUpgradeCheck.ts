import { type Command, Option } from "commander";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import { printable } from "../../../pkg/errors/printable.ts";
import { checkUpgrade, type UpgradeCheck, type UpgradeTarget, upgradeTarget } from "../../../pkg/gate/check.ts";
import type { ClusterVersion } from "../../../pkg/gate/clusterVersion.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { parseClusterVersion } from "../../../pkg/operatorcontroller/clusterupgrade/clusterVersionSource.ts";
import { addReleaseOptions, type ReleaseOptions, withCluster } from "../cluster.ts";
import { readClusterVersion, readExtensions } from "../upgradeCheck/clusterState.ts";
import { textReport } from "../upgradeCheck/textReport.ts";

interface CheckOptions extends ReleaseOptions {
  to?: string;
  clusterVersion?: string;
  output: "text" | "json";
}

/** What the command exits with: scripts rely on it. */
const EXIT = { upgradeable: 0, blocked: 1, notChecked: 2 } as const;

const AFTER_HELP = `
Exit codes: 0 nothing blocks the upgrade; 1 something does, or cannot be judged; 2 the check could not be made.
It reads ClusterExtensions (list), ClusterVersion "version" (get) and the Secrets of the system namespace (get, list); it changes nothing.
`;

/** Adds `olmv1 cluster-upgrade-check`: whether what is installed lets the cluster be upgraded, for people and CI. */
export function addClusterUpgradeCheck(program: Command): void {
  const command = program
    .command("cluster-upgrade-check")
    .description("tell whether the cluster may be upgraded: every installed bundle must support the version it is upgraded to")
    .option("--to <version>", "version to upgrade to, such as 4.19 or 4.20.3; default: the next minor version");
  addReleaseOptions(command)
    .option("--cluster-version <version>", "version of the cluster, such as 4.18.9; default: what its ClusterVersion says")
    .addOption(new Option("--output <format>", "how to print the answer").choices(["text", "json"]).default("text"))
    .addHelpText("after", AFTER_HELP)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT.notChecked))
    .action(async (options: CheckOptions) => {
      try {
        const check = await answer(options);
        process.stdout.write(options.output === "json" ? `${JSON.stringify(check, null, 2)}\n` : textReport(check));
        process.exitCode = check.upgradeable ? EXIT.upgradeable : EXIT.blocked;
      } catch (err) {
        process.stderr.write(`olmv1: ${printable(messageOf(err))}\n`);
        process.exitCode = EXIT.notChecked;
      }
    });
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
