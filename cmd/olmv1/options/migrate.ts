import { type Command, Option } from "commander";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/api/flagValues.ts";
import { addClusterOptions, addProxyOptions, addRegistryOptions, addReleaseOptions, collect, durationOption } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type {
  CatalogsOptions,
  CleanupOptions,
  MigrateCheckOptions,
  MigrateConvertOptions,
  MigrateRollbackOptions,
} from "../commands/migrate/migrateOptions.ts";

const CHECK_HELP = `
Nothing is written. A Subscription is Eligible; Ineligible, with everything that stands against it; in Conflict with an extension or another
Subscription; or AlreadyMigrated. Without --catalog-dir the images of the cluster's ClusterCatalogs are pulled, to see which of them has what is
installed. It takes the right to list Subscriptions, ClusterServiceVersions, OperatorGroups, CatalogSources, ClusterExtensions and ClusterCatalogs,
and to get InstallPlans and OperatorConditions.

Examples:
  olmv1 migrate check                        # every Subscription of the cluster
  olmv1 migrate check -n operators argocd
  olmv1 migrate check -o json
  olmv1 migrate check --catalog-dir community=./catalog

Exit codes: 0 all of them can be converted, or are; 1 one cannot; 2 it could not be asked.
`;
const CONVERT_HELP = `
Without --yes nothing is written: it prints what would be done. What runs goes on running: Deployments, definitions and the other objects of the bundle
are given to the extension as they are. Interrupted at any point, the same command goes on where it was, and rollback goes back. The version stays
pinned at the installed one, unless --unpin is given and the Subscription was approved automatically.

With --all those that are eligible, or were begun, are converted one after another; the first that does not come right ends it, unless --keep-going.
Run again, it goes on with what is left.

Examples:
  olmv1 migrate convert argocd -n operators                                    # what it would do
  olmv1 migrate convert argocd -n operators --create-service-account --yes
  olmv1 migrate convert argocd -n operators --service-account installer --backup argocd.yaml --yes
  olmv1 migrate convert --all                                                  # what it would do with each
  olmv1 migrate convert --all -n operators --create-service-account --backup operators.yaml --yes

Exit codes: 0 done, or nothing stands against it; 1 it is not eligible, or something did not come right; 2 it could not be done. With --all 1 where one
of them is not eligible, too.
`;
const ROLLBACK_HELP = `
Without --yes nothing is written. OperatorGroup, ClusterServiceVersion and Subscription are restored from the backups that convert has made, the objects
of the bundle are given back as they are, and the extension is deleted. It is possible until cleanup, and as long as the version is the one that was
converted.

Examples:
  olmv1 migrate rollback argocd
  olmv1 migrate rollback argocd --yes
  olmv1 migrate rollback --all -n operators --yes
`;
const CLEANUP_HELP = `
Without --yes nothing is written. It removes what OLM classic made under names of its own, copies of the ClusterServiceVersion in other namespaces,
InstallPlans, and the backups: afterwards there is no way back.

Examples:
  olmv1 migrate cleanup argocd
  olmv1 migrate cleanup argocd --operator-group --yes
  olmv1 migrate cleanup --all
`;
const CATALOGS_HELP = `
Without --yes nothing is written: it prints what would be made, pulls the images, and tells which of them do not hold what Subscriptions have installed
from them. An image, its poll interval and the priority go over. What is a ConfigMap, or a server at an address, is refused, with what to do instead;
pull secrets are told, since catalogd pulls with its own credentials. With --yes it ends when the catalogs are served, or cannot be.

Examples:
  olmv1 migrate catalogs
  olmv1 migrate catalogs community-operators -n olm --yes
  olmv1 migrate catalogs internal -n team-a --name internal-team-a --yes

Exit codes: 0 all of them can become ClusterCatalogs, or are served; 1 one cannot, or is not; 2 it could not be asked or done.
`;

/** Adds `olmv1 migrate`: from Subscriptions of OLM classic to ClusterExtensions. */
export function addMigrate(program: Command, terminal: Terminal): void {
  const migrate = program.command("migrate").description("turn Subscriptions of OLM classic into ClusterExtensions, and back");
  addCheck(migrate, terminal);
  addCatalogs(migrate, terminal);
  addConvert(migrate, terminal);
  addRollback(migrate, terminal);
  addCleanup(migrate, terminal);
}

