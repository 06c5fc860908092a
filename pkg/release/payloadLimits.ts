/**
 * Most of what a release's payload may hold before it is compressed. The largest bundle within `BUNDLE_LIMITS` renders to 32 MiB, which a release
 * holds twice, once in base64: 75 MiB. The rest is for characters that Go escapes. Nothing above the limits is written, as it could not be read.
 */
export const PAYLOAD_LIMITS = {
  bytes: 96 * 1024 * 1024,
  /** Characters of which at least one is between two values: an upper bound of the values, read off the text before it is parsed. */
  separators: 2_000_000,
  /** Members and list items that are kept of everything but the objects. A bundle has at most 20,000 names of annotations, and leaves some objects. */
  values: 100_000,
} as const;
