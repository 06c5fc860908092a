import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { excerpt } from "../text/truncate.ts";
import { isSameVersion, parseVersion } from "../version/version.ts";
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

/** What a catalog says of a bundle in property `olm.package`. */
export interface CatalogEntry {
  packageName: string;
  version: string;
}

/**
 * What is wrong with a bundle that can be installed all the same, as the Go implementation does without a look: what was passed over in reading it,
 * a ClusterServiceVersion without name or proper version, and where it differs from what its catalog says of it. A sentence each, in this order.
 * @see registry+v1: `metadata.name`, `spec.version` and `olm.package` of a bundle
 */
export function bundleFlaws(bundle: BundleSummary, entry?: CatalogEntry): string[] {
  const { name, version, packageName, statedVersion, cautions } = bundle;
  const flaws = [...cautions];
  if (name === "") flaws.push("its ClusterServiceVersion has no metadata.name");
  if (statedVersion === "") flaws.push("its ClusterServiceVersion has no spec.version");
  else if (improper(statedVersion) !== undefined)
    flaws.push(
      `spec.version ${quoted(statedVersion)} of its ClusterServiceVersion is no semantic version (${improper(statedVersion)}), it is read as ${excerpt(version)}`,
    );
  if (!entry) return flaws;
  if (packageName !== "" && packageName !== entry.packageName)
    flaws.push(`its metadata/annotations.yaml names package ${quoted(packageName)}, the catalog says ${quoted(entry.packageName)}`);
  if (statedVersion !== "" && !isSameVersion({ version }, { version: entry.version }))
    flaws.push(`its ClusterServiceVersion has version ${quoted(version)}, the catalog says ${quoted(entry.version)}`);
  return flaws;
}

/** Why a text is no semantic version. */
function improper(version: string): string | undefined {
  try {
    parseVersion(version);
    return undefined;
  } catch (err) {
    return excerpt(messageOf(err));
  }
}

function quoted(text: string): string {
  return goQuote(excerpt(text));
}
