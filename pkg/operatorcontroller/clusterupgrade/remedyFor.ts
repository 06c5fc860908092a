import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findRemedy, remedyText } from "../../resolve/remedy.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { CatalogContents } from "../catalogs/catalogContents.ts";
import { hasSpec } from "../facts.ts";
import { type CatalogLister, matchingCatalogs } from "../steps/resolveBundle.ts";

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
