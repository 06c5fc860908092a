import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type ResolutionRecord, recordOf } from "../resolve/resolutionRecord.ts";
import { choose, consider } from "../resolve/resolve.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import type { CatalogContents } from "./catalogs/catalogContents.ts";
import type { DependencyChoice } from "./dependencies/dependencyChoice.ts";
import { hasSpec } from "./facts.ts";
import { type CatalogLister, matchingCatalogs } from "./steps/resolveBundle.ts";

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
