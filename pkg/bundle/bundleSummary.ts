import { servingDeployments } from "./apiServices.ts";
import { type BundleRequirements, requirementsOf } from "./requirements.ts";
import type { DeclaredDependencies, LegacyCrd, RegistryV1Bundle } from "./types.ts";

/** What decides whether and how a bundle is installed: everything but its manifests. */
export interface BundleSummary {
  /** From `metadata/annotations.yaml`; empty when it is not stated. */
  readonly packageName: string;
  /** Of the ClusterServiceVersion; empty when it has none. */
  readonly name: string;
  /** `spec.version` of the ClusterServiceVersion as Go reads it. */
  readonly version: string;
  /** The same as it is written; empty when it is not stated. */
  readonly statedVersion: string;
  /** Of the ClusterServiceVersion. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly cautions: readonly string[];
  readonly dependencies: DeclaredDependencies;
  readonly legacyCrds: readonly LegacyCrd[];
  /** Absent when the bundle requires nothing of the cluster. */
  readonly requirements: BundleRequirements | undefined;
  /** Whether it serves webhooks or APIs. */
  readonly needsCertificates: boolean;
}

/** Returns the summary of a loaded bundle. Small, whatever the size of the manifests. */
export function summarizeBundle(bundle: RegistryV1Bundle): BundleSummary {
  const { packageName, csv, statedVersion, cautions, dependencies, legacyCrds } = bundle;
  return {
    packageName,
    name: csv.metadata.name ?? "",
    version: csv.spec.version,
    statedVersion,
    annotations: csv.metadata.annotations ?? {},
    cautions,
    dependencies,
    legacyCrds,
    requirements: requirementsOf(bundle),
    needsCertificates: servingDeployments(csv).size > 0,
  };
}
