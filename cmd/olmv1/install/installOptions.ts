import type { CatalogSource } from "../../../pkg/api/clusterExtension.ts";
import type { ReleaseOptions } from "../cli/clusterOptions.ts";
import type { Output } from "../cli/output.ts";

/** How long is waited, and whether at all. */
export interface WaitOptions {
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** How registries are reached. */
export interface RegistryOptions {
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** How `olmv1 install` can be asked. */
export interface InstallOptions extends ReleaseOptions, RegistryOptions, WaitOptions {
  name?: string;
  version?: string;
  channel: string[];
  catalog: string[];
  namespace?: string;
  createServiceAccount?: boolean;
  /** False: none, as --no-service-account asks for. */
  serviceAccount?: string | false;
  config?: string;
  watchNamespace: string[];
  approval?: "Automatic" | "Manual";
  upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  yes?: boolean;
  dryRun?: "client" | "server";
  output: Output;
}
