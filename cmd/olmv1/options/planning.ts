import { type Command, Option } from "commander";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/api/flagValues.ts";
import { addResolutionOptions, RESOLUTION_SOURCES_HELP } from "../cli/catalogOptions.ts";
import { addProxyOptions, addRegistryOptions, addReleaseOptions } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ClusterUpgradeCheckOptions } from "../commands/clusterUpgradeCheck.ts";
import type { PlanOptions } from "../commands/plan.ts";
import type { ResolveOptions } from "../commands/resolve.ts";
import type { WhyNotOptions } from "../commands/whyNot.ts";

const PLAN_HELP = `
Nothing is written: objects are read and applied as server-side dry runs, as yourself or, with --as-service-account, as the extension's
ServiceAccount, whose rights are looked at then as well. Without --catalog the images of the cluster's ClusterCatalogs are pulled.

Rights that it takes: to apply the ClusterExtension, get and list the Secrets of the system namespace, list ClusterExtensions and
ClusterCatalogs, get Proxy "cluster" of an OpenShift cluster, and get and patch the objects of the bundle; with --as-service-account, instead of the last, create on
serviceaccounts/token.

Examples:
  olmv1 plan -f extension.yaml
  olmv1 plan -f extension.yaml --catalog ./catalog --as-service-account
  kubectl get clusterextension argocd -o yaml | olmv1 plan -f -

Exit codes: 0 the plan was made and nothing stands against it, whether there are changes or not; 1 there are findings for which
operator-controller would refuse it; 2 no plan could be made.
`;

/** Adds `olmv1 plan`: what applying a ClusterExtension would do. */
export function addPlan(program: Command, terminal: Terminal): void {
  const command = program
    .command("plan")
    .description("show what applying a ClusterExtension would do to the cluster, before it is applied")
    .requiredOption("-f, --filename <path>", "file with the ClusterExtension, new or changed; - for standard input")
    .option(
      "--catalog <sources...>",
      "folders, files or images (also oci:FOLDER[:TAG] and oci-archive:FILE[:TAG]) of file-based catalogs, of equal priority; default: the ClusterCatalogs that its selector selects",
    )
    .option("--as-service-account", "read and try the objects as spec.serviceAccount instead of as yourself");
  addRegistryOptions(addProxyOptions(addReleaseOptions(command))).addOption(
    new Option("--webhook-cert-provider <name>", "the same flag of operator-controller").choices(WEBHOOK_CERT_PROVIDERS).default("auto"),
  );
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", PLAN_HELP)
    .action(async (options: PlanOptions) => {
      const { showPlan } = await import("../commands/plan.ts");
      await showPlan(terminal, options);
    });
}

const RESOLVE_HELP = `
A name is that of a ClusterExtension where there is one, else that of a package, which is resolved as for a new installation. Options take the place
of what the extension says. Nothing is written. As JSON and YAML the answer is the whole record, as /debug/resolution/NAME of operator-controller has it.
${RESOLUTION_SOURCES_HELP}
Examples:
  olmv1 resolve argocd --explain
  olmv1 resolve argocd-operator --version '>=0.12 <0.14' --catalog-dir ./catalog
  olmv1 resolve -f extension.yaml -o json

Exit codes: 0 a bundle would be chosen; 1 none would; 2 that could not be found out.
`;

/** Adds `olmv1 resolve`: which bundle an extension or a package comes to, and why. */
export function addResolve(program: Command, terminal: Terminal): void {
  const command = program
    .command("resolve")
    .description("show which bundle a ClusterExtension or a package would come to, and why that one")
    .argument("[name]", "ClusterExtension or package")
    .option("--package <name>", "a package, also where a ClusterExtension has the same name")
    .option("--extension <name>", "a ClusterExtension of the cluster, also with --catalog-dir")
    .option("--explain", "show how many candidates each filter left in each catalog, what it removed, and what came next");
  addResolutionOptions(command)
    .addHelpText("after", RESOLVE_HELP)
    .action(async (name: string | undefined, options: ResolveOptions) => {
      const { showResolution } = await import("../commands/resolve.ts");
      await showResolution(terminal, name, options);
    });
}

const WHY_NOT_HELP = `
PACKAGE VERSION asks as for a new installation, or for an upgrade with --installed; with --extension or --filename it is the extension's question, and
PACKAGE may be left out. The version is one such as 1.2.3, or the name of a bundle. Told are, for each catalog, all rules against it, each with what
would let it through; where there is none, what is preferred to it; and for a version that no catalog has, those next to it.
${RESOLUTION_SOURCES_HELP}
Examples:
  olmv1 why-not argocd-operator 0.14.0
  olmv1 why-not 0.14.0 --extension argocd
  olmv1 why-not argocd-operator 0.14.0 --installed 0.12.0 --catalog-dir ./catalog

Exit codes: 0 the version is what the extension or package gets; 1 it is not, and the answer says why; 2 that could not be found out.
`;

/** Adds `olmv1 why-not`: why a version is not what an extension or a package gets. */
export function addWhyNot(program: Command, terminal: Terminal): void {
  const command = program
    .command("why-not")
    .description(
      "tell why a version of a package is not what a ClusterExtension, or a new installation, gets, and what would let it through",
    )
    .usage("[options] [package] <version>")
    .argument("<words...>", "package and version; the package may be left out with --extension and --filename")
    .option("--extension <name>", "ask for this ClusterExtension of the cluster");
  addResolutionOptions(command)
    .addHelpText("after", WHY_NOT_HELP)
    .action(async (words: string[], options: WhyNotOptions) => {
      const { showWhyNot } = await import("../commands/whyNot.ts");
      await showWhyNot(terminal, words, options);
    });
}

const CLUSTER_UPGRADE_CHECK_HELP = `
It reads ClusterExtensions (list), ClusterVersion "version" (get) and the Secrets of the system namespace (get, list); it changes nothing.

Examples:
  olmv1 cluster-upgrade-check
  olmv1 cluster-upgrade-check --to 4.20 -o json

Exit codes: 0 nothing blocks the upgrade; 1 something does, or cannot be judged; 2 the check could not be made.
`;

/** Adds `olmv1 cluster-upgrade-check`: whether what is installed lets the cluster be upgraded, for people and CI. */
export function addClusterUpgradeCheck(program: Command, terminal: Terminal): void {
  const command = program
    .command("cluster-upgrade-check")
    .description("tell whether the cluster may be upgraded: every installed bundle must support the version it is upgraded to")
    .option("--to <version>", "version to upgrade to, such as 4.19 or 4.20.3; default: the next minor version");
  addReleaseOptions(command).option(
    "--cluster-version <version>",
    "version of the cluster, such as 4.18.9; default: what its ClusterVersion says",
  );
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", CLUSTER_UPGRADE_CHECK_HELP)
    .action(async (options: ClusterUpgradeCheckOptions) => {
      const { showUpgradeCheck } = await import("../commands/clusterUpgradeCheck.ts");
      await showUpgradeCheck(terminal, options);
    });
}
