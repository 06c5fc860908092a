import { type Command, Option } from "commander";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { toYaml } from "../../../pkg/fbc/yaml.ts";
import { WEBHOOK_CERT_PROVIDERS } from "../../../pkg/operatorcontroller/certificates/providerChoice.ts";
import type { Subject } from "../../../pkg/rbac/manifest.ts";
import { installerManifests, tokenManifests } from "../../../pkg/rbac/manifest.ts";
import { isNothing } from "../../../pkg/rbac/missing.ts";
import { BundleReader } from "../rbac/bundleReader.ts";
import { type BundleOptions, bundleRights, distinctObjects, rulesFor } from "../rbac/bundleRights.ts";
import { diffText, rightsDiff } from "../rbac/rightsDiff.ts";
import { type SourceOptions, sourcesOf } from "../rbac/sources.ts";
import { sourceName } from "../rbac/valuesFrom.ts";

interface RbacOptions extends BundleOptions, SourceOptions {
  tokenOnly?: boolean;
  userRoles?: boolean;
  diff?: string;
  systemNamespace: string;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Exit code of a diff that adds rights; 0 is one that adds none, 1 an error. */
const ADDS_RIGHTS = 2;

/** Adds `olmv1 rbac`: the ServiceAccount that can install given bundles, with no right that they do not need. */
export function addRbac(program: Command): void {
  program
    .command("rbac")
    .description("print the ServiceAccount, roles and bindings with which a ClusterExtension can install the given bundles (their union)")
    .argument("[bundles...]", "bundle folders (manifests/ and metadata/) or bundle images; with --catalog or --catalog-url also packages")
    .option("--namespace <name>", "spec.namespace of the ClusterExtension; default: what the bundle suggests, else its package")
    .option("--service-account <name>", "spec.serviceAccount.name of the ClusterExtension; default: the package with -installer")
    .option(
      "--watch-namespace <name>",
      "spec.config.inline.watchNamespace of the ClusterExtension; given more than once: watchNamespaces",
      (name, names: string[] | undefined) => [...(names ?? []), name],
    )
    .option(
      "--trusted-ca-config-map <name>",
      "ConfigMap that trustedCA of the configuration creates; may be given more than once",
      (name, others: string[] | undefined) => [...(others ?? []), name],
    )
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
      "print only what changes from this bundle, or this version of the package: exit code 2 where rights are added, 0 where none are",
    )
    .option("--token-only", "print only what lets operator-controller act as the ServiceAccount")
    .option("--system-namespace <name>", "namespace of operator-controller", SYSTEM_NAMESPACE)
    .option("--registries-conf <path>", "a registries.conf for images")
    .option("--signature-policy <path>", "a policy.json about whose images are taken; default: the system's")
    .option("--auth-file <path>", "a docker config file with registry credentials")
    .action(async (bundles: string[], options: RbacOptions) => {
      const reader = new BundleReader(options);
      try {
        await run(bundles, options, reader);
      } finally {
        await reader.close();
      }
    });
}

async function run(bundles: readonly string[], options: RbacOptions, reader: BundleReader): Promise<void> {
  const controller: Subject = {
    kind: "ServiceAccount",
    namespace: options.systemNamespace,
    name: "operator-controller-controller-manager",
  };
  if (options.tokenOnly) {
    const { namespace, serviceAccount: name } = options;
    if (namespace === undefined || name === undefined) throw new Error("--token-only needs --namespace and --service-account");
    return print(tokenManifests({ namespace, name }, controller));
  }
  const sources = await sourcesOf(bundles, options, reader);
  if (sources.length === 0) throw new Error("no bundle given: name at least one bundle folder or image, or use --token-only");
  const rights = await bundleRights(sources, options, reader);
  if (options.userRoles) return print(distinctObjects(rights.flatMap(({ userRoles }) => userRoles)));
  if (options.diff !== undefined) {
    const from = await bundleRights(await sourcesOf([options.diff], options, reader, bundles), options, reader, rights[0]?.installer);
    const diff = rightsDiff(from, rights);
    process.stdout.write(diffText(diff));
    if (!isNothing(diff.installer.added) || !isNothing(diff.operator.added)) process.exitCode = ADDS_RIGHTS;
    return undefined;
  }
  const [first] = rights;
  if (!first) throw new Error("no bundle given");
  process.stdout.write(`# for ${rights.map(({ name }) => name).join(", ")}\n`);
  return print(installerManifests(first.installer, rulesFor(rights), controller));
}

function print(objects: readonly KubeObject[]): void {
  process.stdout.write(objects.map((object) => `---\n${toYaml(object)}`).join(""));
}
