import { type Command, Option } from "commander";
import {
  addClusterOptions,
  addRegistryOptions,
  addReleaseOptions,
  addWaitOptions,
  type ClusterOptions,
  collect,
  createColorOption,
  type InstallOptions,
  parseNamespace,
  type ReleaseOptions,
} from "../cli/options.ts";
import { addManagedFieldsOption, addOutputOption, type ObjectOutputOptions, type Output } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ApproveOptions } from "../commands/approve.ts";
import type { EventsOptions } from "../commands/events.ts";
import type { ListExtensionsOptions } from "../commands/list.ts";
import type { RollbackOptions } from "../commands/rollback.ts";
import type { UninstallOptions } from "../commands/uninstall.ts";
import type { UpgradeOptions } from "../commands/upgrade.ts";

const INSTALL_HELP = `
Creates the ClusterExtension if it does not exist. With --create-service-account, also creates the
namespace, and a ServiceAccount with only the permissions that the bundle needs. With neither this
option nor --service-account, permission-manager creates them. All objects that the command creates,
except the ClusterExtension, have label olm.operatorframework.io/created-for, so olmv1 uninstall can
remove them. To change an existing extension, use olmv1 upgrade. Upgrades within --version are
automatic, unless they need more permissions.

Required permissions: get, list, create and patch ClusterExtensions; list ClusterCatalogs; with
--create-service-account, create and patch the namespace, ServiceAccount, roles and bindings.

Examples:
  olmv1 install argocd-operator --create-service-account
  olmv1 install argocd-operator --version '>=0.12 <0.14' --channel alpha --create-service-account --yes
  olmv1 install argocd-operator --service-account argocd-installer --namespace argocd --approval Manual
  olmv1 install argocd-operator --create-service-account --dry-run=client -o yaml > argocd.yaml

Exit codes:
  0  the extension is ready, or waits for approval
  1  no bundle matches, you declined, or the extension is not ready in time
  2  the command failed
`;

/** Adds `olmv1 install`, which creates an extension. */
export function addInstall(program: Command, terminal: Terminal): void {
  const command = program
    .command("install")
    .description("Install a package and wait until it is ready")
    .argument("<package>", "name of the package in a catalog")
    .option("--name <name>", "name of the ClusterExtension (default: name of the package)")
    .option("--version <range>", "version range, such as 1.2.3, 1.x or '>=1.2 <2' (default: any version)")
    .option("--channel <name>", "channel of the package; repeatable (default: all channels)", collect, [])
    .option("--catalog <name>", "ClusterCatalog to search; repeatable (default: all catalogs)", collect, [])
    .option(
      "-n, --namespace <name>",
      "namespace to install into, created if missing (default: suggested by the bundle, else the package name and -system)",
      parseNamespace,
    )
    .option("--config <path>", "file with the value of spec.config.inline, or - for standard input")
    .option(
      "--watch-namespace <name>",
      "namespace that the operator watches; repeatable (default: all namespaces, if supported)",
      collect,
      [],
    )
    .addOption(
      new Option("--approval <mode>", "approval mode; with Manual, you must approve each change (default: Automatic)").choices([
        "Automatic",
        "Manual",
      ]),
    )
    .addOption(
      new Option(
        "--upgrade-constraint-policy <policy>",
        "whether upgrades must follow the upgrade edges of the catalog (default: CatalogProvided)",
      ).choices(["CatalogProvided", "SelfCertified"]),
    )
    .addOption(
      new Option("--create-service-account", "create ServiceAccount <extension>-installer with the permissions that the bundle needs"),
    )
    .addOption(
      new Option(
        "--service-account <name>",
        "existing ServiceAccount that installs the bundle (default: one that permission-manager creates)",
      ).conflicts("createServiceAccount"),
    )
    .option("-y, --yes", "grant the permissions without prompting")
    .addOption(
      new Option("--dry-run <mode>", "print the objects without applying them; server: validate them on the API server").choices([
        "client",
        "server",
      ]),
    );
  addWaitOptions(command);
  addOutputOption(addRegistryOptions(addReleaseOptions(command)), ["text", "name", "json", "yaml"])
    .addHelpText("after", INSTALL_HELP)
    .action(async (packageName: string, options: InstallOptions) => {
      const { install } = await import("../commands/install.ts");
      await install(terminal, packageName, options);
    });
}

