import { withoutHalves } from "./surrogates.ts";

/** A run of digits that a double may not hold exactly. */
const LONG_NUMBER = /\d{16}/;
const MIN = -(2n ** 63n);
const MAX = 2n ** 64n - 1n;
const INTEGER = /^-?\d+$/;

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;
type Parse = (text: string, reviver?: Reviver) => unknown;

/**
 * Parses JSON; integers beyond 2^53 come as bigint, so that `goJson` writes back the digits that were read, beyond 64 bits as number. Half of a character becomes U+FFFD, as
 * in Go.
 * @throws SyntaxError
 */
export function parseExactJson(json: string): unknown {
  const text = withoutHalves(json);
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const parse = JSON.parse as Parse;
  return parse(text, (_key, value, { source }) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || source === undefined || !INTEGER.test(source)) return value;
    const integer = BigInt(source);
    return integer >= MIN && integer <= MAX ? integer : value;
  });
}
