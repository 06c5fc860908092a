const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Bounds on what one pull may cost; a number is the largest value that is still accepted. */
export interface Limits {
  readonly manifestBytes: number;
  readonly configBytes: number;
  readonly layers: number;
  /** compressed size of all layers together */
  readonly compressedBytes: number;
  /** decompressed size of all layers together, whether kept or not */
  readonly totalBytes: number;
  readonly fileBytes: number;
  /** tar entries of all layers together, whether kept or not */
  readonly entries: number;
  readonly pathBytes: number;
  readonly pathDepth: number;
  /** whole pull, waiting for retries included */
  readonly timeoutMs: number;
  /** a response that starts later, or a body that pauses longer, is a failed request */
  readonly stallMs: number;
  /** a place that has not sent the manifest by then is passed over, while there are others to ask */
  readonly placeMs: number;
  /** a place that sends less of a blob than this within `stallMs` is passed over, while there are others to ask */
  readonly trickleBytes: number;
  /** tries of one request, the first included */
  readonly attempts: number;
  /** wait before the second try; doubles each time, with up to a quarter of jitter */
  readonly backoffMs: number;
  /** a registry that asks to wait longer than this is reported instead */
  readonly retryAfterMs: number;
}

/** Room for the largest catalogs known (about 540 MB of FBC in one file, on an operating-system base image). */
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
  timeoutMs: 15 * 60_000,
  stallMs: 60_000,
  placeMs: 15_000,
  trickleBytes: 64 * 1024,
  attempts: 4,
  backoffMs: 250,
  retryAfterMs: 30_000,
};

/** Bundles are some manifests, at most on an operating-system base image. */
export const BUNDLE_IMAGE_LIMITS: Limits = {
  ...CATALOG_IMAGE_LIMITS,
  compressedBytes: 1 * GIB,
  totalBytes: 3 * GIB,
  fileBytes: 256 * MIB,
  entries: 250_000,
  timeoutMs: 5 * 60_000,
};
