import { createHash } from "node:crypto";

/** Longest value of a label. */
const MAX = 63;
/** Hexadecimal digits of the SHA-256 that tell values apart which had to be cut or changed. */
const HASH = 8;
const VALID = /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$/;

/**
 * `text` as the value of a label, which the API server takes whatever the text is:
 *
 * | text                                    | value                                                                          |
 * | a valid value                           | itself                                                                         |
 * | valid but for `+`, as of build metadata | with `_` in place of each, which no version holds                              |
 * | anything else, or longer than 63        | what is valid of it, cut, then `-` and the first 8 hex digits of its SHA-256   |
 *
 * The same text always gives the same value, and valid values stay apart.
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
export function labelValue(text: string): string {
  const plain = text.replaceAll("+", "_");
  if (plain.length <= MAX && VALID.test(plain)) return plain;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH);
  const valid = plain.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[._-]+/, "");
  const kept = valid.slice(0, MAX - HASH - 1).replace(/[._-]+$/, "");
  return kept === "" ? hash : `${kept}-${hash}`;
}