const UPGRADE_HELP = `
If spec.approval is Manual, your confirmation also approves the plan. If olmv1 install created the
ServiceAccount, the command grants it the new permissions; otherwise, it only lists them. Without
--version and --channel, the extension keeps its version range and channels.

Examples:
  olmv1 upgrade argocd
  olmv1 upgrade argocd --version '>=0.13 <0.15' --yes
  olmv1 upgrade argocd --any-version --channel stable

Exit codes:
  0  the extension is upgraded and ready, or already up to date
  1  no bundle matches, the plan has errors, you declined, or the extension is not ready in time
  2  the command failed
`;

/** Adds `olmv1 upgrade`, which upgrades an extension and extends the permissions of its installer. */
export function addUpgrade(program: Command, terminal: Terminal): void {
  const command = program
    .command("upgrade")
    .description("Upgrade an extension after showing the changes and new permissions")
    .argument("<name>", "name of the ClusterExtension")
    .option("--version <range>", "new version range")
    .addOption(new Option("--any-version", "remove the version range").conflicts("version"))
    .option("--channel <name>", "new channel of the package; repeatable", collect, [])
    .option("--dry-run", "show the plan and its permissions without changing anything")
    .option("--all", "also show metadata changes that do not affect the operator, and errors caused by missing permissions")
    .addOption(createColorOption())
    .option("-y, --yes", "accept the plan and its permissions without prompting");
  addRegistryOptions(addReleaseOptions(addWaitOptions(command)))
    .addHelpText("after", UPGRADE_HELP)
    .action(async (name: string, options: UpgradeOptions) => {
      const { upgrade } = await import("../commands/upgrade.ts");
      await upgrade(terminal, name, options);
    });
}

const UNINSTALL_HELP = `
Before you confirm, shows the custom resources to be deleted and the CustomResourceDefinitions to be
kept. Deletes the extension, then the objects that olmv1 install created for it (label
olm.operatorframework.io/created-for), except the namespace. Prints what blocks the deletion, such as
finalizers. To resume, run the command again.

Examples:
  olmv1 uninstall argocd
  olmv1 uninstall argocd --crd-policy Retain --yes
  olmv1 uninstall argocd --crd-policy Delete --delete-namespace   # with all custom resources

Exit codes:
  0  success
  1  you declined, or some objects were not deleted in time
  2  the command failed
`;

/** Adds `olmv1 uninstall`, which deletes an extension and the objects created for it. */
export function addUninstall(program: Command, terminal: Terminal): void {
  const command = program
    .command("uninstall")
    .description("Remove an extension and the objects that olmv1 install created for it")
    .argument("<name>", "name of the ClusterExtension")
    .addOption(
      new Option("--crd-policy <policy>", "policy for CustomResourceDefinitions, overrides spec.uninstall.crdPolicy").choices([
        "DeleteIfUnused",
        "Delete",
        "Retain",
      ]),
    )
    .option("--delete-namespace", "also delete the namespace, if olmv1 install created it and no other extension uses it")
    .option("--keep-service-account", "keep the ServiceAccount and its roles")
    .option("--backup <path>", "file for a backup of the custom resources, written first; must not exist")
    .option("-y, --yes", "uninstall without prompting, even if custom resources will be deleted");
  addReleaseOptions(addWaitOptions(command))
    .addHelpText("after", UNINSTALL_HELP)
    .action(async (name: string, options: UninstallOptions) => {
      const { uninstall } = await import("../commands/uninstall.ts");
      await uninstall(terminal, name, options);
    });
}

