import { type Command, InvalidArgumentError, Option } from "commander";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { ValuesSource } from "../../../pkg/api/extensionConfig.ts";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/api/flagValues.ts";
import type { SourceName } from "../../../pkg/installer/bundlePermissions.ts";
import { addFindingOptions, addProxyOptions, addRegistryOptions, collect, parseNamespace } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { SchemaOptions } from "../commands/bundle/configSchema.ts";
import type { BundleRenderOptions } from "../commands/bundle/render.ts";
import type { BundleValidateOptions } from "../commands/bundle/validate.ts";
import type { RbacOptions } from "../commands/rbac.ts";
import { addBundleTry } from "./bundleTry.ts";
import { addBundleBuild, addBundlePush } from "./images.ts";

/** Describes a reference to a bundle. */
export const BUNDLE_SOURCE = "bundle folder (manifests/ and metadata/), bundle image, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]";

const CONFIG_SCHEMA_HELP = `
The output conforms to JSON Schema draft-07.

Examples:
  olmv1 bundle config-schema ./bundle > schema.json
  olmv1 bundle config-schema quay.io/example/operator-bundle:v1.2.0 --namespace operators
`;

/** Adds `olmv1 bundle config-schema`, which prints the schema of `spec.config.inline`. */
function addConfigSchema(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("config-schema")
    .description("Print the JSON Schema of spec.config.inline for a bundle")
    .argument("<bundle>", BUNDLE_SOURCE)
    .option(
      "--namespace <name>",
      "spec.namespace of the ClusterExtension; the schema then shows whether the operator may watch this namespace",
      parseNamespace,
    );
  addRegistryOptions(command)
    .addHelpText("after", CONFIG_SCHEMA_HELP)
    .action(async (source: string, options: SchemaOptions) => {
      const { showConfigSchema } = await import("../commands/bundle/configSchema.ts");
      await showConfigSchema(terminal, source, options);
    });
}

const RENDER_HELP = `
Prints the objects in the order in which operator-controller applies them, without the labels and owner
references that it adds. Secrets with self-signed certificates are missing, because operator-controller
issues these certificates on the cluster.

Examples:
  olmv1 bundle render ./bundle --namespace operators
  olmv1 bundle render quay.io/example/operator-bundle:v1.2.0 --config values.yaml -o json
  olmv1 bundle render ./bundle --values-from configmap.yaml --values-from production.yaml=secret.yaml
`;

/** Adds `olmv1 bundle render`. */
function addBundleRender(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("render")
    .description("Print the objects of a bundle as operator-controller applies them")
    .argument("<bundle>", BUNDLE_SOURCE)
    .option(
      "--namespace <name>",
      "spec.namespace of the ClusterExtension (default: suggested by the bundle, else the package name and -system)",
      parseNamespace,
    )
    .option("--config <file>", "YAML or JSON file with the value of spec.config.inline, or - for standard input")
    .option(
      "--values-from <[key=]file>",
      "file with ConfigMaps and Secrets for spec.config.valuesFrom; repeatable (default key: values.yaml)",
      collect,
      [],
    )
    .addOption(
      new Option(
        "--cert-provider <name>",
        "provider of webhook certificates; auto selects self-signed, as on a cluster without another provider",
      )
        .choices(WEBHOOK_CERT_PROVIDERS)
        .default("auto"),
    )
    .addOption(
      new Option("-o, --output <format>", "output format: YAML documents, or one JSON List").choices(["yaml", "json"]).default("yaml"),
    );
  addRegistryOptions(addProxyOptions(command))
    .addHelpText("after", RENDER_HELP)
    .action(async (source: string, options: BundleRenderOptions) => {
      const { printRenderedBundle } = await import("../commands/bundle/render.ts");
      await printRenderedBundle(terminal, source, options);
    });
}

const VALIDATE_HELP = `
Reports errors (operator-controller or the API server rejects the bundle), warnings (probable
mistakes) and notes (severity info); see docs/reference/bundle-rules.md.

Examples:
  olmv1 bundle validate ./bundle
  olmv1 bundle validate ./bundle quay.io/example/operator-bundle:v1.2.0 --fail-on warning -o json
  olmv1 bundle validate ./bundle -o sarif > bundle.sarif

Exit codes:
  0  success
  1  a finding has the severity of --fail-on or higher, or a bundle is unreadable
  2  the command failed
`;

/** Adds `olmv1 bundle validate`. */
function addBundleValidate(bundle: Command, terminal: Terminal): void {
  const command = bundle.command("validate").description("Check bundles for errors").argument("<bundles...>", BUNDLE_SOURCE);
  addRegistryOptions(addFindingOptions(command))
    .addHelpText("after", VALIDATE_HELP)
    .action(async (sources: string[], options: BundleValidateOptions) => {
      const { validateBundles } = await import("../commands/bundle/validate.ts");
      await validateBundles(terminal, sources, options);
    });
}

