import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type CatalogIndex, getBundleKey, type PackageLimit } from "../../resolve/dependencies/catalogIndex.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import { compareText } from "../../text/compare.ts";
import { selectClusterCatalogs } from "../catalogs/catalogPackages.ts";
import { isUneditedDependency } from "./dependencyLabels.ts";

/**
 * Returns which bundles the existing extensions may install that have installed none. The selector of an extension that was created as a dependency is
 * no limit until a user changes its spec, because the controller recreates the extension for another catalog.
 */
export function computePackageLimits(
  extensions: readonly ClusterExtension[],
  catalogs: readonly ClusterCatalog[],
  index: CatalogIndex,
): ReadonlyMap<string, PackageLimit> {
  const limits = new Map<string, PackageLimit>();
  for (const extension of extensions.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name))) {
    const { name } = extension.metadata;
    const source = extension.spec?.source?.catalog;
    if (!source || limits.has(source.packageName)) continue;
    // Without a bundle of the package, there is nothing to limit.
    if (index.catalogs.every(({ catalog }) => index.packageOf(catalog, source.packageName) === undefined)) continue;
    const { selector: _any, ...unselected } = source;
    const selection = selectClusterCatalogs({ list: () => catalogs }, isUneditedDependency(extension) ? unselected : source);
    const selected = selection.kind === "catalogs" ? selection.catalogs : [];
    const packages = selected.map(({ metadata, spec }) => ({
      name: metadata.name,
      priority: spec.priority ?? 0,
      content: index.packageOf(metadata.name, source.packageName),
    }));
    const filtered = filterCandidates({ source, catalogs: packages, ...index.policyInputs });
    const results = filtered.kind === "unresolved" ? [] : filtered.results;
    const allowed = results.flatMap(({ catalog, allowed: candidates }) =>
      candidates.map(({ bundle }) => getBundleKey(catalog, bundle.name)),
    );
    limits.set(source.packageName, { extension: name, allowed: new Set(allowed) });
  }
  return limits;
}
