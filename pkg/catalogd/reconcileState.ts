import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { CatalogContent } from "./store/content.ts";

/** The image that a catalog's reference stands for now. */
export interface ResolvedImage {
  /** The reference by digest. */
  canonical: string;
  digest: string;
}

/** An image unpacked on disk. */
export interface UnpackedImage extends ResolvedImage {
  /** The image's root on disk. */
  dir: string;
  /** The catalog's folder below `dir`, as a relative slash path. */
  root: string;
  /** When it was unpacked. */
  modTime: Date;
}

/**
 * All that the steps of one pass found out, in the order in which they find it.
 * Steps add facts, `statusFrom` turns them into conditions; no step writes status.
 */
export interface CatalogReconcileState {
  readonly catalog: Readonly<ClusterCatalog>;
  /** Set when content must not be served: the catalog is being deleted, or somebody switched it off. Its content is removed. */
  withdrawn?: "deleted" | "unavailable";
  resolved?: ResolvedImage;
  unpacked?: UnpackedImage;
  /** When the pull of `unpacked` began, in milliseconds as `performance.now` gives them. */
  pullBegan?: number;
  /** Set while the image of a new catalog or spec is fetched: its reference. */
  unpacking?: string;
  /** What is served after the pass. */
  content?: CatalogContent;
  /** Said behind the success message. */
  notes: string[];
  /** Set when the pass is over and nothing is to be written: the object is on its way out, or what is known of it is out of date. */
  leave?: boolean;
}

/** Facts before the first step. */
export function newReconcileState(catalog: Readonly<ClusterCatalog>): CatalogReconcileState {
  return { catalog, notes: [] };
}
