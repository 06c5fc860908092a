import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findRemedy, remedyText } from "../resolve/remedy.ts";
import { type ResolutionRecord, recordOf } from "../resolve/resolutionRecord.ts";
import { choose, consider } from "../resolve/resolve.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import type { CatalogContents } from "./catalogs/catalogContents.ts";
import type { DependencyChoice } from "./dependencies/dependencyChoice.ts";
import { type CatalogLister, matchingCatalogs } from "./reconcile/resolve.ts";
import { hasSpec } from "./state/reconcileState.ts";

/** What records are made from. */
export interface RecordSources {
  catalogs: CatalogLister;
  contents: Pick<CatalogContents, "of">;
  dependencies: Pick<DependencyChoice, "choose">;
}

/**
 * How a resolution of `extension` goes now, from what its status says is installed: made anew, mostly from memory, so that nothing has to be
 * kept for it. Catalogs that spec does not select are not part of it. Undefined for an extension without spec.source.catalog.
 * @throws the signal's reason when it aborts; WaitingError while what other extensions have installed is being read.
 */
export async function resolutionRecord(
  extension: Readonly<ClusterExtension>,
  { catalogs, contents, dependencies }: RecordSources,
  cluster: ClusterVersion,
  signal: AbortSignal,
): Promise<ResolutionRecord | undefined> {
  const source = hasSpec(extension) ? extension.spec.source.catalog : undefined;
  if (!source) return undefined;
  const matching = matchingCatalogs(catalogs, source);
  const asked = await contents.of(matching, source.packageName, signal);
  const { bundle: installed, catalog: installedFrom } = extension.status?.install ?? {};
  const considered = consider({ source, catalogs: asked, installed, installedFrom, cluster });
  if ("kind" in considered) return recordOf(source.packageName, considered);
  const isJudged = extension.spec.dependencies?.policy !== "Ignore";
  const { resolution } = isJudged ? await dependencies.choose(extension, considered, matching, signal) : { resolution: choose(considered) };
  return recordOf(source.packageName, resolution);
}

/** What a remedy is looked for with. */
export interface RemedySources {
  catalogs: CatalogLister;
  contents: Pick<CatalogContents, "of">;
}

/**
 * What would let the cluster go on although `extension` is installed, as a clause such as `version 1.1.0 of catalog "x" lifts the block`, from what
 * its status says is installed. Catalogs are asked like in a pass, so mostly from memory; one that cannot answer is told where it matters.
 * Never throws: undefined when the cluster's version is not known, spec cannot be read, or `signal` aborts.
 * @param blocking names of the bundles that keep the cluster back; without them the installed one.
 */
export async function remedyFor(
  extension: Readonly<ClusterExtension>,
  { catalogs, contents }: RemedySources,
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
    const asked = await contents.of(matchingCatalogs(catalogs, source), source.packageName, signal);
    const remedy = findRemedy({ source, catalogs: asked, installed, blocking: blocked, cluster: cluster.minor });
    return remedy && remedyText(remedy, source, installed);
  } catch {
    return undefined;
  }
}
