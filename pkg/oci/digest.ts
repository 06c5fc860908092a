import { createHash, type Hash } from "node:crypto";

/** Hex characters per supported algorithm. */
const HEX_LENGTH = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);
const ANY_DIGEST = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$/;

/** Why `text` is no digest we can verify, in go-digest's words; undefined when it is "<sha256|sha384|sha512>:<lower-case hex>". */
export function digestProblem(text: string): string | undefined {
  const colon = text.indexOf(":");
  if (colon <= 0 || colon + 1 === text.length) return "invalid checksum digest format";
  const length = HEX_LENGTH.get(text.slice(0, colon));
  if (length === undefined) return ANY_DIGEST.test(text) ? "unsupported digest algorithm" : "invalid checksum digest format";
  const hex = text.slice(colon + 1);
  if (hex.length !== length) return "invalid checksum digest length";
  return /^[a-f0-9]+$/.test(hex) ? undefined : "invalid checksum digest format";
}

/** A fresh hash for the algorithm of a valid digest. */
export function hashFor(digest: string): Hash {
  return createHash(digest.slice(0, digest.indexOf(":")));
}

/** The digest of `bytes` with the algorithm of `like` (sha256 when absent). */
export function digestOf(bytes: Uint8Array | string, like = "sha256:"): string {
  const algorithm = like.slice(0, like.indexOf(":"));
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}
