import { type Command, Option } from "commander";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/api/flagValues.ts";
import {
  addClusterOptions,
  addOptionGroup,
  addProxyOptions,
  addRegistryOptions,
  addReleaseOptions,
  createDurationOption,
  createRepeatableOption,
  parseParallel,
} from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type {
  CatalogsOptions,
  CleanupOptions,
  MigrateCheckOptions,
  MigrateConvertOptions,
  MigrateRollbackOptions,
} from "../commands/migrate/migrateOptions.ts";

const CHECK_HELP = `
Reports each Subscription as Eligible, Ineligible (with all reasons), Conflict (with an extension or
another Subscription) or AlreadyMigrated. Plans each conversion like olmv1 migrate convert, without
writing: the command pulls the bundles and, without --catalog-dir, the images of the ClusterCatalogs.
Required permissions: list Subscriptions, ClusterServiceVersions, OperatorGroups, CatalogSources,
ClusterExtensions, ClusterCatalogs and InstallPlans; get OperatorConditions; dry-run the bundle objects.

Examples:
  olmv1 migrate check                        # every Subscription on the cluster
  olmv1 migrate check -n operators argocd
  olmv1 migrate check -o json
  olmv1 migrate check --catalog-dir community=./catalog

Exit codes:
  0  success
  1  a Subscription cannot be converted
  2  the command failed
`;
const CONVERT_HELP = `
Prints the steps, or runs them with --yes. The operator keeps running, and the extension adopts its
objects. After an interruption, run the command again to continue, or olmv1 migrate rollback to revert.
--all converts all Subscriptions that are eligible or partly converted. Operators that depend on each
other are converted together. By default, permission-manager grants the permissions.

Examples:
  olmv1 migrate convert argocd -n operators                                    # print the steps
  olmv1 migrate convert argocd -n operators --yes
  olmv1 migrate convert argocd -n operators --create-service-account --backup argocd.yaml --yes
  olmv1 migrate convert --all --backup olm.yaml --parallel 4 --report report.html --yes

Exit codes:
  0  success
  1  a Subscription is not eligible, or a step failed
  2  the command failed
`;
const ROLLBACK_HELP = `
Prints the steps, or runs them with --yes. Restores the objects of OLM v0 from the backups that olmv1
migrate convert wrote, and deletes the extension, but not its objects. You can roll back until you run olmv1
migrate cleanup, and only while the converted version is installed.

Examples:
  olmv1 migrate rollback argocd
  olmv1 migrate rollback argocd --yes
  olmv1 migrate rollback --all -n operators --yes
`;
const CLEANUP_HELP = `
Prints the steps, or runs them with --yes. Deletes objects that OLM v0 generated, copies of the
ClusterServiceVersion in other namespaces, InstallPlans, and the backups. You cannot roll back
afterwards.

Examples:
  olmv1 migrate cleanup argocd
  olmv1 migrate cleanup argocd --operator-group --yes
  olmv1 migrate cleanup --all
`;
const CATALOGS_HELP = `
Prints the ClusterCatalogs, or creates them with --yes and waits until they are served. Copies image,
poll interval and priority, but not pull secrets. Lists installed bundles that the catalogs do not
contain. A CatalogSource with a ConfigMap or an address instead of an image cannot be converted.

Examples:
  olmv1 migrate catalogs
  olmv1 migrate catalogs community-operators -n olm --yes
  olmv1 migrate catalogs internal -n team-a --name internal-team-a --yes

Exit codes:
  0  success
  1  a CatalogSource cannot be converted, or its catalog is not served
  2  the command failed
`;

/** Adds `olmv1 migrate`, which converts Subscriptions of OLM v0 to ClusterExtensions. */
export function addMigrate(program: Command, terminal: Terminal): void {
  const migrate = program.command("migrate").description("Migrate operators from OLM v0");
  addCheck(migrate, terminal);
  addCatalogs(migrate, terminal);
  addConvert(migrate, terminal);
  addRollback(migrate, terminal);
  addCleanup(migrate, terminal);
}

function addCheck(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("check")
    .description("Check which Subscriptions can be converted to ClusterExtensions")
    .argument("[subscriptions...]", "names of Subscriptions (default: all Subscriptions)")
    .option("-n, --namespace <name>", "only Subscriptions in this namespace")
    .option("-A, --all-namespaces", "Subscriptions in all namespaces; this is the default")
    .option("--all", "all Subscriptions; this is the default");
  addPlanOptions(command);
  addOutputOption(command, ["text", "json", "yaml", "name"])
    .addHelpText("after", CHECK_HELP)
    .action(async (names: string[], options: MigrateCheckOptions) => {
      const { showCheck } = await import("../commands/migrate/check.ts");
      await showCheck(terminal, names, options);
    });
}

