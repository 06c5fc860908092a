import { type Command, Option } from "commander";
import {
  addClusterOptions,
  addRegistryOptions,
  addReleaseOptions,
  addWaitOptions,
  createRepeatableOption,
  parseNamespace,
} from "../cli/options.ts";
import { addManagedFieldsOption, addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ApprovePermissionsOptions } from "../commands/permissions/approve.ts";
import type { DiffPermissionsOptions } from "../commands/permissions/diff.ts";
import type { ListPermissionsOptions } from "../commands/permissions/list.ts";
import type { PolicyTestOptions } from "../commands/permissions/policyTest.ts";
import type { RevokePermissionsOptions } from "../commands/permissions/revoke.ts";
import type { ShowPermissionsOptions } from "../commands/permissions/show.ts";
import { BUNDLE_SOURCE } from "./bundle.ts";

/** Adds `olmv1 permissions`, with commands for the permissions that permission-manager grants to extensions. */
export function addPermissions(program: Command, terminal: Terminal): void {
  const permissions = program.command("permissions").description("Show, compare and approve the permissions of extensions");
  addList(permissions, terminal);
  addShow(permissions, terminal);
  addDiff(permissions, terminal);
  addApprove(permissions, terminal);
  addRevoke(permissions, terminal);
  const policy = permissions.command("policy").description("Test PermissionPolicies");
  addPolicyTest(policy, terminal);
}

const LIST_HELP = `
Lists the extensions whose permissions permission-manager grants: those without spec.serviceAccount.
RULES is the number of granted rules, BROAD the number of those with a risk class. STATE is Requested
until permission-manager has decided.

Examples:
  olmv1 permissions list
  olmv1 permissions list --state Pending
  olmv1 permissions list -o jsonpath='{range .items[*]}{.metadata.name}{"\\t"}{.status.state}{"\\n"}{end}'
`;

function addList(permissions: Command, terminal: Terminal): void {
  const command = permissions
    .command("list")
    .alias("ls")
    .description("List extensions with the state of their permissions")
    .addOption(new Option("--state <state>", "list only permissions in this state").choices(["Granted", "Pending", "Denied", "Failed"]));
  addManagedFieldsOption(addOutputOption(addClusterOptions(command), ["text", "name", "json", "yaml"]))
    .addHelpText("after", LIST_HELP)
    .action(async (options: ListPermissionsOptions) => {
      const { listPermissions } = await import("../commands/permissions/list.ts");
      await listPermissions(terminal, options);
    });
}

const SHOW_HELP = `
Shows the granted rules with their risk classes, the rules that wait for approval or are denied with
the reason, and the last changes. docs/reference/risk-classes.md explains the risk classes.
Required permissions: get ExtensionPermissions and the ClusterExtension; list roles and clusterroles if
the extension has more than 100 rules.

Examples:
  olmv1 permissions show argocd
  olmv1 permissions show argocd -o yaml
`;

function addShow(permissions: Command, terminal: Terminal): void {
  const command = permissions
    .command("show")
    .description("Show the permissions of an extension, their risks and their history")
    .argument("<name>", "name of the ClusterExtension");
  addManagedFieldsOption(addOutputOption(addReleaseOptions(command), ["text", "json", "yaml"]))
    .addHelpText("after", SHOW_HELP)
    .action(async (name: string, options: ShowPermissionsOptions) => {
      const { showPermissions } = await import("../commands/permissions/show.ts");
      await showPermissions(terminal, name, options);
    });
}

const DIFF_HELP = `
Resolves the bundle as operator-controller does, pulls it, and compares the permissions that it needs
with those that the extension has. Shows which ones the policy grants, which ones need an approval, and
which ones it denies. Changes nothing.
Required permissions: get ClusterExtensions, ExtensionPermissions and PermissionPolicies; list
ClusterCatalogs.

Examples:
  olmv1 permissions diff argocd --version '>=0.13 <0.15'
  olmv1 permissions diff argocd --version 0.14.0 -o json

Exit codes:
  0  the policy grants all permissions, or the extension has them
  1  permissions need an approval, or are denied; or no bundle matches
  2  the command failed
`;

