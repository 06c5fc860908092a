import { LRUCache } from "lru-cache";
import { type ClusterCapabilities, readClusterCapabilities } from "../../browse/clusterCapabilities.ts";
import { findPackage } from "../../browse/findPackage.ts";
import type { PackageInCatalog } from "../../browse/packageView.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { formatDay } from "../../fbc/lifecycleDocument.ts";
import type { SupportQuery } from "../../fbc/versionSupport.ts";
import { goQuote } from "../../golang/quote.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import { type InstalledExtension, readInstalledExtension } from "../../rollout/extensions.ts";
import type { KeptCatalogs } from "../../sources/keptCatalogs.ts";
import type { OpenCatalogs } from "../../sources/openCatalogs.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { listCurrentCatalogs, listCurrentExtensions } from "../cluster/currentObjects.ts";
import { ConsoleError } from "../http/consoleError.ts";

/** Maximum time of a request, in milliseconds: the first one may pull the catalogs. */
export const CATALOG_TIMEOUT_MS = 120_000;
/** Time that requests share the capabilities of the cluster, in milliseconds. */
const SHARED_MS = 60_000;

/** Runs a task with the catalogs that the caller may read. Catalogs that cannot be read are in `leftOut`. */
export async function withOpenCatalogs<T>(
  kept: KeptCatalogs,
  identity: ClusterIdentity,
  signal: AbortSignal,
  task: (open: OpenCatalogs) => Promise<T>,
): Promise<T> {
  const catalogs = await listCurrentCatalogs(identity, signal);
  return kept.use(signal, async (lease) => task(await lease.open(catalogs)));
}

/** Returns the package from each catalog, the requested one first. @throws ConsoleError notFound */
export async function openPackage(
  name: string,
  open: OpenCatalogs,
  catalog: string | undefined,
): Promise<readonly [PackageInCatalog, ...PackageInCatalog[]]> {
  const leftOut = catalog === undefined ? undefined : open.leftOut.find((one) => one.catalog === catalog);
  if (leftOut) throw new ConsoleError("failed", `catalog ${leftOut.catalog} cannot be read: ${leftOut.because}`);
  let all: readonly [PackageInCatalog, ...PackageInCatalog[]];
  try {
    all = await findPackage(name, open);
  } catch (err) {
    throw new ConsoleError("notFound", getErrorMessage(err), { cause: err });
  }
  const first = catalog === undefined ? all[0] : all.find((one) => one.catalog === catalog);
  if (!first) throw new ConsoleError("notFound", `catalog ${goQuote(catalog ?? "")} does not contain package ${goQuote(name)}`);
  return [first, ...all.filter((one) => one !== first)];
}

/** Returns the installed bundles; undefined if the user may not list extensions. */
export async function listInstalledBundles(identity: ClusterIdentity, signal: AbortSignal): Promise<InstalledExtension[] | undefined> {
  try {
    return (await listCurrentExtensions(identity, signal)).flatMap(readInstalledExtension);
  } catch (err) {
    if (isForbidden(err) || err instanceof KindNotServed) return undefined;
    throw err;
  }
}

/** Returns when and where support is determined: today, for the version of the cluster. */
export function toSupportQuery(capabilities: ClusterCapabilities | undefined): SupportQuery {
  const cluster = capabilities?.openShift ?? { kind: "unknown", reason: "the capabilities of the cluster cannot be read" };
  return { today: formatDay(Date.now()), cluster };
}

/** The capabilities of the cluster for each identity, read once a minute. */
export class SharedCapabilities {
  readonly #held = new LRUCache<ClusterIdentity, Promise<ClusterCapabilities | undefined>>({ max: 200, ttl: SHARED_MS });

  /** Returns the capabilities; undefined if they cannot be read. */
  read(identity: ClusterIdentity): Promise<ClusterCapabilities | undefined> {
    const held = this.#held.get(identity);
    if (held) return held;
    const reading = readClusterCapabilities(identity.client, AbortSignal.timeout(10_000)).catch(() => {
      this.#held.delete(identity);
      return undefined;
    });
    this.#held.set(identity, reading);
    return reading;
  }
}
