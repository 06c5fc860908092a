const ESCAPES = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** `text` in double quotes as Go's %q verb prints it, so that messages read the same as the reference implementation's. */
export function goQuoted(text: string): string {
  let out = "";
  for (const char of text) {
    const escape = ESCAPES.get(char);
    if (escape !== undefined) out += escape;
    else if (PRINTABLE.test(char)) out += char;
    else {
      const code = char.codePointAt(0) ?? 0;
      if (code < 0x80) out += `\\x${code.toString(16).padStart(2, "0")}`;
      else if (code <= 0xffff) out += `\\u${code.toString(16).padStart(4, "0")}`;
      else out += `\\U${code.toString(16).padStart(8, "0")}`;
    }
  }
  return `"${out}"`;
}
