import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension, ClusterExtensionSpec } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { servedFrom } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { type ClusterApi, ClusterApis } from "../operatorcontroller/dependencies/clusterApis.ts";
import type { ConstraintCache } from "../operatorcontroller/dependencies/constraintCache.ts";
import { InstallContextReader } from "../operatorcontroller/dependencies/installContext.ts";
import type { InstalledProvider } from "../operatorcontroller/releases/installedReleases.ts";
import { mergeProvidedApis } from "../release/providedBundle.ts";
import { listCandidates } from "../resolve/candidates.ts";
import { providerFrom } from "../resolve/constraint/parse.ts";
import type { AvailableBundle } from "../resolve/dependencies/bundleIndex.ts";
import type { BundleMetadata } from "../resolve/successors.ts";
import { findCandidates } from "../resolve/whyNot.ts";
import { formatEnumeration } from "../resolve/wording.ts";
import type { WholeCatalog, WholeCatalogs } from "../sources/wholeCatalogs.ts";
import { createLogger } from "../telemetry/log.ts";

/** What happens when a bundle depends on others. */
export type DependencyPolicy = NonNullable<NonNullable<ClusterExtensionSpec["dependencies"]>["policy"]>;

/** A bundle that counts as installed. */
interface LookedUp {
  readonly bundle: InstalledProvider;
  /** Whether a catalog says what it provides and requires. */
  readonly isOffered: boolean;
}

/** Where bundles are looked up. */
interface LookupSources {
  readonly extension: ClusterExtension;
  readonly installed: BundleMetadata | undefined;
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
}

/** Tells what catalogs say about bundles that are installed. */
class InstalledLookup {
  readonly #sources: LookupSources;

  constructor(sources: LookupSources) {
    this.#sources = sources;
  }

  /** What an extension has installed by its status; undefined where that is nothing. */
  async installedBy({ metadata, spec, status }: ClusterExtension): Promise<LookedUp | undefined> {
    const packageName = spec?.source.catalog?.packageName;
    const installed = status?.install?.bundle;
    if (packageName === undefined || !installed) return undefined;
    return this.#lookUp(metadata.name, packageName, installed, status?.providedAPIs);
  }

  /** What counts as installed by the extension that is asked about. */
  async own(): Promise<LookedUp | undefined> {
    const { extension, installed } = this.#sources;
    if (!installed) return undefined;
    const { metadata, spec, status } = extension;
    const apis = status?.install?.bundle.name === installed.name ? status.providedAPIs : undefined;
    return this.#lookUp(metadata.name, spec.source.catalog?.packageName ?? "", installed, apis);
  }

  /** What "NAME=VERSION" says is installed, as an extension called like the package. @throws Error where no catalog has it. */
  async stated(given: string): Promise<LookedUp> {
    const at = given.indexOf("=");
    const [packageName, version] = [given.slice(0, at), given.slice(at + 1)];
    if (at < 1 || version === "") throw new Error(`--installed-package ${goQuote(given)} is not written as NAME=VERSION`);
    for (const catalog of await this.#catalogs()) {
      const [found] = findCandidates(listCandidates(catalog.packageContent(packageName), new Set()), version);
      if (found) return { bundle: { ...providerFrom(found.bundle), name: found.bundle.name, extension: packageName }, isOffered: true };
    }
    throw new Error(`--installed-package: no catalog has version ${goQuote(version)} of package ${goQuote(packageName)}`);
  }

  async #lookUp(
    extension: string,
    packageName: string,
    { name, version, release }: BundleMetadata,
    provided: NonNullable<ClusterExtension["status"]>["providedAPIs"] = [],
  ): Promise<LookedUp> {
    const offered = await this.#offered(packageName, name);
    const identity = { type: "olm.package", value: { packageName, version, ...(release === undefined ? {} : { release }) } };
    const bundle = offered ?? { package: packageName, name, properties: [identity] };
    const stated = providerFrom({ ...bundle, properties: [...bundle.properties] });
    const served = provided.flatMap(({ group, kind, versions }) => versions.map((of) => ({ group, version: of, kind })));
    return { bundle: { ...stated, name, extension, apis: mergeProvidedApis(served, stated.apis) }, isOffered: offered !== undefined };
  }

  async #offered(packageName: string, name: string): Promise<AvailableBundle | undefined> {
    const found = (await this.#catalogs()).map(({ index }) => index.bundlesOf(packageName).find((bundle) => bundle.name === name));
    return found.find((bundle) => bundle !== undefined);
  }

  /** Those that can be asked, in their order. */
  async #catalogs(): Promise<WholeCatalog[]> {
    const { catalogs, whole } = this.#sources;
    const read = await Promise.all(
      catalogs.map(async (catalog) => {
        const state = servedFrom(catalog);
        return typeof state === "string" ? undefined : whole.of(state.ref).catch(() => undefined); // the resolution names it
      }),
    );
    return read.flatMap((one) => one ?? []);
  }
}