const APPROVE_HELP = `
Shows the plan and writes its digest into annotation olm.operatorframework.io/approve. olmv1 plan
shows each changed field.

Examples:
  olmv1 approve argocd
  olmv1 approve argocd --digest sha256:4f0c… --no-wait   # in a pipeline, after a review

Exit codes:
  0  success
  1  no plan waits for approval, you declined, or the extension is not ready in time
  2  the command failed
`;

/** Adds `olmv1 approve`, which approves a plan. */
export function addApprove(program: Command, terminal: Terminal): void {
  const command = program
    .command("approve")
    .description("Approve the pending plan of an extension")
    .argument("<name>", "name of the ClusterExtension")
    .option("--digest <digest>", "approve without prompting, but only the plan with this digest")
    .option("-y, --yes", "approve without prompting");
  addClusterOptions(addWaitOptions(command))
    .addHelpText("after", APPROVE_HELP)
    .action(async (name: string, options: ApproveOptions) => {
      const { approve } = await import("../commands/approve.ts");
      await approve(terminal, name, options);
    });
}

const ROLLBACK_HELP = `
Restores all objects except CustomResourceDefinitions. The extension stays pinned until you use
--cancel. If olmv1 install created the ServiceAccount, the command grants it the required permissions;
otherwise, the extension status lists missing ones. Ctrl-C stops only the wait, not the rollback.
Required permissions: get and patch the ClusterExtension; get and list Secrets in the system namespace.

Examples:
  olmv1 rollback argocd            # to the release before the deployed one
  olmv1 rollback argocd 3
  olmv1 rollback argocd --no-wait
  olmv1 rollback argocd --cancel   # follow the catalogs again

Exit codes:
  0  the revision is deployed and ready, or --no-wait was given
  1  the extension is not ready in time
  2  the command failed
`;

/** Adds `olmv1 rollback`, which pins an extension to an earlier revision. */
export function addRollback(program: Command, terminal: Terminal): void {
  const command = program
    .command("rollback")
    .description("Roll an extension back to an earlier revision and pin it there")
    .argument("<name>", "name of the ClusterExtension")
    .argument("[revision]", "revision to roll back to (default: the revision before the deployed one)")
    .option("--cancel", "remove the pin and follow the catalogs again");
  addRegistryOptions(addReleaseOptions(addWaitOptions(command)))
    .addHelpText("after", ROLLBACK_HELP)
    .action(async (name: string, revision: string | undefined, options: RollbackOptions) => {
      const { rollback } = await import("../commands/rollback.ts");
      await rollback(terminal, name, revision, options);
    });
}

const LIST_HELP = `
STATUS is Ready, or the reason in condition Ready. UPDATE is the next version, in parentheses if a rule
such as the version range excludes it. SUPPORT is the support phase of the version, if its catalog has
support phases; unknown does not count as supported.

Examples:
  olmv1 list
  olmv1 list --outdated -o wide
  olmv1 list --apis --namespace team-a
  olmv1 list -o jsonpath='{range .items[*]}{.metadata.name}{"\\t"}{.status.install.bundle.version}{"\\n"}{end}'
`;

