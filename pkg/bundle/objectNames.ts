import { createHash } from "node:crypto";
import { goJson } from "../golang/json.ts";

const MAX_LENGTH = 63;

/**
 * `base-suffix`, the base cut such that both fit 63 bytes. Lengths that sum up to exactly 63 give 64 bytes, as upstream.
 * @see operator-controller df2c201d internal/operator-controller/rukpak/util ObjectNameForBaseAndSuffix
 */
export function objectName(base: string, suffix: string): string {
  const over = Buffer.byteLength(base) + Buffer.byteLength(suffix) > MAX_LENGTH;
  const kept = over
    ? Buffer.from(base)
        .subarray(0, Math.max(0, MAX_LENGTH - Buffer.byteLength(suffix) - 1))
        .toString("utf8")
    : base;
  return `${kept}-${suffix}`;
}

/**
 * SHA-224 in base 36 over what Go's JSON encoder writes for `value`, its newline included. Members count in the order they stand in,
 * so a Go struct must have its members in Go's order and a Go map its keys sorted.
 */
export function contentHash(value: unknown): string {
  const digest = createHash("sha224")
    .update(`${goJson(value, { sortKeys: false })}\n`)
    .digest("hex");
  return BigInt(`0x${digest}`).toString(36);
}

/** A name that changes with `content`. */
export function uniqueName(base: string, content: unknown): string {
  return objectName(base, contentHash(content));
}