function addCheck(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("check")
    .description("tell which Subscriptions can become ClusterExtensions, and why others cannot")
    .argument("[subscriptions...]", "names of Subscriptions; default: all")
    .option("-n, --namespace <name>", "only Subscriptions of this namespace")
    .option("-A, --all-namespaces", "Subscriptions of all namespaces, which is the default")
    .option("--all", "all Subscriptions, which is the default");
  addCatalogDir(addRegistryOptions(addClusterOptions(command)));
  outputOption(command, ["text", "json", "yaml", "name"])
    .addHelpText("after", CHECK_HELP)
    .action(async (names: string[], options: MigrateCheckOptions) => {
      const { showCheck } = await import("../commands/migrate/check.ts");
      await showCheck(terminal, names, options);
    });
}

function addCatalogs(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("catalogs")
    .description("make ClusterCatalogs of the CatalogSources of OLM classic")
    .argument("[sources...]", "names of CatalogSources; default: all")
    .option("-n, --namespace <name>", "only CatalogSources of this namespace")
    .option("--name <name>", "name of the ClusterCatalog; default: that of the CatalogSource");
  addConfirmation(command).addOption(durationOption("--timeout", "how long to wait for catalogd", "5m"));
  outputOption(addRegistryOptions(addClusterOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", CATALOGS_HELP)
    .action(async (names: string[], options: CatalogsOptions) => {
      const { showCatalogs } = await import("../commands/migrate/catalogs.ts");
      await showCatalogs(terminal, names, options);
    });
}

function addConvert(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("convert")
    .description("turn a Subscription into a ClusterExtension without touching what runs")
    .argument("[subscription]", "name of the Subscription")
    .option(
      "-n, --namespace <name>",
      "namespace of the Subscription, needed where several have its name; with --all, only those of this namespace",
    )
    .option("--name <name>", "name of the ClusterExtension; default: that of the Subscription")
    .option("--service-account <name>", "ServiceAccount of the namespace that installs the extension")
    .option(
      "--create-service-account [name]",
      "make one with exactly the rights that the bundle needs; default name: the extension's with -installer",
    )
    .option("--backup <path>", "with --yes, write the objects of OLM classic to this new file, too")
    .option("--unpin", "afterwards let it follow its channel, unless the Subscription was approved by hand");
  addAll(addConfirmation(addTimeout(command)));
  addCatalogDir(addRegistryOptions(addProxyOptions(addReleaseOptions(command)))).addOption(
    new Option("--webhook-cert-provider <name>", "the same flag of operator-controller").choices(WEBHOOK_CERT_PROVIDERS).default("auto"),
  );
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", CONVERT_HELP)
    .action(async (name: string | undefined, options: MigrateConvertOptions) => {
      const { showConvert } = await import("../commands/migrate/convert.ts");
      await showConvert(terminal, name, options);
    });
}

function addRollback(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("rollback")
    .description("give a converted operator back to OLM classic without touching what runs")
    .argument("[name]", "name of the ClusterExtension, or of the Subscription that it was")
    .option("-n, --namespace <name>", "namespace of the Subscription; with --all, only those of this namespace");
  addClusterOptions(addAll(addConfirmation(addTimeout(command))));
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", ROLLBACK_HELP)
    .action(async (name: string | undefined, options: MigrateRollbackOptions) => {
      const { showRollback } = await import("../commands/migrate/rollback.ts");
      await showRollback(terminal, name, options);
    });
}

function addCleanup(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("cleanup")
    .description("remove what OLM classic has left over of a converted operator, and the backups")
    .argument("[name]", "name of the ClusterExtension, or of the Subscription that it was")
    .option("-n, --namespace <name>", "namespace of the Subscription; with --all, only those of this namespace")
    .option("--operator-group", "remove the OperatorGroup, too, which nothing else of its namespace may need");
  addClusterOptions(addAll(addConfirmation(command)));
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", CLEANUP_HELP)
    .action(async (name: string | undefined, options: CleanupOptions) => {
      const { showCleanup } = await import("../commands/migrate/cleanup.ts");
      await showCleanup(terminal, name, options);
    });
}

function addConfirmation(command: Command): Command {
  return command
    .option("--yes", "do it")
    .addOption(new Option("--dry-run [mode]", "write nothing, which is the default").choices(["client"]).preset("client").conflicts("yes"));
}

function addAll(command: Command): Command {
  return command
    .option("--all", "all of them, one after another, in place of a name")
    .option("--keep-going", "with --all, go on behind one that does not come right");
}

function addTimeout(command: Command): Command {
  return command.addOption(durationOption("--timeout", "how long to wait for operator-controller", "5m"));
}

function addCatalogDir(command: Command): Command {
  return command.option(
    "--catalog-dir <[name=]path>",
    "folder or file with a file-based catalog, or oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], that stands for the ClusterCatalog of this name, instead of the cluster's; repeatable",
    collect,
    [],
  );
}
