import { type Command, Option } from "commander";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/operatorcontroller/certificates/providerNames.ts";
import { several } from "../cli/several.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { RbacOptions } from "../rbac/showRbac.ts";
import { sourceName } from "../rbac/valuesFrom.ts";
import { addRegistryOptions } from "../registryOptions.ts";

const AFTER_HELP = `
Examples:
  olmv1 rbac ./bundle --namespace argocd | kubectl apply -f -
  olmv1 rbac argocd-operator --catalog quay.io/example/catalog:latest --version '>=0.12 <0.14'
  olmv1 rbac argocd-operator --catalog ./catalog --version 0.13.0 --diff 0.12.0
  olmv1 rbac --token-only --namespace argocd --service-account argocd-installer

Exit codes: with --diff 1 where rights are added; 2 an error.
`;

/** Adds `olmv1 rbac`: the ServiceAccount that can install given bundles, with no right that they do not need. */
export function addRbac(program: Command, terminal: Terminal): void {
  const command = program
    .command("rbac")
    .description("print the ServiceAccount, roles and bindings with which a ClusterExtension can install the given bundles (their union)")
    .argument(
      "[bundles...]",
      "bundle folders (manifests/ and metadata/) or bundle images, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]; with --catalog or --catalog-url also packages",
    )
    .option("--namespace <name>", "spec.namespace of the ClusterExtension; default: what the bundle suggests, else its package")
    .option("--service-account <name>", "spec.serviceAccount.name of the ClusterExtension; default: the package with -installer")
    .option(
      "--watch-namespace <name>",
      "spec.config.inline.watchNamespace of the ClusterExtension; given more than once: watchNamespaces",
      several,
    )
    .option("--trusted-ca-config-map <name>", "ConfigMap that trustedCA of the configuration creates; may be given more than once", several)
    .option("--values-from <kind/name...>", "what spec.config.valuesFrom of the ClusterExtension names, such as Secret/NAME", sourceName)
    .option("--catalog <source>", "folder, file or image of the file-based catalog in which packages are looked up")
    .option("--catalog-url <url>", "a served catalog in which packages are looked up, such as http://localhost:8080/catalogs/NAME")
    .option("--channel <names...>", "channels of the packages that count; default: all")
    .option("--version <range>", "the versions of the packages, all together; default: the one that a new installation gets")
    .addOption(
      new Option("--strategy <name>", "how roles are written: by escalate and bind on them, or by holding all that they give")
        .choices(["escalate", "union"])
        .default("escalate"),
    )
    .addOption(
      new Option("--crd-policy <name>", "spec.uninstall.crdPolicy of the ClusterExtension")
        .choices(["DeleteIfUnused", "Delete", "Retain"])
        .default("DeleteIfUnused"),
    )
    .addOption(
      new Option(
        "--webhook-cert-provider <name>",
        "who provides the certificates of webhooks and API services, as operator-controller says it; auto: rights for whichever it may be",
      )
        .choices(WEBHOOK_CERT_PROVIDERS)
        .default("auto"),
    )
    .option("--aggregate-user-roles", "spec.install.userRoles of the ClusterExtension is Aggregate")
    .option("--user-roles", "print only the roles admin, edit and view for users of the bundles' APIs")
    .option(
      "--diff <from>",
      "print only what changes from this bundle, or this version of the package: exit code 1 where rights are added, 0 where none are",
    )
    .option("--token-only", "print only what lets operator-controller act as the ServiceAccount")
    .option("--system-namespace <name>", "namespace of operator-controller", SYSTEM_NAMESPACE);
  addRegistryOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (bundles: string[], options: RbacOptions) => {
      const { showRbac } = await import("../rbac/showRbac.ts");
      await showRbac(terminal, bundles, options);
    });
}
