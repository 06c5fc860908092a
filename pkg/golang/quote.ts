const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** Matches texts that need no escapes. Most texts match, so `goQuote` returns early. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Quotes `text` as Go's `%q` does: in double quotes, with Go's escapes; printable Unicode stays unchanged. Used in messages that must match those of
 * Go.
 * @see https://pkg.go.dev/strconv#Quote
 */
export function goQuote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (ESCAPES[char] !== undefined) out += ESCAPES[char];
    else if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)) out += char;
    else if (code < 0x80) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code < 0x10000) out += `\\u${code.toString(16).padStart(4, "0")}`;
    else out += `\\U${code.toString(16).padStart(8, "0")}`;
  }
  return `${out}"`;
}
