import { metaFrom } from "../../pkg/fbc/content.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import type { KnownBundleIndex } from "../../pkg/operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { type BundleIndex, BundleIndexBuilder } from "../../pkg/resolve/dependencies/bundleIndex.ts";

/** The index of a catalog that holds these packages. */
function bundleIndexOf(contents: Iterable<PackageContent | undefined>): BundleIndex {
  const builder = new BundleIndexBuilder();
  for (const content of contents) for (const bundle of content?.bundles ?? []) builder.add(metaFrom({ schema: "olm.bundle", ...bundle }));
  return builder.build();
}

/** The same as a reader gives it. */
export function knownIndexOf(contents: Iterable<PackageContent | undefined>): Promise<KnownBundleIndex> {
  return Promise.resolve({ index: bundleIndexOf(contents), tags: new Map() });
}
