import { type Command, Option } from "commander";
import {
  addClusterOptions,
  addRegistryOptions,
  addReleaseOptions,
  addWaitOptions,
  type ClusterOptions,
  collect,
  type InstallOptions,
  type ReleaseOptions,
} from "../cli/options.ts";
import { type Output, outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ApproveOptions } from "../commands/approve.ts";
import type { EventsOptions } from "../commands/events.ts";
import type { ListExtensionsOptions } from "../commands/list.ts";
import type { RollbackOptions } from "../commands/rollback.ts";
import type { UninstallOptions } from "../commands/uninstall.ts";
import type { UpgradeOptions } from "../commands/upgrade.ts";

const INSTALL_HELP = `
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
    .option("--channel <name>", "a channel of the package that counts; repeatable; default: all", collect, [])
    .option("--catalog <name>", "a ClusterCatalog to look in; repeatable; default: all", collect, [])
    .option(
      "-n, --namespace <name>",
      "where it is installed; made where it does not exist; default: what the bundle suggests, else the package",
    )
    .option("--config <path>", "file with what stands under spec.config.inline; - for standard input")
    .option("--watch-namespace <name>", "namespace that the operator is to watch; repeatable; default: all, where it can", collect, [])
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
    .addHelpText("after", INSTALL_HELP)
    .action(async (packageName: string, options: InstallOptions) => {
      const { install } = await import("../commands/install.ts");
      await install(terminal, packageName, options);
    });
}

const UPGRADE_HELP = `
It shows the plan, as olmv1 plan does: from which bundle to which, why, every object that changes, and what the cluster would refuse; then the rights that are new.
Somebody has to agree, or --yes. A ServiceAccount that olmv1 install made gets them; of another one it says what it lacks. With spec.approval Manual the plan that
was agreed to is approved. Without --version and --channel it goes where the extension may go already, which may only lack rights.

Examples:
  olmv1 upgrade argocd
  olmv1 upgrade argocd --version '>=0.13 <0.15' --yes
  olmv1 upgrade argocd --any-version --channel stable

Exit codes: 0 it is upgraded and ready, or there is nothing newer; 1 no bundle fits, it would be refused, somebody disagreed, or it did not come right in time; 2 it
could not be done.
`;

/** Adds `olmv1 upgrade`: takes an extension to a newer bundle, with the rights that this needs. */
export function addUpgrade(program: Command, terminal: Terminal): void {
  const command = program
    .command("upgrade")
    .description("upgrade an extension, after showing what changes and which rights that needs")
    .argument("<name>", "name of the ClusterExtension")
    .option("--version <range>", "the versions that may be installed from now on")
    .addOption(new Option("--any-version", "remove the range of versions").conflicts("version"))
    .option("--channel <name>", "a channel that counts from now on; repeatable", collect, [])
    .option("-y, --yes", "agree to the plan and its rights");
  addRegistryOptions(addReleaseOptions(addWaitOptions(command, "it is ready")))
    .addHelpText("after", UPGRADE_HELP)
    .action(async (name: string, options: UpgradeOptions) => {
      const { upgrade } = await import("../commands/upgrade.ts");
      await upgrade(terminal, name, options);
    });
}

const UNINSTALL_HELP = `
It shows first which custom resources would be lost, and which definitions stay with theirs, and somebody has to agree, or --yes. Once the extension is gone it
removes what olmv1 install made for it, which has label olm.operatorframework.io/created-for with the extension's name, and nothing else. The namespace stays
unless --delete-namespace says otherwise. It waits until these objects are gone; of one that is not, such as a namespace with custom resources that have
finalizers, it prints what holds it. Run it again to continue where it stopped.

Examples:
  olmv1 uninstall argocd
  olmv1 uninstall argocd --crd-policy Retain --yes
  olmv1 uninstall argocd --crd-policy Delete --delete-namespace   # with all custom resources