/** Adds `olmv1 list`, which lists extensions or the APIs that they provide. */
export function addList(program: Command, terminal: Terminal): void {
  const command = program
    .command("list")
    .alias("ls")
    .description("List extensions and their status")
    .option("--outdated", "list only extensions with an available update")
    .option("--supported", "list only extensions whose installed version is in a support phase")
    .option("--apis", "list the APIs that extensions provide, with the operations you may perform")
    .option("-n, --namespace <name>", "namespace in which --apis checks your permissions (default: all namespaces)");
  addManagedFieldsOption(addOutputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", LIST_HELP)
    .action(async (options: ListExtensionsOptions) => {
      const { listExtensions } = await import("../commands/list.ts");
      await listExtensions(terminal, options);
    });
}

const GET_HELP = `
Examples:
  olmv1 get argocd
  olmv1 get argocd -o yaml
  olmv1 get argocd -o jsonpath='{.status.install.bundle.version}'
`;

/** Adds `olmv1 get`, which shows one extension. */
export function addGet(program: Command, terminal: Terminal): void {
  const command = program.command("get").description("Show one extension").argument("<name>", "name of the ClusterExtension");
  addManagedFieldsOption(addOutputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", GET_HELP)
    .action(async (name: string, options: ClusterOptions & ObjectOutputOptions) => {
      const { getExtension } = await import("../commands/list.ts");
      await getExtension(terminal, name, options);
    });
}

const DESCRIBE_HELP = `
Shows conditions, the available update, objects, releases and Events. Uses your permissions to read the
ClusterExtension, its objects, ServiceAccount, Events and release Secrets, and lists permissions that you
lack.

Examples:
  olmv1 describe argocd
  olmv1 describe argocd --context production
`;

/** Adds `olmv1 describe`, which explains the status of an extension. */
export function addDescribe(program: Command, terminal: Terminal): void {
  const command = program
    .command("describe")
    .description("Show the status of an extension with explanations and next steps")
    .argument("<name>", "name of the ClusterExtension");
  addReleaseOptions(command)
    .addHelpText("after", DESCRIBE_HELP)
    .action(async (name: string, options: ReleaseOptions) => {
      const { describeExtension } = await import("../commands/describe.ts");
      await describeExtension(terminal, name, options);
    });
}

const EVENTS_HELP = `
Also shows Events of removed extensions, while the API server keeps them. docs/reference/events.md
explains the reasons. With --watch, JSON and YAML output has a document for each Event.

Examples:
  olmv1 events argocd
  olmv1 events argocd --watch
`;

/** Adds `olmv1 events`, which shows the Events of an extension. */
export function addEvents(program: Command, terminal: Terminal): void {
  const command = program
    .command("events")
    .description("Show the Events of an extension, oldest first")
    .argument("<name>", "name of the ClusterExtension")
    .option("-w, --watch", "print new Events until Ctrl-C");
  addOutputOption(addClusterOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", EVENTS_HELP)
    .action(async (name: string, options: EventsOptions) => {
      const { runEvents } = await import("../commands/events.ts");
      await runEvents(terminal, name, options);
    });
}

const HISTORY_HELP = `
Required permissions: get the ClusterExtension; get and list Secrets in the system namespace.

Examples:
  olmv1 history argocd
  olmv1 history argocd -o jsonpath='{[0].revision}'
`;

/** Adds `olmv1 history`, which shows the releases of an extension. */
export function addHistory(program: Command, terminal: Terminal): void {
  const command = program
    .command("history")
    .description("Show the releases of an extension, newest first")
    .argument("<name>", "name of the ClusterExtension");
  addOutputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", HISTORY_HELP)
    .action(async (name: string, options: ReleaseOptions & { output: Output }) => {
      const { runHistory } = await import("../commands/history.ts");
      await runHistory(terminal, name, options);
    });
}

const TREE_HELP = `
Uses your permissions to read the ClusterExtension, the objects in its status, and the ReplicaSets and
Pods of its workloads. Marks objects that you may not read. The Go implementation reports no objects
in the status: then reads them from the release Secrets.

Examples:
  olmv1 tree argocd
  olmv1 tree argocd --context production
`;

/** Adds `olmv1 tree`, which shows the objects of an extension and their health. */
export function addTree(program: Command, terminal: Terminal): void {
  const command = program
    .command("tree")
    .description("Show the objects of an extension as a tree, with their health")
    .argument("<name>", "name of the ClusterExtension");
  addReleaseOptions(command)
    .addHelpText("after", TREE_HELP)
    .action(async (name: string, options: ReleaseOptions) => {
      const { showTree } = await import("../commands/tree.ts");
      await showTree(terminal, name, options);
    });
}
