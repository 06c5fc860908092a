import { type Command, Option } from "commander";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/api/flagValues.ts";
import { addResolutionOptions, RESOLUTION_SOURCES_HELP } from "../cli/catalogOptions.ts";
import { addProxyOptions, addRegistryOptions, addReleaseOptions, collect, createColorOption } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ClusterUpgradeCheckOptions } from "../commands/clusterUpgradeCheck.ts";
import type { PlanOptions } from "../commands/plan.ts";
import type { ResolveOptions } from "../commands/resolve.ts";
import type { WhyNotOptions } from "../commands/whyNot.ts";

const PLAN_HELP = `
Uses server-side dry runs and changes nothing. The ClusterExtension is in a file (-f) or on the cluster
(NAME); --version, --any-version and --channel override the spec on the cluster. The dry runs use your
permissions. With --as-service-account, they use the permissions of the ServiceAccount, and the plan
lists missing ones. Without --catalog, the command pulls the images of the ClusterCatalogs. If
dependencies are missing and spec.dependencies.policy is Install, the plan contains all bundles to install.
Required permissions: apply the ClusterExtension; get and list Secrets in the system namespace;
list ClusterExtensions and ClusterCatalogs; get Proxy "cluster" on OpenShift; get and patch the
objects of the bundle or, with --as-service-account, create serviceaccounts/token.

Examples:
  olmv1 plan -f extension.yaml
  olmv1 plan -f extension.yaml --catalog ./catalog --as-service-account
  olmv1 plan argocd --any-version

Exit codes:
  0  success
  1  operator-controller would reject the plan
  2  the command failed
`;

/** Adds `olmv1 plan`, which shows the changes that applying a ClusterExtension would make. */
export function addPlan(program: Command, terminal: Terminal): void {
  const command = program
    .command("plan")
    .description("Show the changes that applying a ClusterExtension would make")
    .argument("[name]", "name of a ClusterExtension on the cluster")
    .option("-f, --filename <path>", "file with the new or changed ClusterExtension, or - for standard input")
    .option("--version <range>", "new version range")
    .addOption(new Option("--any-version", "remove the version range").conflicts("version"))
    .option("--channel <name>", "new channel of the package; repeatable", collect, [])
    .option("--all", "also show metadata changes that do not affect the operator, and errors caused by missing permissions")
    .addOption(createColorOption())
    .option(
      "--catalog <sources...>",
      "catalog folders, files, images, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], all with the same priority (default: the selected ClusterCatalogs)",
    )
    .option("--as-service-account", "impersonate spec.serviceAccount for reads and dry runs");
  addRegistryOptions(addProxyOptions(addReleaseOptions(command))).addOption(
    new Option("--webhook-cert-provider <name>", "value of the operator-controller flag --webhook-cert-provider")
      .choices(WEBHOOK_CERT_PROVIDERS)
      .default("auto"),
  );
  addOutputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", PLAN_HELP)
    .action(async (name: string | undefined, options: PlanOptions) => {
      const { showPlan } = await import("../commands/plan.ts");
      await showPlan(terminal, name, options);
    });
}

const ALL_REASONS = "show every reason of a dependency conflict, also if there are many";

const RESOLVE_HELP = `
NAME is a ClusterExtension or, if none has that name, a package. A package is resolved as for a new
installation. JSON and YAML output is the full resolution record, the same as operator-controller
serves at /debug/resolution/NAME.
${RESOLUTION_SOURCES_HELP}
Examples:
  olmv1 resolve argocd --explain
  olmv1 resolve argocd-operator --version '>=0.12 <0.14' --catalog-dir ./catalog
  olmv1 resolve -f extension.yaml -o json

Exit codes:
  0  success
  1  no bundle is selected
  2  the command failed
`;

/** Adds `olmv1 resolve`, which explains a resolution. */
export function addResolve(program: Command, terminal: Terminal): void {
  const command = program
    .command("resolve")
    .description("Show which bundle a ClusterExtension or package resolves to, and why")
    .argument("[name]", "name of a ClusterExtension or package")
    .option("--package <name>", "name of a package, even if a ClusterExtension has the same name")
    .option("--extension <name>", "name of a ClusterExtension on the cluster; with --catalog-dir, NAME is always a package")
    .option("--explain", "show which candidates each filter kept or removed in each catalog, and the runner-up")
    .option("--all", ALL_REASONS);
  addResolutionOptions(command)
    .addHelpText("after", RESOLVE_HELP)
    .action(async (name: string | undefined, options: ResolveOptions) => {
      const { showResolution } = await import("../commands/resolve.ts");
      await showResolution(terminal, name, options);
    });
}

const WHY_NOT_HELP = `
For each catalog, lists the rules that exclude the version, or the bundle that is preferred. If a
catalog does not contain the version, lists the nearest versions. NAME is a ClusterExtension or, if none
has that name, a package. A package is checked as a new installation, or as an upgrade with --installed.
NAME is optional with --extension or --filename. VERSION is a version such as 1.2.3 or a bundle name.
NAME and VERSION can be in either order.
${RESOLUTION_SOURCES_HELP}
Examples:
  olmv1 why-not argocd-operator 0.14.0
  olmv1 why-not argocd 0.14.0
  olmv1 why-not argocd-operator 0.14.0 --installed 0.12.0 --catalog-dir ./catalog

Exit codes:
  0  success
  1  the version is not selected; the output explains why
  2  the command failed
`;

/** Adds `olmv1 why-not`, which explains why a version is not selected. */
export function addWhyNot(program: Command, terminal: Terminal): void {
  const command = program
    .command("why-not")
    .description("Explain why a version is not selected and what would allow it")
    .usage("[options] [name] <version>")
    .argument("<words...>", "name of a ClusterExtension or package, and a version or bundle name")
    .option("--extension <name>", "name of a ClusterExtension on the cluster")
    .option("--all", ALL_REASONS);
  addResolutionOptions(command)
    .addHelpText("after", WHY_NOT_HELP)
    .action(async (words: string[], options: WhyNotOptions) => {
      const { showWhyNot } = await import("../commands/whyNot.ts");
      await showWhyNot(terminal, words, options);
    });
}

const CLUSTER_UPGRADE_CHECK_HELP = `
Checks that every installed bundle supports the OpenShift version that you want to upgrade to.
Required permissions: list ClusterExtensions; get ClusterVersion "version"; get and list Secrets in
the system namespace.

Examples:
  olmv1 cluster-upgrade-check
  olmv1 cluster-upgrade-check --to 4.20 -o json

Exit codes:
  0  no extension blocks the upgrade
  1  an extension blocks the upgrade, or cannot be checked
  2  the command failed
`;

/** Adds `olmv1 cluster-upgrade-check`, which checks whether installed bundles block an OpenShift upgrade. */
export function addClusterUpgradeCheck(program: Command, terminal: Terminal): void {
  const command = program
    .command("cluster-upgrade-check")
    .description("Check whether extensions block a cluster upgrade")
    .option("--to <version>", "OpenShift version to upgrade to, such as 4.19 or 4.20.3 (default: the next minor version)");
  addReleaseOptions(command).option(
    "--cluster-version <version>",
    "OpenShift version of the cluster, such as 4.18.9 (default: from its ClusterVersion)",
  );
  addOutputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", CLUSTER_UPGRADE_CHECK_HELP)
    .action(async (options: ClusterUpgradeCheckOptions) => {
      const { showUpgradeCheck } = await import("../commands/clusterUpgradeCheck.ts");
      await showUpgradeCheck(terminal, options);
    });
}
