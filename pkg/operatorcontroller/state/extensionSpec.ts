import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, RECONCILE_REQUEST_MAX } from "../../api/constants.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { isSameVersion } from "../../version/version.ts";
import { hasBundle, type Phase, releasesIn, type SourcedConfig } from "./phases.ts";

/** Reports whether an extension has a spec. Older definitions accept extensions without one, although the type says that there is one. */
export function hasSpec(extension: { readonly spec?: unknown }): boolean {
  return extension.spec !== undefined && extension.spec !== null;
}

/** What the configuration of an extension comes from: its spec, and the sources once they are read. */
export interface ConfigInputs {
  readonly extension: Readonly<ClusterExtension>;
  readonly sourcedConfig?: SourcedConfig;
}

/** Returns the configuration of the extension: `spec.config.inline`, merged over its sources if it has any. */
export function configOf({ extension, sourcedConfig }: ConfigInputs): JsonObject | undefined {
  return sourcedConfig?.config ?? extension.spec.config?.inline;
}

/** Returns the value that asks for a comparison of everything, as status reports it once it was handled; undefined without a request. */
export function reconcileRequestOf({ metadata }: Readonly<ClusterExtension>): string | undefined {
  return metadata.annotations?.[ANNOTATION_RECONCILE_REQUESTED_AT]?.slice(0, RECONCILE_REQUEST_MAX);
}

/**
 * Returns the name of the catalog that the installed bundle was resolved from: in this reconcile, or else as status has it. Undefined where nothing
 * is installed or that is not known.
 */
export function findInstalledCatalog(phase: Phase): string | undefined {
  const { status } = phase.extension;
  const { installed } = releasesIn(phase);
  if (!installed) return undefined;
  const isSame = (one: Pick<InstalledBundle, "name" | "version">): boolean => one.name === installed.name && isSameVersion(one, installed);
  if (hasBundle(phase) && phase.bundle.catalog !== undefined && isSame(phase.bundle)) return phase.bundle.catalog;
  return status?.install && isSame(status.install.bundle) ? status.install.catalog : undefined;
}
