import { createHash } from "node:crypto";
import { encodeGoJson } from "../golang/json.ts";

const MAX_LENGTH = 63;

/**
 * Returns `base-suffix`, with the base truncated so that both fit in 63 bytes. If base and suffix have exactly 63 bytes together, the result has 64
 * bytes, as upstream.
 * @see operator-controller df2c201d internal/operator-controller/rukpak/util ObjectNameForBaseAndSuffix
 */
export function buildObjectName(base: string, suffix: string): string {
  const over = Buffer.byteLength(base) + Buffer.byteLength(suffix) > MAX_LENGTH;
  const kept = over
    ? Buffer.from(base)
        .subarray(0, Math.max(0, MAX_LENGTH - Buffer.byteLength(suffix) - 1))
        .toString("utf8")
    : base;
  return `${kept}-${suffix}`;
}

/**
 * Computes the SHA-224, in base 36, of the JSON that Go's encoder writes for `value`, including its final newline. The order of fields
 * matters: fields of a Go struct must be in the order of Go, and keys of a Go map must be sorted.
 */
export function computeContentHash(value: unknown): string {
  const digest = createHash("sha224")
    .update(`${encodeGoJson(value, { sortKeys: false })}\n`)
    .digest("hex");
  return BigInt(`0x${digest}`).toString(36);
}

/** Returns a name that depends on `content`. */
export function buildUniqueName(base: string, content: unknown): string {
  return buildObjectName(base, computeContentHash(content));
}
