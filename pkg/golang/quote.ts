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

/** Texts that Go prints unchanged between the quotes. They are most texts. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * `text` as Go's `%q` prints it: in double quotes, with Go's escapes; printable Unicode stays as it is.
 * Messages that users match on are written with it.
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
