const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const HOUR_MS = 3_600_000;

/** Limits of one pull; each number is the largest accepted value. */
export interface Limits {
  readonly manifestBytes: number;
  readonly configBytes: number;
  readonly layers: number;
  /** compressed size of all layers */
  readonly compressedBytes: number;
  /** decompressed size of all layers, including discarded data */
  readonly totalBytes: number;
  readonly fileBytes: number;
  /** tar entries of all layers, including discarded ones */
  readonly entries: number;
  readonly pathBytes: number;
  readonly pathDepth: number;
  /**
   * timeout for the whole pull, including delays before retries. It only ends pulls that progress
   * for too long: `stallMs` and `trickleBytes` end those without progress.
   */
  readonly timeoutMs: number;
  /** timeout for the start of a response, and for a pause in its body */
  readonly stallMs: number;
  /** timeout for the manifest from one location; afterwards the next location is tried, if any */
  readonly placeMs: number;
  /**
   * minimum bytes of a blob within `stallMs`; a slower location is skipped, or requested again if it
   * is the only one
   */
  readonly trickleBytes: number;
  /** attempts of one request, including the first */
  readonly attempts: number;
  /** delay before the second attempt; doubles each time, plus up to 25% jitter */
  readonly backoffMs: number;
  /** if a registry requests a longer delay, the pull fails */
  readonly retryAfterMs: number;
}

/**
 * Fits the largest known catalogs (about 540 MB of FBC in one file, on an operating-system base
 * image).
 */
export const CATALOG_IMAGE_LIMITS: Limits = {
  manifestBytes: 4 * MIB,
  configBytes: 4 * MIB,
  layers: 256,
  compressedBytes: 4 * GIB,
  totalBytes: 12 * GIB,
  fileBytes: 2 * GIB,
  entries: 1_000_000,
  pathBytes: 4096,
  pathDepth: 128,
  timeoutMs: 6 * HOUR_MS, // 4 GiB over 1.6 Mbit/s
  stallMs: 60_000,
  placeMs: 15_000,
  trickleBytes: 64 * 1024,
  attempts: 4,
  backoffMs: 250,
  retryAfterMs: 30_000,
};

/** Bundles consist of a few manifests, at most on an operating-system base image. */
export const BUNDLE_IMAGE_LIMITS: Limits = {
  ...CATALOG_IMAGE_LIMITS,
  compressedBytes: 1 * GIB,
  totalBytes: 3 * GIB,
  fileBytes: 256 * MIB,
  entries: 250_000,
  timeoutMs: 1 * HOUR_MS, // 1 GiB over 2.4 Mbit/s
};
