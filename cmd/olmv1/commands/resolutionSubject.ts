import type { CatalogSource, ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import { parseClusterVersion, readClusterVersion } from "../../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { type Sources, selectCatalogContents } from "../../../pkg/preview/catalogSelection.ts";
import { readInstallContext } from "../../../pkg/preview/installContext.ts";
import type { ResolutionSubject } from "../../../pkg/preview/resolveWithDependencies.ts";
import { listCandidates, parseBundleVersion } from "../../../pkg/resolve/candidates.ts";
import type { CatalogPackage } from "../../../pkg/resolve/resolution.ts";
import type { BundleMetadata } from "../../../pkg/resolve/successors.ts";
import { findCandidates } from "../../../pkg/resolve/whyNot.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { withReader } from "../../../pkg/sources/bundleReader.ts";
import { WholeCatalogs } from "../../../pkg/sources/wholeCatalogs.ts";
import { compareText } from "../../../pkg/text/compare.ts";
import type { ClusterVersion } from "../../../pkg/version/clusterVersion.ts";
import { formatVersionRelease } from "../../../pkg/version/version.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { withCluster } from "../cli/cluster.ts";
import { readExtensionFile } from "../cli/inputFiles.ts";
import type { Terminal } from "../cli/terminal.ts";

/** The names in the arguments: an extension, a package, or a word that can be either. */
export interface Named {
  readonly extension?: string | undefined;
  readonly package?: string | undefined;
  readonly either?: string | undefined;
}

/** The sources of catalogs and extensions. */
interface RequestSources extends Sources {
  readonly terminal: Pick<Terminal, "stdin">;
}

/** Maximum time for all pulls and requests together, in milliseconds. */
const TIMEOUT_MS = 15 * 60_000;

/**
 * Calls `answer` with the resolution request from arguments and options. Settings that the options omit are read from the cluster.
 * @throws Error that describes what cannot be found or read.
 */
export async function withResolutionSubject<T>(
  terminal: Pick<Terminal, "stdin">,
  named: Named,
  options: ResolutionOptions,
  answer: (question: ResolutionSubject) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const isOffline = options.catalogDir.length > 0 && named.extension === undefined;
  return withReader(options, async (reader) => {
    if (isOffline) return answer(await question(named, options, { terminal, client: undefined, reader, signal }));
    if (options.installedPackage.length > 0)
      throw new Error("--installed-package requires --catalog-dir, and cannot be used with an extension on the cluster");
    return withCluster(options, async (client) => answer(await question(named, options, { terminal, client, reader, signal })));
  });
}

async function question(named: Named, options: ResolutionOptions, sources: RequestSources): Promise<ResolutionSubject> {
  const extension = await readExtensionFor(named, options, sources);
  const packageName = extension?.spec.source.catalog?.packageName ?? named.package ?? named.either;
  if (packageName === undefined) throw new Error("specify a package, or an extension with spec.source.catalog");
  if (named.package !== undefined && packageName !== named.package)
    throw new Error(`the extension installs package ${goQuote(packageName)}, not ${goQuote(named.package)}`);
  const source = sourceFrom(packageName, extension, options);
  const { catalogs, contents, others, invalidSelector } = await selectCatalogContents(source, options, sources);
  const request = {
    source,
    catalogs: contents.toSorted((a, b) => compareText(a.name, b.name)),
    installed: installedBundle(packageName, contents, extension, options),
    ...(options.installed === undefined ? { installedFrom: extension?.status?.install?.catalog } : {}),
    cluster: await readCluster(options, sources.client),
  };
  const whole = new WholeCatalogs(sources.reader);
  const requested = buildExtension(source, extension, options);
  const among = { extension: requested, installed: request.installed, catalogs, whole, signal: sources.signal };
  return {
    request,
    ...(invalidSelector ? { invalidSelector } : {}),
    subject: extension ? `ClusterExtension ${extension.metadata.name}` : `package ${packageName}`,
    extension: requested,
    catalogs,
    others,
    whole,
    readContext: (constraints) => readInstallContext({ ...among, constraints, client: sources.client, options }),
    signal: sources.signal,
  };
}

function buildExtension(
  source: CatalogSource,
  extension: ClusterExtension | undefined,
  { dependencyPolicy }: ResolutionOptions,
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

async function readExtensionFor(
  named: Named,
  options: ResolutionOptions,
  { client, terminal }: RequestSources,
): Promise<ClusterExtension | undefined> {
  if (options.filename !== undefined) {
    const given = await readExtensionFile(options.filename, terminal);
    const existing = await read(given.metadata.name, client);
    return existing?.status ? { ...given, status: existing.status } : given;
  }
  if (named.extension !== undefined) return client && readExtension(client, named.extension);
  if (named.either === undefined) return undefined;
  try {
    return await read(named.either, client);
  } catch (err) {
    if (isForbidden(err)) return undefined; // resolving a package needs no permission for extensions
    throw err;
  }
}

async function read(name: string, client: Client | undefined): Promise<ClusterExtension | undefined> {
  return client?.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
}

function sourceFrom(packageName: string, extension: ClusterExtension | undefined, options: ResolutionOptions): CatalogSource {
  const { channel, version, upgradeConstraintPolicy, clusterVersionPolicy, catalogDir } = options;
  const source: CatalogSource = { ...extension?.spec.source.catalog, packageName };
  if (catalogDir.length > 0) delete source.selector; // it selects ClusterCatalogs
  return {
    ...source,
    ...(channel.length > 0 ? { channels: channel } : {}),
    ...(version === undefined ? {} : { version }),
    ...(upgradeConstraintPolicy === undefined ? {} : { upgradeConstraintPolicy }),
    ...(clusterVersionPolicy === undefined ? {} : { clusterVersionPolicy }),
  };
}

/** Returns the installed bundle: from the options, else from the status of the extension. */
function installedBundle(
  packageName: string,
  catalogs: readonly CatalogPackage[],
  extension: ClusterExtension | undefined,
  { installed }: ResolutionOptions,
): BundleMetadata | undefined {
  if (installed === "none") return undefined;
  if (installed === undefined) return extension?.status?.install?.bundle;
  for (const { content } of catalogs) {
    const [found] = content ? findCandidates(listCandidates(content, new Set()), installed) : [];
    if (found) return { name: found.bundle.name, version: formatVersionRelease(parseBundleVersion(found.bundle)) };
  }
  return { name: `${packageName}.v${installed}`, version: installed };
}

async function readCluster({ clusterVersion }: ResolutionOptions, client: Client | undefined): Promise<ClusterVersion> {
  if (clusterVersion !== undefined) return parseClusterVersion(clusterVersion);
  if (!client) return { kind: "none" };
  try {
    return await readClusterVersion(client);
  } catch (err) {
    return { kind: "unknown", reason: getErrorMessage(err) };
  }
}