Exit codes: 0 it is gone; 1 somebody disagreed, or it is not gone in time; 2 it could not be done.
`;

/** Adds `olmv1 uninstall`: takes an extension off the cluster, and what was made for it. */
export function addUninstall(program: Command, terminal: Terminal): void {
  const command = program
    .command("uninstall")
    .description("remove an extension, and what olmv1 install made for it, after showing what would be lost")
    .argument("<name>", "name of the ClusterExtension")
    .addOption(
      new Option(
        "--crd-policy <policy>",
        "spec.uninstall.crdPolicy instead of what the extension says: what happens to its definitions",
      ).choices(["DeleteIfUnused", "Delete", "Retain"]),
    )
    .option(
      "--delete-namespace",
      "delete the namespace too, with all that is in it, where olmv1 install made it and nothing else is installed there",
    )
    .option("--keep-service-account", "leave the ServiceAccount and its roles")
    .option("-y, --yes", "agree to what is lost");
  addClusterOptions(addWaitOptions(command, "it is gone"))
    .addHelpText("after", UNINSTALL_HELP)
    .action(async (name: string, options: UninstallOptions) => {
      const { uninstall } = await import("../commands/uninstall.ts");
      await uninstall(terminal, name, options);
    });
}

const APPROVE_HELP = `
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
    .addHelpText("after", APPROVE_HELP)
    .action(async (name: string, options: ApproveOptions) => {
      const { approve } = await import("../commands/approve.ts");
      await approve(terminal, name, options);
    });
}

const ROLLBACK_HELP = `
The extension goes back to the objects of that revision, CustomResourceDefinitions excepted, and stays there until --cancel; it waits until
those are on the cluster and ready, and tells what comes about. Ctrl-C ends the waiting only: the cluster goes on by itself.
A ServiceAccount that olmv1 install made gets the rights back which only that revision needs; of another one the extension says what it lacks.
It reads the ClusterExtension and the Secrets of the system namespace (get, list), and patches annotations of the ClusterExtension.

Examples:
  olmv1 rollback argocd            # to the release before the deployed one
  olmv1 rollback argocd 3
  olmv1 rollback argocd --no-wait
  olmv1 rollback argocd --cancel   # follow the catalogs again

Exit codes: 0 it is there and ready, or --no-wait; 1 it did not come right in time; 2 it could not be done.
`;

/** Adds `olmv1 rollback`: takes an extension back to a release that it had, and keeps it there. */
export function addRollback(program: Command, terminal: Terminal): void {
  const command = program
    .command("rollback")
    .description("take an extension back to an earlier revision and keep it there")
    .argument("<name>", "name of the ClusterExtension")
    .argument("[revision]", "number of the release to go back to; default: the one before the deployed one")
    .option("--cancel", "follow the catalogs again");
  addRegistryOptions(addReleaseOptions(addWaitOptions(command, "it is ready")))
    .addHelpText("after", ROLLBACK_HELP)
    .action(async (name: string, revision: string | undefined, options: RollbackOptions) => {
      const { rollback } = await import("../commands/rollback.ts");
      await rollback(terminal, name, revision, options);
    });
}

const LIST_HELP = `
STATUS is Ready, or the reason of the condition Ready; UPDATE the version that may follow next, in brackets one that may not. With --apis it asks the API server
what you yourself may do with each API, in all namespaces or in one.

Examples:
  olmv1 list
  olmv1 list --outdated -o wide
  olmv1 list --apis --namespace team-a
  olmv1 list -o jsonpath='{range .items[*]}{.metadata.name}{"\\t"}{.status.install.bundle.version}{"\\n"}{end}'
`;

