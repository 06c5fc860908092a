import type { ClusterExtension } from "../api/clusterExtension.ts";
import { messageOf } from "../errors/errors.ts";
import { findRemedy, remedyText } from "../resolve/remedy.ts";
import { type ResolutionRecord, recordResolution } from "../resolve/resolutionRecord.ts";
import type { Page } from "../serving/metricsServer.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { selectClusterCatalogs } from "./catalogs/catalogPackages.ts";
import { chooseInstallable, type ResolveServices, readCandidates } from "./reconcile/resolve.ts";
import type { Services } from "./reconcile/services.ts";
import { hasSpec } from "./state/extensionSpec.ts";

/**
 * Records how a resolution of `extension` goes now, from what its status says is installed: repeated, mostly from memory, so that nothing has to
 * be kept for it. Catalogs that spec does not select are not part of it. Undefined for an extension without spec.source.catalog.
 * @throws the signal's reason when it aborts; WaitingError while what other extensions have installed is being read.
 */
export async function resolutionRecord(
  extension: Readonly<ClusterExtension>,
  services: ResolveServices,
  cluster: ClusterVersion,
  signal: AbortSignal,
): Promise<ResolutionRecord | undefined> {
  const source = hasSpec(extension) ? extension.spec.source.catalog : undefined;
  if (!source) return undefined;
  const { bundle: installed, catalog: installedFrom } = extension.status?.install ?? {};
  const { selected, filtered } = await readCandidates(services, { source, installed, installedFrom, cluster }, signal);
  const { resolution } = await chooseInstallable(services.choice, extension, filtered, selected, signal);
  return recordResolution(source.packageName, resolution);
}

/**
 * What would let the cluster go on although `extension` is installed, as a clause such as `version 1.1.0 of catalog "x" lifts the block`, from what
 * its status says is installed. Catalogs are asked like in a pass, so mostly from memory; one that cannot answer is told where it matters.
 * Never throws: undefined when the cluster's version is not known, spec cannot be read, or `signal` aborts.
 * @param blocking names of the bundles that keep the cluster back; without them the installed one.
 */
export async function remedyFor(
  extension: Readonly<ClusterExtension>,
  { catalogs, contents }: Pick<Services, "catalogs" | "contents">,
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
    const remedy = findRemedy({ source, catalogs: packages, installed, blocking: blocked, cluster: cluster.minor });
    return remedy && remedyText(remedy, source, installed);
  } catch {
    return undefined;
  }
}

/** Where the record of a resolution is served, with the name of the ClusterExtension behind it. */
const PREFIX = "/debug/resolution/";

/** What the page asks the controller. */
interface ResolutionSource {
  /** Whether the controller has seen the cluster's state once. */
  readonly ready: boolean;
  /** Returns how a resolution of an extension goes now; undefined if there is no such extension. */
  resolutionOf(name: string, signal: AbortSignal): Promise<ResolutionRecord | undefined>;
}

/** How the resolution of a ClusterExtension goes, as JSON: 404 where there is no such extension, 503 from a replica that does not lead, and while it cannot be found out. */
export function resolutionPage(controller: ResolutionSource, leads: () => boolean): Page {
  return {
    prefix: PREFIX,
    answer: async (name, signal) => {
      if (!leads() || !controller.ready)
        return { status: 503, text: "this replica does not lead, or has only just begun to: ask another one" };
      let record: ResolutionRecord | undefined;
      try {
        record = await controller.resolutionOf(name, signal);
      } catch (err) {
        return { status: 503, text: `not known right now: ${messageOf(err)}` };
      }
      return record ? { json: record } : { status: 404, text: `there is no ClusterExtension "${name}" with spec.source.catalog` };
    },
  };
}
