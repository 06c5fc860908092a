import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension, ClusterExtensionSpec } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { getServedContent } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { type ClusterApi, ClusterApis } from "../operatorcontroller/dependencies/clusterApis.ts";
import type { ConstraintCache } from "../operatorcontroller/dependencies/constraintCache.ts";
import { DependencyPlans } from "../operatorcontroller/dependencies/dependencyPlans.ts";
import { InstallContextReader } from "../operatorcontroller/dependencies/installContext.ts";
import type { InstalledProvider } from "../operatorcontroller/releases/installedReleases.ts";
import { mergeProvidedApis } from "../release/providedBundle.ts";
import { listCandidates } from "../resolve/candidates.ts";
import { toProvider } from "../resolve/constraint/parse.ts";
import type { AvailableBundle } from "../resolve/dependencies/bundleIndex.ts";
import type { BundleMetadata } from "../resolve/successors.ts";
import { findCandidates } from "../resolve/whyNot.ts";
import { formatEnumeration } from "../resolve/wording.ts";
import type { WholeCatalog, WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { createLogger } from "../telemetry/log.ts";

/** The policy for a bundle with dependencies. */
export type DependencyPolicy = NonNullable<NonNullable<ClusterExtensionSpec["dependencies"]>["policy"]>;

/** A bundle that is treated as installed. */
interface LookedUpBundle {
  readonly bundle: InstalledProvider;
  /** Whether a catalog contains the bundle, with its dependencies and APIs. */
  readonly isOffered: boolean;
}

/** Sources for looking up bundles. */
interface LookupSources {
  readonly extension: ClusterExtension;
  readonly installed: BundleMetadata | undefined;
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
}

/** Looks up installed bundles in catalogs. */
class InstalledLookup {
  readonly #sources: LookupSources;

  constructor(sources: LookupSources) {
    this.#sources = sources;
  }

  /** Returns the installed bundle of an extension according to its status; undefined if no bundle is installed. */
  async installedBy({ metadata, spec, status }: ClusterExtension): Promise<LookedUpBundle | undefined> {
    const packageName = spec?.source.catalog?.packageName;
    const installed = status?.install?.bundle;
    if (packageName === undefined || !installed) return undefined;
    return this.#lookUp(metadata.name, packageName, installed, status?.providedAPIs);
  }

  /** Returns the installed bundle of the requested extension. */
  async own(): Promise<LookedUpBundle | undefined> {
    const { extension, installed } = this.#sources;
    if (!installed) return undefined;
    const { metadata, spec, status } = extension;
    const apis = status?.install?.bundle.name === installed.name ? status.providedAPIs : undefined;
    return this.#lookUp(metadata.name, spec.source.catalog?.packageName ?? "", installed, apis);
  }

  /**
   * Returns the bundle for "NAME=VERSION" as the installed bundle of an extension with the name of the package.
   * @throws Error if no catalog contains the bundle
   */
  async stated(given: string): Promise<LookedUpBundle> {
    const at = given.indexOf("=");
    const [packageName, version] = [given.slice(0, at), given.slice(at + 1)];
    if (at < 1 || version === "") throw new Error(`--installed-package ${goQuote(given)} must be in the form NAME=VERSION`);
    for (const catalog of await this.#catalogs()) {
      const [found] = findCandidates(listCandidates(catalog.packageContent(packageName), new Set()), version);
      if (found) return { bundle: { ...toProvider(found.bundle), name: found.bundle.name, extension: packageName }, isOffered: true };
    }
    throw new Error(`--installed-package: no catalog has version ${goQuote(version)} of package ${goQuote(packageName)}`);
  }

  async #lookUp(
    extension: string,
    packageName: string,
    { name, version, release }: BundleMetadata,
    provided: NonNullable<ClusterExtension["status"]>["providedAPIs"] = [],
  ): Promise<LookedUpBundle> {
    const offered = await this.#offered(packageName, name);
    const identity = { type: "olm.package", value: { packageName, version, ...(release === undefined ? {} : { release }) } };
    const bundle = offered ?? { package: packageName, name, properties: [identity] };
    const stated = toProvider({ ...bundle, properties: [...bundle.properties] });
    const served = provided.flatMap(({ group, kind, versions }) => versions.map((of) => ({ group, version: of, kind })));
    return { bundle: { ...stated, name, extension, apis: mergeProvidedApis(served, stated.apis) }, isOffered: offered !== undefined };
  }

  async #offered(packageName: string, name: string): Promise<AvailableBundle | undefined> {
    const found = (await this.#catalogs()).map(({ index }) => index.bundlesOf(packageName).find((bundle) => bundle.name === name));
    return found.find((bundle) => bundle !== undefined);
  }

  /** Returns the available catalogs, in order. */
  async #catalogs(): Promise<WholeCatalog[]> {
    const { catalogs, whole } = this.#sources;
    const read = await Promise.all(
      catalogs.map(async (catalog) => {
        const state = getServedContent(catalog);
        return typeof state === "string" ? undefined : whole.of(state.ref, state.base).catch(() => undefined); // the resolution reports invalid content
      }),
    );
    return read.flatMap((one) => one ?? []);
  }
}