/** Adds `olmv1 list`: the extensions of a cluster, or the APIs that they bring. */
export function addList(program: Command, terminal: Terminal): void {
  const command = program
    .command("list")
    .alias("ls")
    .description("list the extensions of a cluster: package, version, available update and status")
    .option("--outdated", "only those of which the catalogs have a newer version")
    .option("--apis", "list the APIs that they provide, and what you may do with them")
    .option("-n, --namespace <name>", "with --apis: where you would work with them; default: all namespaces");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
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

/** Adds `olmv1 get`: one extension. */
export function addGet(program: Command, terminal: Terminal): void {
  const command = program
    .command("get")
    .description("show one extension, as a line or as it is on the cluster")
    .argument("<name>", "name of the ClusterExtension");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", GET_HELP)
    .action(async (name: string, options: ClusterOptions & { output: Output }) => {
      const { getExtension } = await import("../commands/list.ts");
      await getExtension(terminal, name, options);
    });
}

const DESCRIBE_HELP = `
Each condition that is not as one wishes is explained, with the next command to try. It reads with your own rights: the ClusterExtension, its objects, its
ServiceAccount, Events, and the release Secrets of the system namespace; what you may not read says so in its place.

Examples:
  olmv1 describe argocd
  olmv1 describe argocd --context production
`;

/** Adds `olmv1 describe`: what is the matter with an extension, in plain words. */
export function addDescribe(program: Command, terminal: Terminal): void {
  const command = program
    .command("describe")
    .description("tell in plain words how an extension is: conditions with next steps, updates, objects, releases and Events")
    .argument("<name>", "name of the ClusterExtension");
  addReleaseOptions(command)
    .addHelpText("after", DESCRIBE_HELP)
    .action(async (name: string, options: ReleaseOptions) => {
      const { describeExtension } = await import("../commands/describe.ts");
      await describeExtension(terminal, name, options);
    });
}

const EVENTS_HELP = `
The reasons are listed in docs/reference/events.md. Events of an extension that was removed are shown as long as the API server keeps them.

Examples:
  olmv1 events argocd
  olmv1 events argocd --watch
`;

/** Adds `olmv1 events`: what was done for an extension. */
export function addEvents(program: Command, terminal: Terminal): void {
  const command = program
    .command("events")
    .description("show the Events about an extension, oldest first")
    .argument("<name>", "name of the ClusterExtension")
    .option("-w, --watch", "go on with new ones until Ctrl-C");
  outputOption(addClusterOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", EVENTS_HELP)
    .action(async (name: string, options: EventsOptions) => {
      const { events } = await import("../commands/events.ts");
      await events(terminal, name, options);
    });
}

const HISTORY_HELP = `
It reads the ClusterExtension and the Secrets of the system namespace (get, list).

Examples:
  olmv1 history argocd
  olmv1 history argocd -o jsonpath='{[0].revision}'
`;

/** Adds `olmv1 history`: the releases of an extension. */
export function addHistory(program: Command, terminal: Terminal): void {
  const command = program
    .command("history")
    .description("show the releases of an extension, newest first, to which olmv1 rollback can go back")
    .argument("<name>", "name of the ClusterExtension");
  outputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", HISTORY_HELP)
    .action(async (name: string, options: ReleaseOptions & { output: Output }) => {
      const { history } = await import("../commands/history.ts");
      await history(terminal, name, options);
    });
}

const TREE_HELP = `
It reads with your own rights: the ClusterExtension, the objects that its status names, and ReplicaSets and Pods of its workloads.
What you may not read says so in its line.

Examples:
  olmv1 tree argocd
  olmv1 tree argocd --context production
`;

/** Adds `olmv1 tree`: what an extension has installed, down to its Pods, and how it is. */
export function addTree(program: Command, terminal: Terminal): void {
  const command = program
    .command("tree")
    .description("show the objects of an extension, down to its Pods, with their health")
    .argument("<name>", "name of the ClusterExtension");
  addClusterOptions(command)
    .addHelpText("after", TREE_HELP)
    .action(async (name: string, options: ClusterOptions) => {
      const { showTree } = await import("../commands/tree.ts");
      await showTree(terminal, name, options);
    });
}
