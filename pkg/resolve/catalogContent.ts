import type { PackageContent } from "../fbc/types.ts";
import { compileSelector, type LabelSelector } from "./selector.ts";

/** One catalog that is to be asked, with what it says about the package. */
export interface CatalogContent {
  name: string;
  priority: number;
  labels: Record<string, string>;
  /** Undefined where the catalog does not have the package, or cannot answer. */
  content: PackageContent | undefined;
  /** Why the catalog cannot answer; absent for one that can. */
  unavailable?: string;
  /** What the catalog reports about itself while it is not served, such as `it reports Retrying: manifest unknown`. */
  reports?: string;
  /** What the catalog said about the package when it last answered; absent while that is not known, and for one that can answer. */
  lastKnown?: { readonly content: PackageContent | undefined };
}

/** Those of `catalogs` that are selected, by name. */
export function selectedCatalogs(selector: LabelSelector | undefined, catalogs: readonly CatalogContent[]): CatalogContent[] {
  const { matches } = compileSelector(selector);
  return catalogs.filter(({ labels }) => matches(labels)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether a catalog says anything about the package. */
export function hasContent(content: PackageContent | undefined): content is PackageContent {
  if (!content) return false;
  const { channels, bundles, deprecations, others } = content;
  return content.package !== undefined || channels.length + bundles.length + deprecations.length + others > 0;
}