function addDiff(permissions: Command, terminal: Terminal): void {
  const command = permissions
    .command("diff")
    .description("Compare the permissions of an extension with those of another version")
    .argument("<name>", "name of the ClusterExtension")
    .option("--version <range>", "version range of the bundle (default: the range of the extension)");
  addSelection(command);
  addOutputOption(addRegistryOptions(addReleaseOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", DIFF_HELP)
    .action(async (name: string, options: DiffPermissionsOptions) => {
      const { showPermissionsDiff } = await import("../commands/permissions/diff.ts");
      await showPermissionsDiff(terminal, name, options);
    });
}

const APPROVE_HELP = `
Shows the rules that wait for approval, and writes their digest into annotation
olm.operatorframework.io/approve of the ExtensionPermissions. The approval is only for these rules, and
lapses when they change. Then waits until the bundle is installed with the permissions.
With --with-dependencies, shows and approves at once what waits for the extension and for all extensions
in its status.dependencyPlan. Those of later waves request their permissions later: run the command again.
Required permissions: get, patch and approve ExtensionPermissions; with --wait or --with-dependencies,
get the ClusterExtension; with --with-dependencies, list ExtensionPermissions.

Examples:
  olmv1 permissions approve argocd
  olmv1 permissions approve argocd --with-dependencies
  olmv1 permissions approve argocd --digest sha256:4f0c… --no-wait   # in a pipeline, after a review

Exit codes:
  0  success
  1  no permissions wait for approval, you declined, or the extension is not ready in time
  2  the command failed
`;

function addApprove(permissions: Command, terminal: Terminal): void {
  const command = permissions
    .command("approve")
    .description("Approve the permissions of an extension that its policy does not grant")
    .argument("<name>", "name of the ClusterExtension")
    .option("--digest <digest>", "approve without prompting, but only the rules with this digest")
    .addOption(
      new Option("--with-dependencies", "also approve the permissions of the extensions that are installed with this one").conflicts(
        "digest",
      ),
    )
    .option("-y, --yes", "approve without prompting");
  addClusterOptions(addWaitOptions(command))
    .addHelpText("after", APPROVE_HELP)
    .action(async (name: string, options: ApprovePermissionsOptions) => {
      const { approvePermissions } = await import("../commands/permissions/approve.ts");
      await approvePermissions(terminal, name, options);
    });
}

const REVOKE_HELP = `
Removes the approval. permission-manager then takes away the permissions that the policy does not grant.
operator-controller cannot change the extension until you approve them again; the operator itself keeps
running.
Required permissions: get and patch ExtensionPermissions. To list the permissions that the extension
loses: get the ClusterExtension and PermissionPolicies.

Examples:
  olmv1 permissions revoke argocd
  olmv1 permissions revoke argocd --yes

Exit codes:
  0  success
  1  no permissions are approved, or you declined
  2  the command failed
`;

function addRevoke(permissions: Command, terminal: Terminal): void {
  const command = permissions
    .command("revoke")
    .description("Revoke the approval of the permissions of an extension")
    .argument("<name>", "name of the ClusterExtension")
    .option("-y, --yes", "revoke without prompting");
  addReleaseOptions(command)
    .addHelpText("after", REVOKE_HELP)
    .action(async (name: string, options: RevokePermissionsOptions) => {
      const { revokePermissions } = await import("../commands/permissions/revoke.ts");
      await revokePermissions(terminal, name, options);
    });
}

const POLICY_TEST_HELP = `
Prints for each rule that a bundle needs whether the policy grants it, the field of the policy that
decides, and the risk class. The policy is on the cluster, or in a file with --filename. A package is
resolved as for a new installation. With --filename and a folder or image, the command needs no cluster.

Examples:
  olmv1 permissions policy test default --bundle argocd-operator
  olmv1 permissions policy test strict -f policies.yaml --bundle quay.io/example/operator-bundle:v1.2.0
  olmv1 permissions policy test -f policy.yaml --bundle ./bundle --namespace argocd

Exit codes:
  0  the policy grants all permissions
  1  permissions need an approval, or are denied; or no bundle matches
  2  the command failed
`;

function addPolicyTest(policy: Command, terminal: Terminal): void {
  const command = policy
    .command("test")
    .description("Show what a PermissionPolicy decides about the permissions of a bundle")
    .argument("[policy]", "name of the PermissionPolicy (default: the only one in --filename)")
    .requiredOption("--bundle <bundle>", `${BUNDLE_SOURCE}; or a package`)
    .option("-f, --filename <path>", "file with the PermissionPolicy, or - for standard input (default: the policy on the cluster)")
    .option(
      "-n, --namespace <name>",
      "spec.namespace of the ClusterExtension (default: suggested by the bundle, else the package name and -system)",
      parseNamespace,
    )
    .option("--config <path>", "file with the value of spec.config.inline, or - for standard input")
    .option("--version <range>", "version range of the package (default: any version)");
  addSelection(command);
  addOutputOption(addRegistryOptions(addReleaseOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", POLICY_TEST_HELP)
    .action(async (name: string | undefined, options: PolicyTestOptions) => {
      const { testPolicy } = await import("../commands/permissions/policyTest.ts");
      await testPolicy(terminal, name, options);
    });
}

function addSelection(command: Command): void {
  command
    .addOption(createRepeatableOption("--channel <name>", "channel of the package; repeatable"))
    .addOption(
      createRepeatableOption(
        "--catalog-dir <[name=]path>",
        "catalog folder, file or OCI layout, instead of the cluster's catalogs; repeatable",
      ),
    );
}
