import type { WebhookCertProvider } from "../../../../pkg/api/flagValues.ts";
import type { ClusterOptions, ProxyOptions, ReleaseOptions } from "../../cli/options.ts";
import type { Output } from "../../cli/output.ts";

/** Options of all commands of `olmv1 migrate`. */
interface MigrateOptions extends ClusterOptions {
  namespace?: string;
  output: Output;
}

interface MigrateRegistryOptions {
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Options of `olmv1 migrate check`. */
export interface MigrateCheckOptions extends MigrateOptions, MigrateRegistryOptions, ReleaseOptions, ProxyOptions {
  all?: boolean;
  catalogDir: string[];
  webhookCertProvider: WebhookCertProvider;
}

/** Options of `olmv1 migrate convert`. */
export interface MigrateConvertOptions extends MigrateCheckOptions {
  keepGoing?: boolean;
  name?: string;
  serviceAccount?: string;
  /** True if the option has no value. */
  createServiceAccount?: string | true;
  yes?: boolean;
  backup?: string;
  /** Number of conversions at once. */
  parallel: number;
  /** Path of a file, whose extension is the format. */
  report?: string;
  unpin?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Options of `olmv1 migrate catalogs`. */
export interface CatalogsOptions extends MigrateOptions, MigrateRegistryOptions {
  name?: string;
  yes?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Options of `olmv1 migrate rollback`. */
export interface MigrateRollbackOptions extends MigrateOptions {
  all?: boolean;
  keepGoing?: boolean;
  yes?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Options of `olmv1 migrate cleanup`. */
export interface CleanupOptions extends MigrateOptions {
  all?: boolean;
  keepGoing?: boolean;
  yes?: boolean;
  operatorGroup?: boolean;
}
