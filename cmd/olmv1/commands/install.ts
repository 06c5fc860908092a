import { type Command, Option } from "commander";
import { addReleaseOptions } from "../cli/clusterOptions.ts";
import { outputOption } from "../cli/output.ts";
import { several } from "../cli/several.ts";
import type { Terminal } from "../cli/terminal.ts";
import { addWaitOptions } from "../cli/waitOptions.ts";
import type { InstallOptions } from "../install/installOptions.ts";
import { addRegistryOptions } from "../registryOptions.ts";

const AFTER_HELP = `
It resolves the package first, as olmv1 resolve does, and changes nothing where that comes to no bundle. Then it makes what is missing: the namespace, with
--create-service-account a ServiceAccount with exactly the rights that the bundle needs (they are shown, and somebody has to agree, or --yes), and the
ClusterExtension; and waits until that is ready. What it makes has label olm.operatorframework.io/created-for, and olmv1 uninstall removes it again. Run again
it changes nothing; an extension that exists is changed by olmv1 upgrade.

Upgrades within --version come by themselves; one that needs more rights waits until olmv1 upgrade has shown and granted them.

Examples:
  olmv1 install argocd-operator --create-service-account
  olmv1 install argocd-operator --name argocd --namespace argocd --version '>=0.12 <0.14' --channel alpha --create-service-account --yes
  olmv1 install argocd-operator --service-account argocd-installer --namespace argocd --approval Manual
  olmv1 install argocd-operator --no-service-account       # on clusters of which the operator-controller may do everything
  olmv1 install argocd-operator --create-service-account --dry-run=client -o yaml > argocd.yaml

Exit codes: 0 it is installed and ready, or waits for approval; 1 no bundle fits, somebody disagreed, or it did not come right in time; 2 it could not be done.
`;

/** Adds `olmv1 install`: a package, from nothing to ready. */
export function addInstall(program: Command, terminal: Terminal): void {
  const command = program
    .command("install")
    .description("install a package: namespace, ServiceAccount with the rights it needs, ClusterExtension; and wait until it is ready")
    .argument("<package>", "package of a catalog")
    .option("--name <name>", "name of the ClusterExtension; default: the package")
    .option("--version <range>", "the versions that may be installed, such as 1.2.3, 1.x or '>=1.2 <2'; default: any")
    .option("--channel <name>", "a channel of the package that counts; repeatable; default: all", several, [])
    .option("--catalog <name>", "a ClusterCatalog to look in; repeatable; default: all", several, [])
    .option(
      "-n, --namespace <name>",
      "where it is installed; made where it does not exist; default: what the bundle suggests, else the package",
    )
    .option("--config <path>", "file with what stands under spec.config.inline; - for standard input")
    .option("--watch-namespace <name>", "namespace that the operator is to watch; repeatable; default: all, where it can", several, [])
    .addOption(
      new Option("--approval <how>", "spec.approval: whether somebody has to approve each change").choices(["Automatic", "Manual"]),
    )
    .addOption(
      new Option("--upgrade-constraint-policy <policy>", "whether upgrades follow the catalog's edges").choices([
        "CatalogProvided",
        "SelfCertified",
      ]),
    )
    .addOption(
      new Option(
        "--create-service-account",
        "make a ServiceAccount, called as the extension with -installer, with the rights that the bundle needs",
      ),
    )
    .addOption(
      new Option("--service-account <name>", "a ServiceAccount that exists, as which it is installed").conflicts("createServiceAccount"),
    )
    .addOption(
      new Option(
        "--no-service-account",
        "name none: it is installed with the rights of operator-controller, where that one runs with --service-account-fallback=controller",
      ).conflicts("createServiceAccount"),
    )
    .option("-y, --yes", "agree to the rights that are granted")
    .addOption(
      new Option("--dry-run <where>", "only print what would be applied; server: and have the API server check it").choices([
        "client",
        "server",
      ]),
    );
  addWaitOptions(command, "it is ready");
  outputOption(addRegistryOptions(addReleaseOptions(command)), ["text", "name", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (packageName: string, options: InstallOptions) => {
      const { install } = await import("../install/install.ts");
      await install(terminal, packageName, options);
    });
}
