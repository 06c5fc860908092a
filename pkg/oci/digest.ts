import { createHash, type Hash } from "node:crypto";

/** A fresh hash for the algorithm of a valid digest. */
export function hashFor(digest: string): Hash {
  return createHash(digest.slice(0, digest.indexOf(":")));
}

/** The digest of `bytes` with the algorithm of `like` (sha256 when absent). */
export function digestOf(bytes: Uint8Array | string, like = "sha256:"): string {
  const algorithm = like.slice(0, like.indexOf(":"));
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}
