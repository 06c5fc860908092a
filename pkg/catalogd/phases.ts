import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { Problem } from "../api/problems.ts";
import type { Step } from "../controller/stepSequence.ts";
import type { CatalogContent } from "./store/content.ts";

/** The image to which a catalog's reference currently resolves. */
export interface ResolvedImage {
  /** The image reference by digest. */
  canonical: string;
  digest: string;
}

/** An image unpacked on disk. */
export interface UnpackedImage extends ResolvedImage {
  /** The image's root on disk. */
  dir: string;
  /** The catalog's folder relative to `dir`, with slashes. */
  root: string;
  /** When the image was unpacked. */
  modTime: Date;
}

/** State of a catalog reconcile in every phase. */
interface WithCatalog {
  readonly catalog: Readonly<ClusterCatalog>;
  /**
   * Problems that the steps report in `status.problems`, in addition to the error that ends the
   * reconcile.
   */
  readonly problems: Problem[];
}

/** The phase in which every reconcile starts. */
export interface Started extends WithCatalog {
  readonly phase: "started";
}

/** Result of the image lookup. */
interface WithImage extends WithCatalog {
  /** The resolved reference; absent if the stored content is recent enough and no lookup was needed. */
  readonly resolved?: ResolvedImage;
  /**
   * When the pull of the image started, in milliseconds of `performance.now`; absent if the image
   * was already stored.
   */
  readonly pullBegan?: number;
}

/** Phase after `fetchImage`: the image is unpacked, or its content is already stored. */
export interface Fetched extends WithImage {
  readonly phase: "fetched";
  readonly image:
    | { readonly kind: "unpacked"; readonly unpacked: UnpackedImage }
    | { readonly kind: "stored"; readonly content: CatalogContent };
}

/** Phase after `storeContent`: the content is served. */
export interface Stored extends WithImage {
  readonly phase: "stored";
  readonly content: CatalogContent;
}

/** Final phase after `withdraw`: the content was removed because it must not be served. */
export interface Withdrawn extends WithCatalog {
  readonly phase: "withdrawn";
  /** The catalog is being deleted or is unavailable. */
  readonly why: "deleted" | "unavailable";
}

/** Final phase after `fetchImage` if the image of a new catalog or spec is still being pulled. */
interface Fetching extends WithCatalog {
  readonly phase: "fetching";
  /** Reference of the image. */
  readonly ref: string;
}

/** The phases in which a reconcile can end. */
export type Phase = Started | Fetched | Stored | Withdrawn | Fetching;

/** A step of the reconcile of a ClusterCatalog. */
export type CatalogStep<In extends Phase, Out extends Phase = In> = Step<In, Out, Phase>;

/** Returns the phase in which a reconcile starts. */
export function newStarted(catalog: Readonly<ClusterCatalog>): Started {
  return { phase: "started", catalog, problems: [] };
}
