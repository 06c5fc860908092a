import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { isSameVersion, parseVersion } from "../version/version.ts";
import { listServingDeployments } from "./apiServices.ts";
import { type BundleRequirements, readRequirements } from "./requirements.ts";
import type { DeclaredDependencies, LegacyCrd, RegistryV1Bundle } from "./types.ts";
import { listSupportedInstallModes } from "./validate.ts";

/** The parts of a bundle that determine whether and how it is installed, without manifests. */
export interface BundleSummary {
  /** From `metadata/annotations.yaml`; empty if not set. */
  readonly packageName: string;
  /** Name of the ClusterServiceVersion; empty if not set. */
  readonly name: string;
  /** `spec.version` of the ClusterServiceVersion, parsed as in Go. */
  readonly version: string;
  /** Unparsed `spec.version`; empty if not set. */
  readonly statedVersion: string;
  /** Annotations of the ClusterServiceVersion. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Supported install modes, including unknown ones. */
  readonly installModes: readonly string[];
  readonly cautions: readonly string[];
  readonly dependencies: DeclaredDependencies;
  readonly legacyCrds: readonly LegacyCrd[];
  /** Undefined if the bundle has no requirements. */
  readonly requirements: BundleRequirements | undefined;
  /** Whether the operator serves webhooks or APIs. */
  readonly needsCertificates: boolean;
}

/** Returns the summary of a loaded bundle. Its size does not depend on the manifests. */
export function summarizeBundle(bundle: RegistryV1Bundle): BundleSummary {
  const { packageName, csv, statedVersion, cautions, dependencies, legacyCrds } = bundle;
  return {
    packageName,
    name: csv.metadata.name ?? "",
    version: csv.spec.version,
    statedVersion,
    annotations: csv.metadata.annotations ?? {},
    installModes: [...listSupportedInstallModes(csv)],
    cautions,
    dependencies,
    legacyCrds,
    requirements: readRequirements(bundle),
    needsCertificates: listServingDeployments(csv).size > 0,
  };
}

/** The property `olm.package` of a bundle in a catalog. */
export interface CatalogEntry {
  packageName: string;
  version: string;
}

/**
 * Returns a sentence for each flaw that does not prevent the installation of a bundle. The Go implementation does not check for flaws. In order:
 * skipped parts, a ClusterServiceVersion without name or valid version, and differences from the catalog.
 * @see registry+v1: `metadata.name`, `spec.version` and `olm.package` of a bundle
 */
export function findBundleFlaws(bundle: BundleSummary, entry?: CatalogEntry): string[] {
  const { name, version, packageName, statedVersion, cautions } = bundle;
  const flaws = [...cautions];
  if (name === "") flaws.push("its ClusterServiceVersion has no metadata.name");
  if (statedVersion === "") flaws.push("its ClusterServiceVersion has no spec.version");
  else if (improper(statedVersion) !== undefined)
    flaws.push(
      `spec.version ${quoted(statedVersion)} of its ClusterServiceVersion is not a semantic version (${improper(statedVersion)}) and is interpreted as ${truncateExcerpt(version)}`,
    );
  if (!entry) return flaws;
  if (packageName !== "" && packageName !== entry.packageName)
    flaws.push(`its metadata/annotations.yaml has package ${quoted(packageName)}, but the catalog has ${quoted(entry.packageName)}`);
  if (statedVersion !== "" && !isSameVersion({ version }, { version: entry.version }))
    flaws.push(`its ClusterServiceVersion has version ${quoted(version)}, but the catalog has ${quoted(entry.version)}`);
  return flaws;
}

/** Returns why a text is not a semantic version; undefined if it is. */
function improper(version: string): string | undefined {
  try {
    parseVersion(version);
    return undefined;
  } catch (err) {
    return truncateExcerpt(getErrorMessage(err));
  }
}

function quoted(text: string): string {
  return goQuote(truncateExcerpt(text));
}
