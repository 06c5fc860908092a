import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, RECONCILE_REQUEST_MAX } from "../../api/constants.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { isSameVersion } from "../../version/version.ts";
import { getReleases, hasBundle, type Phase, type SourcedConfig } from "./phases.ts";

/**
 * Reports whether an extension has a spec. Older CustomResourceDefinitions accept extensions without one, although the
 * type requires it.
 */
export function hasSpec(extension: { readonly spec?: unknown }): boolean {
  return extension.spec !== undefined && extension.spec !== null;
}

/** Inputs for the configuration: the spec, and the sources after they were read. */
export interface ConfigInputs {
  readonly extension: Readonly<ClusterExtension>;
  readonly sourcedConfig?: SourcedConfig;
}

/** Returns the configuration of the extension: `spec.config.inline` merged over its sources. */
export function getConfiguration({ extension, sourcedConfig }: ConfigInputs): JsonObject | undefined {
  return sourcedConfig?.config ?? extension.spec.config?.inline;
}

/**
 * Returns the value of the reconcile request annotation, which the status reports afterwards; undefined without a
 * request.
 */
export function readReconcileRequest({ metadata }: Readonly<ClusterExtension>): string | undefined {
  return metadata.annotations?.[ANNOTATION_RECONCILE_REQUESTED_AT]?.slice(0, RECONCILE_REQUEST_MAX);
}

/**
 * Returns the catalog that the installed bundle was resolved from, according to this reconcile or else to the status.
 * Undefined if nothing is installed or the catalog is unknown.
 */
export function findInstalledCatalog(phase: Phase): string | undefined {
  const { status } = phase.extension;
  const { installed } = getReleases(phase);
  if (!installed) return undefined;
  const isSame = (one: Pick<InstalledBundle, "name" | "version">): boolean => one.name === installed.name && isSameVersion(one, installed);
  if (hasBundle(phase) && phase.bundle.catalog !== undefined && isSame(phase.bundle)) return phase.bundle.catalog;
  return status?.install && isSame(status.install.bundle) ? status.install.catalog : undefined;
}
