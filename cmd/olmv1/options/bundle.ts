import { type Command, InvalidArgumentError, Option } from "commander";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { ValuesSource } from "../../../pkg/api/extensionConfig.ts";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/api/flagValues.ts";
import type { SourceName } from "../../../pkg/installer/bundlePermissions.ts";
import { addFindingOptions, addProxyOptions, addRegistryOptions, collect } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { SchemaOptions } from "../commands/bundle/configSchema.ts";
import type { BundleRenderOptions } from "../commands/bundle/render.ts";
import type { BundleValidateOptions } from "../commands/bundle/validate.ts";
import type { RbacOptions } from "../commands/rbac.ts";
import { addBundleBuild, addBundlePush } from "./images.ts";

/** What a bundle may be given as, for help. */
export const BUNDLE_SOURCE =
  "bundle folder (manifests/ and metadata/) or bundle image, in a registry, or in a layout as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]";

const CONFIG_SCHEMA_HELP = `
Examples:
  olmv1 bundle config-schema ./bundle > schema.json
  olmv1 bundle config-schema quay.io/example/operator-bundle:v1.2.0 --namespace operators
`;

/** Adds `olmv1 bundle config-schema`: what `spec.config.inline` may hold for a bundle. */
function addConfigSchema(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("config-schema")
    .description("print the JSON Schema (draft-07) of spec.config.inline for a bundle, for editors and other validators")
    .argument("<bundle>", BUNDLE_SOURCE)
    .option("--namespace <name>", "spec.namespace of the ClusterExtension: then the schema says whether that one may be watched");
  addRegistryOptions(command)
    .addHelpText("after", CONFIG_SCHEMA_HELP)
    .action(async (source: string, options: SchemaOptions) => {
      const { showConfigSchema } = await import("../commands/bundle/configSchema.ts");
      await showConfigSchema(terminal, source, options);
    });
}

const RENDER_HELP = `
The objects are those that operator-controller applies, in its order, without its labels and owner references. Secrets with certificates of
provider self-signed are not among them, since operator-controller issues these on the cluster. What --values-from reads is shown in the objects that hold it, and
in no message.

Examples:
  olmv1 bundle render ./bundle --namespace operators
  olmv1 bundle render quay.io/example/operator-bundle:v1.2.0 --config values.yaml -o json
  olmv1 bundle render ./bundle --values-from configmap.yaml --values-from production.yaml=secret.yaml
`;

/** Adds `olmv1 bundle render`. */
function addBundleRender(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("render")
    .description("print the objects that a bundle is installed as")
    .argument("<bundle>", BUNDLE_SOURCE)
    .option("--namespace <name>", "spec.namespace of the ClusterExtension; default: what the bundle suggests, else its package")
    .option("--config <file>", "file with spec.config.inline of the ClusterExtension, YAML or JSON; - is standard input")
    .option(
      "--values-from <[key=]file>",
      "file with ConfigMaps and Secrets, each a source of spec.config.valuesFrom, and the key in them (default: values.yaml); --config is over them; repeatable",
      collect,
      [],
    )
    .addOption(
      new Option(
        "--cert-provider <name>",
        "who provides the certificates of webhooks; auto: operator-controller itself, as on a plain cluster",
      )
        .choices(WEBHOOK_CERT_PROVIDERS)
        .default("auto"),
    )
    .addOption(
      new Option("-o, --output <format>", "YAML documents, or one JSON object of kind List").choices(["yaml", "json"]).default("yaml"),
    );
  addRegistryOptions(addProxyOptions(command))
    .addHelpText("after", RENDER_HELP)
    .action(async (source: string, options: BundleRenderOptions) => {
      const { printRenderedBundle } = await import("../commands/bundle/render.ts");
      await printRenderedBundle(terminal, source, options);
    });
}

const VALIDATE_HELP = `
Errors are what operator-controller or the API server refuses, warnings what is most likely a mistake, remarks what may be meant so. Every rule
with its code: docs/reference/bundle-rules.md.

Examples:
  olmv1 bundle validate ./bundle
  olmv1 bundle validate ./bundle quay.io/example/operator-bundle:v1.2.0 --fail-on warning -o json
  olmv1 bundle validate ./bundle -o sarif > bundle.sarif

Exit codes: 0 nothing was found that --fail-on names; 1 something was, or a bundle cannot be read.
`;

/** Adds `olmv1 bundle validate`. */
function addBundleValidate(bundle: Command, terminal: Terminal): void {
  const command = bundle.command("validate").description("check bundles").argument("<bundles...>", `each a ${BUNDLE_SOURCE}`);
  addRegistryOptions(addFindingOptions(command))
    .addHelpText("after", VALIDATE_HELP)
    .action(async (sources: string[], options: BundleValidateOptions) => {
      const { validateBundles } = await import("../commands/bundle/validate.ts");
      await validateBundles(terminal, sources, options);
    });
}

/**
 * Reads one more value of an option such as `Secret/NAME`.
 * @param before the values before it.
 * @throws InvalidArgumentError for what is no ConfigMap or Secret with a name that it can have.
 */
function sourceName(text: string, before: readonly SourceName[] = []): SourceName[] {
  const slash = text.indexOf("/");
  const { success, data } = ValuesSource.safeParse({ kind: text.slice(0, Math.max(slash, 0)), name: text.slice(slash + 1) });
  if (!success) throw new InvalidArgumentError("It must be ConfigMap/NAME or Secret/NAME.");
  return [...before, { kind: data.kind, name: data.name }];
}

const RBAC_HELP = `
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
      collect,
    )
    .option("--trusted-ca-config-map <name>", "ConfigMap that trustedCA of the configuration creates; may be given more than once", collect)
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
    .addHelpText("after", RBAC_HELP)
    .action(async (bundles: string[], options: RbacOptions) => {
      const { showRbac } = await import("../commands/rbac.ts");
      await showRbac(terminal, bundles, options);
    });
}

/** Adds `olmv1 bundle`: tools for the authors of bundles and those who install them. */
export function addBundle(program: Command, terminal: Terminal): void {
  const bundle = program.command("bundle").description("work with registry+v1 bundles");
  addBundleValidate(bundle, terminal);
  addBundleRender(bundle, terminal);
  addConfigSchema(bundle, terminal);
  addBundleBuild(bundle, terminal);
  addBundlePush(bundle, terminal);
  addRbac(bundle, terminal);
}
