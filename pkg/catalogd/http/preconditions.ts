import type { IncomingHttpHeaders } from "node:http";
import { parseHttpDate } from "./httpDate.ts";

/** What identifies the content that would be answered. */
export interface Validators {
  /** Strong tags, in quotes, of all its representations. */
  etags: readonly string[];
  /** Whole seconds since the epoch; undefined when it is not known, then dates do not count. */
  lastModified: number | undefined;
}

/** Whether a request for content is to be answered with it, with 304 or with 412. */
export type Verdict = "proceed" | "notModified" | "failed";

const ETAG = /(W\/)?("[!\u0023-\u007e\u0080-\uffff]*")/y;

/**
 * The verdict of a GET's or HEAD's conditional headers. A date that cannot be read is as if it were not there. A tag of any representation
 * matches, since all of them are the same content.
 * @see RFC 9110 section 13.2.2
 */
export function evaluatePreconditions(headers: IncomingHttpHeaders, { etags, lastModified }: Validators): Verdict {
  const ifMatch = headers["if-match"];
  const unmodifiedSince = headers["if-unmodified-since"];
  if (ifMatch) {
    if (!matchesAny(ifMatch, etags, false)) return "failed";
  } else if (unmodifiedSince) {
    const date = parseHttpDate(unmodifiedSince);
    if (date !== undefined && lastModified !== undefined && lastModified > date) return "failed";
  }
  const ifNoneMatch = headers["if-none-match"];
  const modifiedSince = headers["if-modified-since"];
  if (ifNoneMatch) return matchesAny(ifNoneMatch, etags, true) ? "notModified" : "proceed";
  if (!modifiedSince) return "proceed";
  const date = parseHttpDate(modifiedSince);
  return date !== undefined && lastModified !== undefined && lastModified <= date ? "notModified" : "proceed";
}

/**
 * Whether a Range header counts: no If-Range, or one that names exactly this representation.
 * @param etag of the representation whose ranges are served.
 */
export function rangeApplies(ifRange: string | undefined, etag: string, lastModified: number): boolean {
  if (!ifRange) return true;
  if (ifRange.startsWith('"') || ifRange.startsWith("W/")) return ifRange.trim() === etag;
  return parseHttpDate(ifRange) === lastModified;
}

/** Reads a list of tags up to the first fault; `*` matches everything. */
function matchesAny(header: string, etags: readonly string[], weak: boolean): boolean {
  let at = 0;
  for (;;) {
    while (at < header.length && /[\s,]/.test(header.charAt(at))) at++;
    if (header[at] === "*") return true;
    ETAG.lastIndex = at;
    const found = ETAG.exec(header);
    if (!found) return false;
    const [text, weakMark, tag = ""] = found;
    if (etags.includes(tag) && (weak || weakMark === undefined)) return true;
    at += text.length;
  }
}
