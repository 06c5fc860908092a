import { type Command, Option } from "commander";
import type { CatalogSource } from "../../../pkg/api/clusterExtension.ts";
import type { DependencyPolicy } from "../../../pkg/preview/installContext.ts";
import type { CatalogChoice } from "../../../pkg/sources/catalogNames.ts";
import { addClusterOptions, addOptionGroup, addRegistryOptions, type ClusterOptions, createRepeatableOption } from "./options.ts";
import { addOutputOption, type Output } from "./output.ts";

/** Options that select the catalogs of a command and configure how it reads them. */
export interface CatalogReadOptions extends ClusterOptions, CatalogChoice {
  /** False with --no-cache. */
  cache: boolean;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Help for commands with `addSourceOptions`: where catalogs are read from. */
export const SOURCES_HELP = `
Without --catalog-dir and --catalog-image, the command lists the ClusterCatalogs and uses your registry
credentials to pull the images of served catalogs. With either option, it needs no cluster.
Catalogs are cached by digest in $XDG_CACHE_HOME/olmv1/catalogs or ~/.cache/olmv1/catalogs, up to 2 GiB.
`;

/** Adds the options of CatalogReadOptions. */
export function addSourceOptions(command: Command): Command {
  addOptionGroup(command, "catalogs", [
    createRepeatableOption("--catalog <name>", "name of a catalog to read; repeatable (default: all catalogs)"),
    createRepeatableOption(
      "--catalog-dir <[name=]path>",
      "catalog folder, file or OCI layout, instead of the cluster's catalogs; repeatable",
    ),
    createRepeatableOption(
      "--catalog-image <[name=]ref>",
      "catalog image, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], instead of the cluster's catalogs; repeatable",
    ),
    new Option("--no-cache", "do not read or write the catalog cache"),
  ]);
  return addRegistryOptions(addClusterOptions(command));
}

/** The input of a resolution. */
export interface ResolutionOptions extends ClusterOptions {
  filename?: string;
  channel: string[];
  version?: string;
  catalog: string[];
  catalogDir: string[];
  installed?: string;
  upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  clusterVersionPolicy?: NonNullable<CatalogSource["clusterVersionPolicy"]>;
  supportPolicy?: NonNullable<CatalogSource["supportPolicy"]>;
  clusterVersion?: string;
  dependencyPolicy?: DependencyPolicy;
  installedPackage: string[];
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
  output: Output;
}

/** Help for commands with `addResolutionOptions`: where catalogs are read from, and required permissions. */
export const RESOLUTION_SOURCES_HELP = `
Without --catalog-dir, the command pulls the images of the selected ClusterCatalogs with your
registry credentials. With --catalog-dir, it needs a cluster only if you name an extension.
Required permissions: list ClusterCatalogs and ClusterExtensions; list and watch
CustomResourceDefinitions; get the ClusterExtension and ClusterVersion "version".

Checks dependencies as operator-controller does. Without a cluster, a missing dependency does not
exclude a bundle: the command only lists the dependency and a bundle that provides it. To check
dependencies without a cluster, use --installed-package or --dependency-policy: only the packages in
--installed-package then count as installed.
`;

/** Adds the options of ResolutionOptions. */
export function addResolutionOptions(command: Command): Command {
  addOptionGroup(command, "resolution", [
    new Option("-f, --filename <path>", "file with the new or changed ClusterExtension, or - for standard input"),
    createRepeatableOption("--channel <name>", "channel to use instead of spec.source.catalog.channels; repeatable"),
    new Option("--version <range>", "version range to use instead of spec.source.catalog.version"),
    createRepeatableOption(
      "--catalog <name>",
      "name of a ClusterCatalog, or of a catalog in --catalog-dir; repeatable (default: all catalogs)",
    ),
    createRepeatableOption(
      "--catalog-dir <[name=]path>",
      "catalog folder, file, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG], instead of the cluster's catalogs; repeatable (default name: name of the folder)",
    ),
    new Option("--installed <version>", "installed version or bundle, or none (default: from the extension status)"),
    new Option("--upgrade-constraint-policy <policy>", "overrides spec.source.catalog.upgradeConstraintPolicy").choices([
      "CatalogProvided",
      "SelfCertified",
    ]),
    new Option("--cluster-version-policy <policy>", "overrides spec.source.catalog.clusterVersionPolicy").choices(["Warn", "Enforce"]),
    new Option("--support-policy <policy>", "overrides spec.source.catalog.supportPolicy").choices(["Ignore", "Warn", "Enforce"]),
    new Option("--dependency-policy <policy>", "overrides spec.dependencies.policy").choices(["Require", "Install", "Ignore"]),
    createRepeatableOption("--installed-package <name=version>", "package version in --catalog-dir to treat as installed; repeatable"),
    new Option("--cluster-version <version>", "OpenShift version of the cluster, such as 4.18.9 (default: from its ClusterVersion)"),
  ]);
  return addOutputOption(addRegistryOptions(addClusterOptions(command)), ["text", "json", "yaml"]);
}