/**
 * Appends the value of a repeatable option such as `Secret/NAME`.
 * @throws InvalidArgumentError unless the value is a ConfigMap or Secret with a valid name.
 */
function parseSourceName(text: string, before: readonly SourceName[] = []): SourceName[] {
  const slash = text.indexOf("/");
  const { success, data } = ValuesSource.safeParse({ kind: text.slice(0, Math.max(slash, 0)), name: text.slice(slash + 1) });
  if (!success) throw new InvalidArgumentError("Use ConfigMap/NAME or Secret/NAME.");
  return [...before, { kind: data.kind, name: data.name }];
}

const RBAC_HELP = `
Prints a ServiceAccount with the minimal roles and bindings to install each of the bundles.

Examples:
  olmv1 rbac ./bundle --namespace argocd | kubectl apply -f -
  olmv1 rbac argocd-operator --catalog quay.io/example/catalog:latest --version '>=0.12 <0.14'
  olmv1 rbac argocd-operator --catalog ./catalog --version 0.13.0 --diff 0.12.0
  olmv1 rbac --token-only --namespace argocd --service-account argocd-installer

Exit codes:
  0  success
  1  --diff reports added permissions
  2  the command failed
`;

/** Adds `olmv1 rbac`, which prints a least-privilege ServiceAccount for bundles. */
export function addRbac(program: Command, terminal: Terminal): void {
  const command = program
    .command("rbac")
    .description("Print the ServiceAccount and RBAC that bundles need for installation")
    .argument("[bundles...]", `${BUNDLE_SOURCE}; with --catalog or --catalog-url, also a package`)
    .option(
      "--namespace <name>",
      "spec.namespace of the ClusterExtension (default: suggested by the bundle, else the package name and -system)",
      parseNamespace,
    )
    .option("--service-account <name>", "spec.serviceAccount.name of the ClusterExtension (default: <package>-installer)")
    .option(
      "--watch-namespace <name>",
      "namespace in spec.config.inline.watchNamespace of the ClusterExtension; repeat it for watchNamespaces",
      collect,
    )
    .option(
      "--trusted-ca-config-map <name>",
      "trustedCA.configMapName in spec.config.inline, if trustedCA.create is true; repeatable",
      collect,
    )
    .option(
      "--values-from <kind/name...>",
      "sources in spec.config.valuesFrom of the ClusterExtension, such as Secret/NAME",
      parseSourceName,
    )
    .option("--catalog <source>", "folder, file or image of the file-based catalog with the packages")
    .option("--catalog-url <url>", "URL of a served catalog with the packages, such as http://localhost:8080/catalogs/NAME")
    .option("--channel <names...>", "channels of the packages (default: all channels)")
    .option("--version <range>", "version range; the output covers all versions in it (default: the version that a new installation gets)")
    .addOption(
      new Option(
        "--strategy <name>",
        "how the ServiceAccount may create roles; escalate: grant it the verbs escalate and bind, union: grant it all permissions in the roles",
      )
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
        "value of the operator-controller flag --webhook-cert-provider; auto: permissions for every provider",
      )
        .choices(WEBHOOK_CERT_PROVIDERS)
        .default("auto"),
    )
    .option("--aggregate-user-roles", "assume spec.install.userRoles: Aggregate")
    .option("--migrate-storage", "assume spec.install.storageMigration: Automatic")
    .option("--operator-condition", "assume that the cluster serves OperatorConditions")
    .option("--user-roles", "print only the admin, edit and view roles for users of the provided APIs")
    .option("--diff <from>", "print only the differences from this bundle or package version")
    .option("--token-only", "print only the RBAC that lets operator-controller act as the ServiceAccount")
    .option("--system-namespace <name>", "namespace of operator-controller", SYSTEM_NAMESPACE);
  addRegistryOptions(command)
    .addHelpText("after", RBAC_HELP)
    .action(async (bundles: string[], options: RbacOptions) => {
      const { showRbac } = await import("../commands/rbac.ts");
      await showRbac(terminal, bundles, options);
    });
}

/** Adds `olmv1 bundle`, with commands for bundles. */
export function addBundle(program: Command, terminal: Terminal): void {
  const bundle = program.command("bundle").description("Validate, render, build and try registry+v1 bundles");
  addBundleValidate(bundle, terminal);
  addBundleRender(bundle, terminal);
  addConfigSchema(bundle, terminal);
  addBundleBuild(bundle, terminal);
  addBundlePush(bundle, terminal);
  addBundleTry(bundle, terminal, BUNDLE_SOURCE);
  addRbac(bundle, terminal);
}
