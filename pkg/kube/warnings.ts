import { redactUserinfo } from "../text/redact.ts";

/** Warnings of one answer that are looked at; the API server itself sends about 4 KB of them. */
const MAX_WARNINGS = 50;
/** Characters of one text. */
const MAX_TEXT = 500;
/** `299 agent "text" "date"`, the date being optional, and what follows it. */
const WARNING = String.raw`\s*\d{3} [^\s"]+ "((?:[^"\\]|\\.)*)"(?:\s*"[^"]*")?\s*(?:,|$)`;
/** Everything but letters, marks, numbers, punctuation, symbols and the space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]+/gu;

/**
 * The texts of an answer's Warning headers, in their order, each once: at most 50, of at most 500 characters. They are content, of admission
 * webhooks for example: what is not printable is replaced by U+FFFD, users and passwords in URLs are left out. What follows a header that cannot be read is left out.
 * @param header as an HTTP client gives it: one value, several, or several joined with commas; bytes as Latin-1, or text.
 * @see https://www.rfc-editor.org/rfc/rfc7234#section-5.5
 * @see k8s.io/apimachinery pkg/util/net ParseWarningHeaders
 */
export function warningsIn(header: string | readonly string[] | undefined): string[] {
  const texts = new Set<string>();
  for (const value of typeof header === "string" ? [header] : (header ?? [])) {
    const pattern = new RegExp(WARNING, "y");
    while (pattern.lastIndex < value.length && texts.size < MAX_WARNINGS) {
      const found = pattern.exec(value);
      if (!found) break;
      const text = plain(utf8(found[1] ?? "").replace(/\\(.)/gs, "$1"));
      if (text !== "") texts.add(text);
    }
  }
  return [...texts];
}

function plain(text: string): string {
  const printable = redactUserinfo(text).trim().replace(UNPRINTABLE, "\ufffd");
  return printable.length <= MAX_TEXT ? printable : `${printable.slice(0, MAX_TEXT - 1)}…`;
}

/** HTTP clients give header bytes as Latin-1; the API server writes UTF-8. */
function utf8(text: string): string {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.toString("latin1") !== text) return text;
  const decoded = bytes.toString("utf8");
  return decoded.includes("\ufffd") ? text : decoded;
}
