import type { CatalogSource, ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import { formatDay } from "../fbc/lifecycleDocument.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { parseClusterVersion, tryReadClusterVersion } from "../operatorcontroller/openshift/clusterVersion.ts";
import { listCandidates, parseBundleVersion } from "../resolve/candidates.ts";
import type { CatalogPackage } from "../resolve/resolution.ts";
import type { BundleMetadata } from "../resolve/successors.ts";
import { findCandidates } from "../resolve/whyNot.ts";
import { buildExtensionRef, readExtension } from "../rollout/extensions.ts";
import { WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { compareText } from "../text/compare.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { formatVersionRelease } from "../version/version.ts";
import { type Sources, selectCatalogContents } from "./catalogSelection.ts";
import { type DependencyPolicy, readInstallContext } from "./installContext.ts";
import type { ResolutionSubject } from "./resolveWithDependencies.ts";

/** The subject of a resolution by name: an extension, a package, or a word that can be either. */
export interface Named {
  readonly extension?: string | undefined;
  readonly package?: string | undefined;
  readonly either?: string | undefined;
}

/** What to resolve instead of the current state: each member replaces a field of the extension or a fact about the cluster. */
export interface ResolutionOverrides {
  /** Channels instead of spec.source.catalog.channels; empty keeps those of the extension. */
  readonly channel?: readonly string[];
  /** Version range instead of spec.source.catalog.version. */
  readonly version?: string | undefined;
  readonly upgradeConstraintPolicy?: CatalogSource["upgradeConstraintPolicy"] | undefined;
  readonly clusterVersionPolicy?: CatalogSource["clusterVersionPolicy"] | undefined;
  readonly supportPolicy?: CatalogSource["supportPolicy"] | undefined;
  readonly dependencyPolicy?: DependencyPolicy | undefined;
  /** Installed version or bundle, or `none`; default: from the status of the extension. */
  readonly installed?: string | undefined;
  /** OpenShift version; default: the version of the cluster. */
  readonly clusterVersion?: string | undefined;
  /** Names of the catalogs to use; empty for all. */
  readonly catalog?: readonly string[];
  /** Catalog folders, in the form `[NAME=]PATH`, instead of the cluster's catalogs. */
  readonly catalogDir?: readonly string[];
  /** Packages to treat as installed without a cluster, in the form NAME=VERSION. */
  readonly installedPackage?: readonly string[];
}

/**
 * Returns the named extension; undefined if only a package is named, or without a cluster. A word that can be either names the extension if it exists
 * and the user may read it.
 * @throws Error that suggests a similar name if an extension is named that does not exist
 */
export async function findNamedExtension(named: Named, client: Client | undefined): Promise<ClusterExtension | undefined> {
  if (named.extension !== undefined) return client && readExtension(client, named.extension);
  if (named.either === undefined) return undefined;
  try {
    return await client?.get<ClusterExtension>(buildExtensionRef(named.either));
  } catch (err) {
    if (isForbidden(err)) return undefined; // resolving a package needs no permission for extensions
    throw err;
  }
}

/** Returns an extension with the status of the extension with its name on the cluster, if there is one. */
export async function addCurrentStatus(given: ClusterExtension, client: Client | undefined): Promise<ClusterExtension> {
  const existing = await client?.get<ClusterExtension>(buildExtensionRef(given.metadata.name));
  return existing?.status ? { ...given, status: existing.status } : given;
}

/**
 * Returns the resolution request for an extension or a package, and reads what the overrides omit from the cluster. Writes nothing.
 * @param extension the existing, changed or new extension; undefined to resolve the named package
 * @throws Error that describes what cannot be found or read
 */
export async function readResolutionSubject(
  named: Named,
  extension: ClusterExtension | undefined,
  overrides: ResolutionOverrides,
  sources: Sources,
): Promise<ResolutionSubject> {
  const packageName = extension?.spec.source.catalog?.packageName ?? named.package ?? named.either;
  if (packageName === undefined) throw new Error("specify a package, or an extension with spec.source.catalog");
  if (named.package !== undefined && packageName !== named.package)
    throw new Error(`the extension installs package ${goQuote(packageName)}, not ${goQuote(named.package)}`);
  const { catalog = [], catalogDir = [], installedPackage = [], dependencyPolicy } = overrides;
  const source = sourceFrom(packageName, extension, overrides);
  const { catalogs, contents, others, invalidSelector } = await selectCatalogContents(source, { catalog, catalogDir }, sources);
  const request = {
    source,
    catalogs: contents.toSorted((a, b) => compareText(a.name, b.name)),
    installed: installedBundle(packageName, contents, extension, overrides),
    ...(overrides.installed === undefined ? { installedFrom: extension?.status?.install?.catalog } : {}),
    cluster: await readCluster(overrides, sources.client),
    today: formatDay(Date.now()),
  };
  const whole = new WholeCatalogs(sources.reader);
  const requested = buildExtension(source, extension, overrides);
  const among = { extension: requested, installed: request.installed, catalogs, whole, signal: sources.signal };
  const options = { installedPackage, dependencyPolicy };
  return {
    request,
    ...(invalidSelector ? { invalidSelector } : {}),
    subject: extension ? `ClusterExtension ${extension.metadata.name}` : `package ${packageName}`,
    extension: requested,
    catalogs,
    others,
    whole,
    readContext: (constraints) => readInstallContext({ ...among, constraints, client: sources.client, options }),
    search: sources.search,
    signal: sources.signal,
  };
}

function buildExtension(
  source: CatalogSource,
  extension: ClusterExtension | undefined,
  { dependencyPolicy }: ResolutionOverrides,
): ClusterExtension {
  const spec = { namespace: "", ...extension?.spec, source: { sourceType: "Catalog" as const, catalog: source } };
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name: "" },
    ...extension,
    spec: dependencyPolicy === undefined ? spec : { ...spec, dependencies: { ...spec.dependencies, policy: dependencyPolicy } },
  };
}