/** The install context, with the parts that are known. */
export interface KnownInstallContext {
  /** The context of an empty cluster if `unknown` is set. */
  readonly installContext: InstallContextReader;
  /** The plans in progress. */
  readonly plans: DependencyPlans;
  /** The extensions of the cluster, with the requested one. */
  readonly extensions: { list(): readonly ClusterExtension[] };
  /** Why dependencies cannot be checked; absent if they can. */
  readonly unknown?: string;
  /** Missing parts of the context, one sentence each. */
  readonly gaps: readonly string[];
}

/** The sources of an install context. */
export interface InstallContextSources {
  /** The requested extension. */
  readonly extension: ClusterExtension;
  /** The installed bundle of the requested extension. */
  readonly installed: BundleMetadata | undefined;
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
  readonly constraints: ConstraintCache;
  /** Undefined if no cluster is used. */
  readonly client: Client | undefined;
  readonly options: { readonly installedPackage: readonly string[]; readonly dependencyPolicy?: DependencyPolicy | undefined };
  readonly signal: AbortSignal;
}

/** The state of the cluster. */
interface ClusterContents {
  readonly extensions: readonly ClusterExtension[];
  readonly found: readonly LookedUpBundle[];
  readonly served: readonly ClusterApi[];
}

const NOTHING: ClusterContents = { extensions: [], found: [], served: [] };
const NOT_SAID = "no cluster is used, and --installed-package does not list the installed packages";
const NOT_READ = "the installed bundles and served APIs cannot be read";

/**
 * Reads the install context of an extension: the installed bundles from the status of the cluster's ClusterExtensions, the dependencies and APIs of
 * these bundles from the catalogs, and the APIs that the API server serves. Without a cluster, uses the packages in --installed-package.
 * @throws Error if no catalog contains a package version in --installed-package
 */
export async function readInstallContext(sources: InstallContextSources): Promise<KnownInstallContext> {
  const { client, options } = sources;
  if (client) return onCluster(sources, client);
  if (options.installedPackage.length === 0 && options.dependencyPolicy === undefined)
    return { ...made(sources, NOTHING), unknown: NOT_SAID, gaps: [] };
  const lookup = new InstalledLookup(sources);
  const found = await Promise.all(options.installedPackage.map((given) => lookup.stated(given)));
  return known(sources, { ...NOTHING, found });
}

async function onCluster(sources: InstallContextSources, client: Client): Promise<KnownInstallContext> {
  const { extension, signal } = sources;
  let extensions: ClusterExtension[];
  try {
    extensions = (await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal })).items;
  } catch (err) {
    return unread(sources, `dependencies, because the installed bundles of other extensions cannot be read: ${getErrorMessage(err)}`);
  }
  let served: readonly ClusterApi[];
  try {
    served = await readServedApis(client, extensions);
  } catch (err) {
    return unread(sources, `dependencies, because the APIs of the cluster cannot be read: ${getErrorMessage(err)}`);
  }
  const lookup = new InstalledLookup(sources);
  const others = extensions.filter(({ metadata }) => metadata.name !== extension.metadata.name);
  const found = await Promise.all(others.map((other) => lookup.installedBy(other)));
  return known(sources, { extensions, found: found.flatMap((one) => one ?? []), served });
}

/** Returns the served APIs. Their owners are only known if the user may read CustomResourceDefinitions and APIServices. */
async function readServedApis(client: Client, extensions: readonly ClusterExtension[]): Promise<readonly ClusterApi[]> {
  const byName = new Map(extensions.map((extension) => [extension.metadata.name, extension]));
  const log = createLogger({ component: "olmv1", level: "silent", destination: process.stderr });
  const apis = new ClusterApis({ client, extensions: { get: (name) => byName.get(name), onEvent: () => undefined }, log });
  const stop = new AbortController();
  const running = apis.run(stop.signal);
  try {
    return await apis.served();
  } finally {
    stop.abort();
    await running;
  }
}

async function known(sources: InstallContextSources, there: ClusterContents): Promise<KnownInstallContext> {
  const missing = there.found.filter(({ isOffered }) => !isOffered).map(({ bundle }) => bundle);
  const named = missing.map(({ extension, name }) => `${goQuote(extension)} (bundle ${goQuote(name)})`);
  return {
    ...made(sources, there, await new InstalledLookup(sources).own()),
    gaps: named.length > 0 ? [`dependencies of ClusterExtensions whose bundle no catalog contains: ${formatEnumeration(named)}`] : [],
  };
}

function unread(sources: InstallContextSources, reason: string): KnownInstallContext {
  return { ...made(sources, NOTHING), unknown: NOT_READ, gaps: [reason] };
}

function made(
  { extension, constraints }: InstallContextSources,
  { extensions, found, served }: ClusterContents,
  own?: LookedUpBundle,
): Pick<KnownInstallContext, "installContext" | "plans" | "extensions"> {
  const all = new Map([...extensions, extension].map((one) => [one.metadata.name, one]));
  const bundles = [...(own ? [own] : []), ...found].map(({ bundle }) => bundle);
  const installed = { list: () => bundles, unread: () => [] };
  const byName = { list: () => [...all.values()], get: (name: string) => all.get(name) };
  const installContext = new InstallContextReader({
    installed,
    apis: { served: () => Promise.resolve(served) },
    constraints,
    extensions: byName,
    memory: { isUninstalling: (name) => all.get(name)?.metadata.deletionTimestamp !== undefined },
  });
  const plans = new DependencyPlans({ extensions: byName, installed, enqueue: () => undefined });
  for (const one of all.values()) plans.load(one);
  return { installContext, plans, extensions: byName };
}
