import { goQuote } from "../../errors/goQuote.ts";

/** What Go calls printable, the space and the tab included. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} \t]*$/u;

/** Whether every character of `text` can be seen, tabs included. */
export function isPrintable(text: string): boolean {
  return PRINTABLE.test(text);
}

/** `text` as a Go literal: in double quotes, or in backticks when those would need escapes and these do not. */
export function goLiteral(text: string): string {
  const quoted = goQuote(text);
  if (Buffer.byteLength(quoted) === Buffer.byteLength(text) + 2) return quoted;
  return isPrintable(text) && !text.includes("`") ? `\`${text}\`` : quoted;
}

/** The same for bytes, which may begin and end inside a character: what is cut is written as `\xNN`. */
export function goLiteralOfBytes(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes("\ufffd") || Buffer.from(text).equals(bytes)) return goLiteral(text);
  let out = "";
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfCharacter(bytes, at);
    out += size > 0 ? goQuote(bytes.toString("utf8", at, at + size)).slice(1, -1) : `\\x${(bytes[at] ?? 0).toString(16).padStart(2, "0")}`;
    at += Math.max(size, 1);
  }
  return `"${out}"`;
}

/** Bytes of the whole character at `at`; 0 when there is only a part of one. */
function sizeOfCharacter(bytes: Buffer, at: number): number {
  for (let size = 1; size <= 4 && at + size <= bytes.length; size++) {
    const part = bytes.subarray(at, at + size);
    const text = part.toString("utf8");
    if (!text.includes("\ufffd") || (text === "\ufffd" && Buffer.from(text).equals(part))) return size;
  }
  return 0;
}
