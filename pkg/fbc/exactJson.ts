import { withoutHalves } from "./surrogates.ts";

/** A run of digits that a double may not hold exactly. */
const LONG_NUMBER = /\d{16}/;
/** The largest integer of Go's int64. */
export const MAX_INT64 = 2n ** 63n - 1n;
const INTEGER = /^-?\d+$/;

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
type Parse = (text: string, reviver?: Reviver) => unknown;

/**
 * Parses JSON as Kubernetes does: integers beyond 2^53 come as bigint, so that `goJson` writes back the digits that were read, and those that int64
 * does not hold as number. Half of a character becomes U+FFFD, as in Go.
 * @see https://github.com/kubernetes-sigs/json/blob/2d320260d730/README.md
 * @throws SyntaxError
 */
export function parseExactJson(json: string): unknown {
  const text = withoutHalves(json);
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const parse = JSON.parse as Parse;
  return parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined || !INTEGER.test(source)) return value;
    const integer = BigInt(source);
    return integer >= -MAX_INT64 - 1n && integer <= MAX_INT64 ? integer : value;
  });
}
