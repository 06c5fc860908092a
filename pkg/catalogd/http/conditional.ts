import type { IncomingHttpHeaders } from "node:http";
import { ENCODINGS, type Encoding } from "../store/encodings.ts";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = String.raw`(?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2})`;
const FORMATS = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) ${TIME} (?:GMT|UTC)$`),
  new RegExp(String.raw`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/**
 * Parses a date in a header, in one of the three formats of RFC 9110 (RFC 1123, RFC 850, asctime).
 * Returns seconds since the epoch; undefined for any other text.
 */
export function parseHttpDate(text: string): number | undefined {
  for (const format of FORMATS) {
    const groups = format.exec(text.trim())?.groups;
    if (!groups) continue;
    const month = MONTHS.indexOf(groups["month"] ?? "");
    const year = Number(groups["year"]);
    const fullYear = year >= 100 ? year : year + (year >= 69 ? 1900 : 2000);
    const parts = [month, Number(groups["day"]), Number(groups["h"]), Number(groups["m"]), Number(groups["s"])] as const;
    const date = new Date(Date.UTC(fullYear, ...parts));
    const same = [date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()];
    return month >= 0 && same.every((part, i) => part === parts[i]) ? date.getTime() / 1_000 : undefined;
  }
  return undefined;
}

/** Formats a date for HTTP headers. */
export function formatHttpDate(seconds: number): string {
  return new Date(seconds * 1_000).toUTCString();
}

/**
 * Returns the available content coding with the highest weight in an Accept-Encoding header, the
 * first one of equal weights; undefined if none is accepted. `*` matches all codings that are not
 * in the header.
 * @see RFC 9110 section 12.5.3
 */
export function chooseEncoding(header: string | undefined, available: readonly Encoding[] = ENCODINGS): Encoding | undefined {
  if (!header) return undefined;
  const weights = parseWeights(header);
  const gzip = weights.get("x-gzip");
  if (gzip !== undefined) weights.set("gzip", gzip);
  const getWeight = (encoding: Encoding): number => weights.get(encoding) ?? weights.get("*") ?? 0;
  let best: Encoding | undefined;
  for (const encoding of available) if (getWeight(encoding) > (best === undefined ? 0 : getWeight(best))) best = encoding;
  return best;
}

/**
 * Returns the available media type with the highest weight in an Accept header, the first one of
 * equal weights.
 */
export function choosePreferredType(header: string | undefined, available: readonly string[]): string | undefined {
  const weights = parseWeights(header || "*/*");
  const getWeight = (type: string): number => weights.get(type) ?? weights.get(`${type.split("/", 1)[0]}/*`) ?? weights.get("*/*") ?? 0;
  return available.reduce<string | undefined>(
    (best, type) => (getWeight(type) > (best === undefined ? 0 : getWeight(best)) ? type : best),
    undefined,
  );
}

/** Parses a header that lists names with weights. Returns the names in lower case. */
function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const piece of header.split(",")) {
    const [name = "", ...parameters] = piece.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  return weights;
}

/** Identifies the content of a response. */
export interface Validators {
  /** Strong entity tags of all representations, in quotes. */
  etags: readonly string[];
  /** Whole seconds since the epoch. If undefined, conditions with dates are ignored. */
  lastModified: number | undefined;
}

/** The response to a conditional request: the content, 304 or 412. */
export type PreconditionResult = "proceed" | "notModified" | "failed";

const ETAG = /(W\/)?("[!\u0023-\u007e\u0080-\uffff]*")/y;

/**
 * Evaluates the conditional headers of a GET or HEAD request. Ignores invalid dates. The entity tag
 * of any coding matches, because all codings have the same content.
 * @see RFC 9110 section 13.2.2
 */
export function evaluatePreconditions(headers: IncomingHttpHeaders, { etags, lastModified }: Validators): PreconditionResult {
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
 * Returns whether a Range header applies: If-Range is absent or matches exactly this
 * representation.
 * @param etag entity tag of the representation whose ranges are served.
 */
export function isRangeApplicable(ifRange: string | undefined, etag: string, lastModified: number): boolean {
  if (!ifRange) return true;
  if (ifRange.startsWith('"') || ifRange.startsWith("W/")) return ifRange.trim() === etag;
  return parseHttpDate(ifRange) === lastModified;
}

/** Parses a list of entity tags up to the first error; `*` matches everything. */
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

/** A requested range: `length` bytes from `start`. */
export interface ByteRange {
  start: number;
  length: number;
}

/** The ranges that a Range header requests, or why they cannot be served. */
export type Ranges =
  | { readonly kind: "parts"; readonly parts: readonly ByteRange[] }
  /** Every range is after the end. */
  | { readonly kind: "none" }
  | { readonly kind: "invalid" }
  /** Too many ranges: the header is ignored. @see RFC 9110 section 14.2 */
  | { readonly kind: "tooMany" };

const MAX_PARTS = 128;

/**
 * Parses a Range header for content of `size` bytes. Omits ranges after the end; the result is
 * "none" if no range is left.
 * @see Go 1.26 net/http/fs.go, parseRange
 */
export function parseRangeHeader(header: string, size: number): Ranges {
  if (!header.startsWith("bytes=")) return { kind: "invalid" };
  const parts: ByteRange[] = [];
  let isAfterEnd = false;
  for (const piece of header.slice("bytes=".length).split(",")) {
    const spec = piece.trim();
    if (spec === "") continue;
    if (parts.length >= MAX_PARTS) return { kind: "tooMany" };
    const found = /^(\d*)[ \t]*-[ \t]*(\d*)$/.exec(spec);
    const [, first = "", last = ""] = found ?? [];
    if (!found || (first === "" && last === "")) return { kind: "invalid" };
    if (first === "") {
      const length = Math.min(Number(last), size);
      if (length === 0) isAfterEnd = true;
      else parts.push({ start: size - length, length });
      continue;
    }
    const start = Number(first);
    if (start >= size) {
      isAfterEnd = true;
      continue;
    }
    if (last !== "" && start > Number(last)) return { kind: "invalid" };
    const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
    parts.push({ start, length: end - start + 1 });
  }
  return isAfterEnd && parts.length === 0 ? { kind: "none" } : { kind: "parts", parts };
}

/** Formats the Content-Range header for one range. */
export function formatContentRange({ start, length }: ByteRange, size: number): string {
  return `bytes ${start}-${start + length - 1}/${size}`;
}