/** What a bundle would be installed with, as far as that is known. */
export interface KnownInstallContext {
  /** As if nothing were there where `unknown` says why that is not known. */
  readonly installContext: InstallContextReader;
  /** Why dependencies cannot be checked; absent if they can. */
  readonly unknown?: string;
  /** What is missing in what is known, sentences. */
  readonly gaps: readonly string[];
}

/** The parts that an install context is read from. */
export interface InstallContextSources {
  /** The one that is asked about. */
  readonly extension: ClusterExtension;
  /** What counts as installed by it. */
  readonly installed: BundleMetadata | undefined;
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
  readonly constraints: ConstraintCache;
  /** Undefined where no cluster is asked. */
  readonly client: Client | undefined;
  readonly options: { readonly installedPackage: readonly string[]; readonly dependencyPolicy?: DependencyPolicy | undefined };
  readonly signal: AbortSignal;
}

/** What is there beside. */
interface There {
  readonly extensions: readonly ClusterExtension[];
  readonly found: readonly LookedUp[];
  readonly served: readonly ClusterApi[];
}

const NOTHING: There = { extensions: [], found: [], served: [] };
const NOT_SAID = "no cluster is asked, and --installed-package does not say what is installed";
const NOT_READ = "what is installed and served cannot be read";

/**
 * What the extension's bundle would be installed among: what the cluster's ClusterExtensions have by their status, with what the catalogs say
 * about those bundles, and what the API server serves; without a cluster the packages that options name.
 * @throws Error for an option that names what no catalog has.
 */
export async function readInstallContext(sources: InstallContextSources): Promise<KnownInstallContext> {
  const { client, options } = sources;
  if (client) return onCluster(sources, client);
  if (options.installedPackage.length === 0 && options.dependencyPolicy === undefined)
    return { installContext: made(sources, NOTHING), unknown: NOT_SAID, gaps: [] };
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
    return unread(sources, `what other extensions have installed, and so no dependencies: ${messageOf(err)}`);
  }
  let served: readonly ClusterApi[];
  try {
    served = await servedBy(client, extensions);
  } catch (err) {
    return unread(sources, `what the cluster serves, and so no dependencies: ${messageOf(err)}`);
  }
  const lookup = new InstalledLookup(sources);
  const others = extensions.filter(({ metadata }) => metadata.name !== extension.metadata.name);
  const found = await Promise.all(others.map((other) => lookup.installedBy(other)));
  return known(sources, { extensions, found: found.flatMap((one) => one ?? []), served });
}

/** Whose an API is, is known where definitions may be read. */
async function servedBy(client: Client, extensions: readonly ClusterExtension[]): Promise<readonly ClusterApi[]> {
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

async function known(sources: InstallContextSources, there: There): Promise<KnownInstallContext> {
  const missing = there.found.filter(({ isOffered }) => !isOffered).map(({ bundle }) => bundle);
  const named = missing.map(({ extension, name }) => `${goQuote(extension)} (bundle ${goQuote(name)})`);
  return {
    installContext: made(sources, there, await new InstalledLookup(sources).own()),
    gaps:
      named.length > 0
        ? [`what ClusterExtensions depend on whose bundle none of the catalogs that were asked has: ${formatEnumeration(named)}`]
        : [],
  };
}

function unread(sources: InstallContextSources, because: string): KnownInstallContext {
  return { installContext: made(sources, NOTHING), unknown: NOT_READ, gaps: [because] };
}

function made(
  { extension, constraints }: InstallContextSources,
  { extensions, found, served }: There,
  own?: LookedUp,
): InstallContextReader {
  const all = new Map([...extensions, extension].map((one) => [one.metadata.name, one]));
  const bundles = [...(own ? [own] : []), ...found].map(({ bundle }) => bundle);
  return new InstallContextReader({
    installed: { list: () => bundles, unread: () => [] },
    apis: { served: () => Promise.resolve(served) },
    constraints,
    extensions: { get: (name) => all.get(name) },
    memory: { isUninstalling: (name) => all.get(name)?.metadata.deletionTimestamp !== undefined },
  });
}
