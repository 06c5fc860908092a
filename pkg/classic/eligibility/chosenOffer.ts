import type { Subscription } from "../subscription.ts";
import { type BundleOffer, sameBundles } from "./offer.ts";
import type { Surroundings } from "./surroundings.ts";

/** The catalog with the image of the CatalogSource comes first, then the one called as it, then that of the highest priority, then by name. */
export function chosenOffer({ channel, source }: Subscription, { csv, offers, sourceImage }: Surroundings): BundleOffer | undefined {
  const isImage = ({ catalogImage }: BundleOffer): number => Number(sourceImage !== undefined && catalogImage === sourceImage);
  const bundles = csv ? sameBundles(offers, csv) : [];
  const fitting = bundles.filter(({ channels }) => channel === undefined || channels.includes(channel));
  return fitting.toSorted(
    (a, b) =>
      isImage(b) - isImage(a) ||
      Number(b.catalog === source) - Number(a.catalog === source) ||
      b.priority - a.priority ||
      (a.catalog < b.catalog ? -1 : 1),
  )[0];
}
