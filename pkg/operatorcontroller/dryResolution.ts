import type { ClusterExtension } from "../api/clusterExtension.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { formatDay } from "../fbc/lifecycleDocument.ts";
import { findRemedy, formatRemedy } from "../resolve/remedy.ts";
import { type ResolutionRecord, recordResolution } from "../resolve/resolutionRecord.ts";
import type { Page } from "../serving/metricsServer.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { selectClusterCatalogs } from "./catalogs/catalogPackages.ts";
import { chooseInstallable, type ResolveServices, readCandidates } from "./reconcile/resolve.ts";
import type { Services } from "./reconcile/services.ts";
import { hasSpec } from "./state/extensionSpec.ts";

/**
 * Repeats the resolution of `extension`, starting from the installed bundle in its status, and records the stages. Records are not stored, because
 * repeating a resolution mostly uses cached data. Includes only catalogs that spec selects.
 * @returns undefined for an extension without spec.source.catalog.
 * @throws the signal's reason when it aborts; WaitingError while the installed bundles of other extensions are being read.
 */
export async function replayResolution(
  extension: Readonly<ClusterExtension>,
  services: ResolveServices,
  cluster: ClusterVersion,
  signal: AbortSignal,
): Promise<ResolutionRecord | undefined> {
  const source = hasSpec(extension) ? extension.spec.source.catalog : undefined;
  if (!source) return undefined;
  const { bundle: installed, catalog: installedFrom } = extension.status?.install ?? {};
  const today = formatDay(services.now());
  const { selected, filtered } = await readCandidates(services, { source, installed, installedFrom, cluster, today }, signal);
  const { resolution } = await chooseInstallable(services.choice, extension, filtered, selected, signal);
  return recordResolution(source.packageName, resolution);
}

/**
 * Describes how to unblock a cluster upgrade that `extension` blocks, in a clause such as `version 1.1.0 of catalog "x" allows the cluster upgrade`.
 * Reads catalogs like a reconcile, mostly from a cache. The clause mentions an unavailable catalog if it could contain a remedy. Never throws:
 * returns undefined if the cluster's version is unknown, spec is invalid, or `signal` aborts.
 * @param blocking names of the blocking bundles; default: the installed bundle in status.
 */
export async function describeRemedy(
  extension: Readonly<ClusterExtension>,
  { catalogs, contents, now }: Pick<Services, "catalogs" | "contents" | "now">,
  cluster: ClusterVersion,
  signal: AbortSignal,
  blocking: readonly string[] = [],
): Promise<string | undefined> {
  if (!hasSpec(extension) || cluster.kind !== "known") return undefined;
  const source = extension.spec.source.catalog;
  const installed = extension.status?.install?.bundle;
  const blocked = blocking.length > 0 ? blocking : installed ? [installed.name] : [];
  try {
    if (!source) return undefined;
    const selection = selectClusterCatalogs(catalogs, source);
    const selected = selection.kind === "catalogs" ? selection.catalogs : [];
    const packages = await contents.read(selected, source.packageName, signal);
    const remedy = findRemedy({
      source,
      catalogs: packages,
      installed,
      blocking: blocked,
      cluster: cluster.minor,
      today: formatDay(now()),
    });
    return remedy && formatRemedy(remedy, source, installed);
  } catch {
    return undefined;
  }
}

/** Path prefix of resolution records. The name of the ClusterExtension follows. */
const PREFIX = "/debug/resolution/";

/** The part of the controller that the page needs. */
interface ResolutionSource {
  /** Whether the controller has read the cluster's state once. */
  readonly ready: boolean;
  /** Repeats the resolution of an extension and returns its record; undefined if the extension does not exist. */
  resolutionOf(name: string, signal: AbortSignal): Promise<ResolutionRecord | undefined>;
}

/**
 * Returns the page that serves the record of a resolution as JSON. Responds with status 404 if the extension does not exist, and with 503 if the
 * replica is not the leader or the resolution fails.
 */
export function newResolutionPage(controller: ResolutionSource, leads: () => boolean): Page {
  return {
    prefix: PREFIX,
    answer: async (name, signal) => {
      if (!leads() || !controller.ready)
        return { status: 503, text: "this replica is not the leader or is still starting: query another replica" };
      let record: ResolutionRecord | undefined;
      try {
        record = await controller.resolutionOf(name, signal);
      } catch (err) {
        return { status: 503, text: `cannot resolve now: ${getErrorMessage(err)}` };
      }
      return record ? { json: record } : { status: 404, text: `ClusterExtension "${name}" does not exist or has no spec.source.catalog` };
    },
  };
}