function addCatalogs(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("catalogs")
    .description("Convert CatalogSources to ClusterCatalogs")
    .argument("[sources...]", "names of CatalogSources (default: all CatalogSources)")
    .option("-n, --namespace <name>", "only CatalogSources in this namespace")
    .option("--name <name>", "name of the ClusterCatalog (default: name of the CatalogSource)");
  addTimeout(addConfirmation(command));
  addOutputOption(addRegistryOptions(addClusterOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", CATALOGS_HELP)
    .action(async (names: string[], options: CatalogsOptions) => {
      const { showCatalogs } = await import("../commands/migrate/catalogs.ts");
      await showCatalogs(terminal, names, options);
    });
}

function addConvert(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("convert")
    .description("Convert a Subscription to a ClusterExtension without reinstalling it")
    .argument("[subscriptions...]", "names of Subscriptions; several are converted together")
    .option("-n, --namespace <name>", "namespace of the Subscription, required if its name is not unique; with --all, only this namespace")
    .option("--name <name>", "name of the ClusterExtension (default: name of the Subscription)")
    .option("--service-account <name>", "existing ServiceAccount to install the extension with, in the same namespace")
    .option(
      "--create-service-account [name]",
      "create a ServiceAccount with the permissions that the bundle needs (default name: <extension>-installer)",
    )
    .option("--backup <path>", "file to write the objects of OLM v0 to with --yes; must not exist")
    .option(
      "--unpin",
      "afterwards remove spec.source.catalog.version, which the conversion sets to the installed version; not for Subscriptions with manual approval",
    )
    .option(
      "--parallel <number>",
      "number of conversions at once, from 1 to 32; operators that depend on each other count as one",
      parseParallel,
      1,
    )
    .option("--report <path>", "file to write a report to: .html, .json or .txt; an existing file is replaced");
  addAll(addConfirmation(addTimeout(command)));
  addPlanOptions(command);
  addOutputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", CONVERT_HELP)
    .action(async (names: string[], options: MigrateConvertOptions) => {
      const { showConvert } = await import("../commands/migrate/convert.ts");
      await showConvert(terminal, names, options);
    });
}

function addRollback(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("rollback")
    .description("Return a converted operator to OLM v0 without reinstalling it")
    .argument("[name]", "name of the ClusterExtension or of the former Subscription")
    .option("-n, --namespace <name>", "namespace of the Subscription; with --all, only this namespace");
  addClusterOptions(addAll(addConfirmation(addTimeout(command))));
  addOutputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", ROLLBACK_HELP)
    .action(async (name: string | undefined, options: MigrateRollbackOptions) => {
      const { showRollback } = await import("../commands/migrate/rollback.ts");
      await showRollback(terminal, name, options);
    });
}

function addCleanup(migrate: Command, terminal: Terminal): void {
  const command = migrate
    .command("cleanup")
    .description("Delete leftovers of OLM v0 and the backups of a converted operator")
    .argument("[name]", "name of the ClusterExtension or of the former Subscription")
    .option("-n, --namespace <name>", "namespace of the Subscription; with --all, only this namespace")
    .option("--operator-group", "also delete the OperatorGroup; fails if another operator in its namespace needs it");
  addClusterOptions(addAll(addConfirmation(command)));
  addOutputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", CLEANUP_HELP)
    .action(async (name: string | undefined, options: CleanupOptions) => {
      const { showCleanup } = await import("../commands/migrate/cleanup.ts");
      await showCleanup(terminal, name, options);
    });
}

function addConfirmation(command: Command): Command {
  return addOptionGroup(command, "migration", [
    new Option("-y, --yes", "run the steps"),
    new Option("--dry-run [mode]", "only print the steps; this is the default").choices(["client"]).conflicts("yes"),
  ]);
}

function addAll(command: Command): Command {
  return addOptionGroup(command, "migration", [
    new Option("--all", "process all Subscriptions"),
    new Option("--keep-going", "with --all, continue after a failure (default: complete what is in progress, then stop)"),
  ]);
}

function addTimeout(command: Command): Command {
  return addOptionGroup(command, "migration", [createDurationOption("--timeout", "maximum time to wait for each controller", "5m")]);
}

/** Adds the options for planning conversions. */
function addPlanOptions(command: Command): Command {
  return addCatalogDir(addRegistryOptions(addProxyOptions(addReleaseOptions(command)))).addOption(
    new Option("--webhook-cert-provider <name>", "value of the operator-controller flag --webhook-cert-provider")
      .choices(WEBHOOK_CERT_PROVIDERS)
      .default("auto"),
  );
}

function addCatalogDir(command: Command): Command {
  return command.addOption(
    createRepeatableOption(
      "--catalog-dir <[name=]path>",
      "catalog folder, file, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], instead of the ClusterCatalog with this name; repeatable",
    ),
  );
}
