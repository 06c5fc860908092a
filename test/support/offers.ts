import { metaFrom } from "../../pkg/fbc/content.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import type { KnownOffers } from "../../pkg/operatorcontroller/catalogs/catalogOffers.ts";
import { type OfferIndex, OfferIndexBuilder } from "../../pkg/resolve/dependencies/offerIndex.ts";

/** The index of a catalog that holds these packages. */
export function offerIndexOf(contents: Iterable<PackageContent | undefined>): OfferIndex {
  const builder = new OfferIndexBuilder();
  for (const content of contents) for (const bundle of content?.bundles ?? []) builder.add(metaFrom({ schema: "olm.bundle", ...bundle }));
  return builder.build();
}

/** The same as a reader gives it. */
export function offersOf(contents: Iterable<PackageContent | undefined>): Promise<KnownOffers> {
  return Promise.resolve({ index: offerIndexOf(contents), tags: new Map() });
}