function sourceFrom(packageName: string, extension: ClusterExtension | undefined, overrides: ResolutionOverrides): CatalogSource {
  const { channel = [], version, upgradeConstraintPolicy, clusterVersionPolicy, supportPolicy, catalogDir = [] } = overrides;
  const source: CatalogSource = { ...extension?.spec.source.catalog, packageName };
  if (catalogDir.length > 0) delete source.selector; // it selects ClusterCatalogs
  return {
    ...source,
    ...(channel.length > 0 ? { channels: [...channel] } : {}),
    ...(version === undefined ? {} : { version }),
    ...(upgradeConstraintPolicy === undefined ? {} : { upgradeConstraintPolicy }),
    ...(clusterVersionPolicy === undefined ? {} : { clusterVersionPolicy }),
    ...(supportPolicy === undefined ? {} : { supportPolicy }),
  };
}

/** Returns the installed bundle: from the overrides, else from the status of the extension. */
function installedBundle(
  packageName: string,
  catalogs: readonly CatalogPackage[],
  extension: ClusterExtension | undefined,
  { installed }: ResolutionOverrides,
): BundleMetadata | undefined {
  if (installed === "none") return undefined;
  if (installed === undefined) return extension?.status?.install?.bundle;
  for (const { content } of catalogs) {
    const [found] = content ? findCandidates(listCandidates(content, new Set()), installed) : [];
    if (found) return { name: found.bundle.name, version: formatVersionRelease(parseBundleVersion(found.bundle)) };
  }
  return { name: `${packageName}.v${installed}`, version: installed };
}

async function readCluster({ clusterVersion }: ResolutionOverrides, client: Client | undefined): Promise<ClusterVersion> {
  return clusterVersion === undefined ? tryReadClusterVersion(client) : parseClusterVersion(clusterVersion);
}
