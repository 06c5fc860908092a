import type { BundleSummary } from "../bundle/bundleSummary.ts";
import type { RenderOptions } from "../render/render.ts";

/** A certificate provider has functions, so threads name it. */
export type RenderTask = Omit<RenderOptions, "certProvider"> & { readonly certProvider: string | undefined };

/** What `BundleThread` asks of its thread, one request at a time. */
export type BundleRequest =
  | { readonly kind: "load"; readonly digest: string; readonly files: ReadonlyMap<string, Uint8Array> }
  | { readonly kind: "render"; readonly digest: string; readonly options: RenderTask };

/** An object as bytes: JSON, or the format of `v8.serialize` for an object with integers that JSON would round. */
export interface EncodedObject {
  readonly format: "json" | "v8";
  readonly bytes: Uint8Array;
}

/** The response to a request. */
export type BundleResponse =
  | { readonly kind: "loaded"; readonly summary: BundleSummary }
  | { readonly kind: "rendered"; readonly objects: readonly EncodedObject[] }
  /** The thread holds another bundle, or none. */
  | { readonly kind: "unknown" }
  | { readonly kind: "failed"; readonly terminal: boolean; readonly reason: string; readonly message: string };
