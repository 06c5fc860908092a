import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { Problem } from "../api/problems.ts";
import type { Step } from "../controller/story.ts";
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

/** What a reconcile of a catalog knows in every phase. */
interface WithCatalog {
  readonly catalog: Readonly<ClusterCatalog>;
  /** What the steps report in `status.problems`, in addition to the error that ends the reconcile. */
  readonly problems: Problem[];
}

/** Before the first step. */
export interface Started extends WithCatalog {
  readonly phase: "started";
}

/** What a look at the image gave. */
interface WithImage extends WithCatalog {
  /** What the reference stands for; absent if it was not looked up, since what is stored is recent enough. */
  readonly resolved?: ResolvedImage;
  /** When the pull of the image began, in milliseconds as `performance.now` gives them; absent if it was stored already. */
  readonly pullBegan?: number;
}

/** After `fetchImage`: the image is unpacked, or its content is stored already. */
export interface Fetched extends WithImage {
  readonly phase: "fetched";
  readonly image:
    | { readonly kind: "unpacked"; readonly unpacked: UnpackedImage }
    | { readonly kind: "stored"; readonly content: CatalogContent };
}

/** After `storeContent`: the content is served. */
export interface Stored extends WithImage {
  readonly phase: "stored";
  readonly content: CatalogContent;
}

/** Ended by `withdraw`: the content must not be served and is removed. */
export interface Withdrawn extends WithCatalog {
  readonly phase: "withdrawn";
  /** The catalog is being deleted, or was switched off. */
  readonly why: "deleted" | "unavailable";
}

/** Ended by `fetchImage` while the image of a new catalog or spec is fetched. */
interface Fetching extends WithCatalog {
  readonly phase: "fetching";
  /** Reference of the image. */
  readonly ref: string;
}

/** Every phase that a reconcile can end in. */
export type Phase = Started | Fetched | Stored | Withdrawn | Fetching;

/** A step of the reconcile of a ClusterCatalog. */
export type CatalogStep<In extends Phase, Out extends Phase = In> = Step<In, Out, Phase>;

/** Returns the phase before the first step. */
export function newStarted(catalog: Readonly<ClusterCatalog>): Started {
  return { phase: "started", catalog, problems: [] };
}
