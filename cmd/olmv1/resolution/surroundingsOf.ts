import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { ConstraintCache } from "../../../pkg/operatorcontroller/dependencies/constraintCache.ts";
import { Surroundings } from "../../../pkg/operatorcontroller/dependencies/surroundings.ts";
import { type ClusterApi, ClusterApis } from "../../../pkg/operatorcontroller/served/clusterApis.ts";
import type { InstalledBundle } from "../../../pkg/resolve/successors.ts";
import { enumerated } from "../../../pkg/resolve/wording.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { InstalledLookup, type LookedUp } from "./installedLookup.ts";
import type { ResolutionOptions } from "./options.ts";
import type { WholeCatalogs } from "./wholeCatalogs.ts";

/** What a bundle would be installed among, as far as that is known. */
export interface KnownSurroundings {
  /** As if nothing were there where `unknown` says why that is not known. */
  readonly surroundings: Surroundings;
  /** Why nothing can be judged; absent where it can. */
  readonly unknown?: string;
  /** What is missing in what is known, sentences. */
  readonly gaps: readonly string[];
}

/** What surroundings are made from. */
export interface SurroundingsSources {
  /** The one that is asked about. */
  readonly extension: ClusterExtension;
  /** What counts as installed by it. */
  readonly installed: InstalledBundle | undefined;
  readonly catalogs: readonly ClusterCatalog[];
  readonly whole: WholeCatalogs;
  readonly constraints: ConstraintCache;
  /** Undefined where no cluster is asked. */
  readonly client: Client | undefined;
  readonly options: Pick<ResolutionOptions, "installedPackage" | "dependencyPolicy">;
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
export async function surroundingsOf(sources: SurroundingsSources): Promise<KnownSurroundings> {
  const { client, options } = sources;
  if (client) return onCluster(sources, client);
  if (options.installedPackage.length === 0 && options.dependencyPolicy === undefined)
    return { surroundings: made(sources, NOTHING), unknown: NOT_SAID, gaps: [] };
  const lookup = new InstalledLookup(sources);
  const found = await Promise.all(options.installedPackage.map((given) => lookup.stated(given)));
  return known(sources, { ...NOTHING, found });
}

async function onCluster(sources: SurroundingsSources, client: Client): Promise<KnownSurroundings> {
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

async function known(sources: SurroundingsSources, there: There): Promise<KnownSurroundings> {
  const missing = there.found.filter(({ isOffered }) => !isOffered).map(({ bundle }) => bundle);
  const named = missing.map(({ extension, name }) => `${goQuote(extension)} (bundle ${goQuote(name)})`);
  return {
    surroundings: made(sources, there, await new InstalledLookup(sources).own()),
    gaps:
      named.length > 0
        ? [`what ClusterExtensions depend on whose bundle none of the catalogs that were asked has: ${enumerated(named)}`]
        : [],
  };
}

function unread(sources: SurroundingsSources, because: string): KnownSurroundings {
  return { surroundings: made(sources, NOTHING), unknown: NOT_READ, gaps: [because] };
}

function made({ extension, constraints }: SurroundingsSources, { extensions, found, served }: There, own?: LookedUp): Surroundings {
  const all = new Map([...extensions, extension].map((one) => [one.metadata.name, one]));
  const bundles = [...(own ? [own] : []), ...found].map(({ bundle }) => bundle);
  return new Surroundings({
    installed: { list: () => bundles, unread: () => [] },
    apis: { served: () => Promise.resolve(served) },
    constraints,
    extensions: { get: (name) => all.get(name) },
    memory: { isUninstalling: (name) => all.get(name)?.metadata.deletionTimestamp !== undefined },
  });
}
