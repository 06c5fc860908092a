import { type Command, Option } from "commander";
import type { CatalogSource } from "../../../pkg/api/clusterExtension.ts";
import type { DependencyPolicy } from "../../../pkg/preview/installContext.ts";
import type { CatalogChoice } from "../../../pkg/sources/catalogNames.ts";
import { addClusterOptions, addRegistryOptions, type ClusterOptions, collect } from "./options.ts";
import { type Output, outputOption } from "./output.ts";

/** Which catalogs are looked at, and how they are read. */
export interface CatalogReadOptions extends ClusterOptions, CatalogChoice {
  /** False with --no-cache. */
  cache: boolean;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Where catalogs come from, for the help of commands that have these options. */
export const SOURCES_HELP = `
Without --catalog-dir and --catalog-image the catalogs are the cluster's ClusterCatalogs that serve, in the content that their status names: their
images are pulled once, with your registry credentials, which takes the right to list ClusterCatalogs. With one of them no cluster is asked.
What was read is kept in the cache folder ($XDG_CACHE_HOME/olmv1/catalogs, else ~/.cache), by digest and at most 2 GiB of it.
`;

/** Adds the options of CatalogReadOptions. */
export function addSourceOptions(command: Command): Command {
  command
    .option("--catalog <name>", "only the catalog of this name; repeatable", collect, [])
    .option(
      "--catalog-dir <[name=]path>",
      "folder, file or OCI layout with a file-based catalog, instead of the cluster's; repeatable",
      collect,
      [],
    )
    .option(
      "--catalog-image <[name=]ref>",
      "image with a file-based catalog, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], instead of the cluster's; repeatable",
      collect,
      [],
    )
    .option("--no-cache", "read catalogs anew, and keep nothing of them");
  return addRegistryOptions(addClusterOptions(command));
}

/** What a resolution is asked about, and where catalogs are. */
export interface ResolutionOptions extends ClusterOptions {
  filename?: string;
  channel: string[];
  version?: string;
  catalog: string[];
  catalogDir: string[];
  installed?: string;
  upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  clusterVersionPolicy?: NonNullable<CatalogSource["clusterVersionPolicy"]>;
  clusterVersion?: string;
  dependencyPolicy?: DependencyPolicy;
  installedPackage: string[];
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
  output: Output;
}

/** Where catalogs come from, for the help of commands that have these options. */
export const RESOLUTION_SOURCES_HELP = `
Without --catalog-dir the catalogs are the cluster's ClusterCatalogs that are selected and serve, in the content that their status names: their images
are pulled, with your registry credentials. That takes the right to list ClusterCatalogs and to get the ClusterExtension and ClusterVersion "version".
With --catalog-dir no cluster is asked, unless an extension is named: for CI, and for authors of catalogs.

What bundles depend on is judged as operator-controller does. On a cluster that takes the right to list ClusterExtensions; what they have installed is
looked up in the selected catalogs. Without a cluster nothing is left out for what it depends on, and the answer says what that is and which bundle of
the given catalogs would supply it; with --installed-package or --dependency-policy it is judged as on a cluster that has those packages and no others.
`;

/** Adds the options of ResolutionOptions. */
export function addResolutionOptions(command: Command): Command {
  command
    .option("-f, --filename <path>", "file with the ClusterExtension, new or changed; - for standard input")
    .option("--channel <name>", "spec.source.catalog.channels instead of what the extension says; repeatable", collect, [])
    .option("--version <range>", "spec.source.catalog.version instead of what the extension says")
    .option("--catalog <name>", "only the ClusterCatalog, or --catalog-dir, of this name; repeatable", collect, [])
    .option(
      "--catalog-dir <[name=]path>",
      "folder or file with a file-based catalog, or oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], instead of the cluster's; named after the folder; repeatable",
      collect,
      [],
    )
    .option("--installed <version>", "version or bundle that is installed, instead of what the extension's status says; none: nothing is")
    .addOption(
      new Option("--upgrade-constraint-policy <policy>", "the field of that name instead of what the extension says").choices([
        "CatalogProvided",
        "SelfCertified",
      ]),
    )
    .addOption(
      new Option("--cluster-version-policy <policy>", "the field of that name instead of what the extension says").choices([
        "Warn",
        "Enforce",
      ]),
    )
    .addOption(
      new Option("--dependency-policy <policy>", "spec.dependencies.policy instead of what the extension says").choices([
        "Require",
        "Install",
        "Ignore",
      ]),
    )
    .option(
      "--installed-package <name=version>",
      "package that counts as installed when no cluster is asked, as the given catalogs have it; repeatable",
      collect,
      [],
    );
  addClusterOptions(command).option(
    "--cluster-version <version>",
    "version of the OpenShift cluster, such as 4.18.9; default: what its ClusterVersion says",
  );
  return outputOption(addRegistryOptions(command), ["text", "json", "yaml"]);
}
