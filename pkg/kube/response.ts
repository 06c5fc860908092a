import type { JsonObject } from "../api/k8s.ts";
import type { HttpResponse } from "../http/types.ts";
import { redactUserinfo } from "../text/redact.ts";
import { truncate } from "../text/truncate.ts";
import { KubeError } from "./errors.ts";

/** Maximum size of a response; a larger one is an error, to limit memory. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;
/** A line contains one object: etcd rejects objects over 1.5 MB, and the API server rejects requests over 3 MB. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Reads the whole of `body` as text. @throws Error if it is larger than 512 MiB. */
export async function readBodyText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw new Error(`the response of the API server is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Reads `body` as bytes; returns undefined without reading the rest if it is larger than
 * `maxBytes`.
 */
export async function readBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/**
 * Yields the parsed value of each line of `body`, however it is split into chunks. Skips empty lines, and an incomplete last line after a broken
 * connection.
 * @throws SyntaxError for a line that is not JSON; Error for a line over 32 MiB.
 */
export async function* jsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator {
  let pending: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...pending, chunk.subarray(start, end)]).toString("utf8");
      pending = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== "") yield JSON.parse(line);
    }
    if (start === chunk.byteLength) continue;
    pending.push(chunk.subarray(start));
    size += chunk.byteLength - start;
    if (size > MAX_LINE_BYTES) throw new Error(`a watch event is larger than ${MAX_LINE_BYTES} bytes`);
  }
}

/** Maximum length of text from a response that is not a Status, for example a proxy's HTML page. */
const MAX_FOREIGN_TEXT = 512;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Returns the error for a response of the API server. Its message may quote the request, so users
 * and passwords in URLs are removed.
 * @param body parsed JSON, or the text if it is not JSON.
 * @param retryAfter the Retry-After header: seconds, or an HTTP date.
 */
export function toKubeError(status: number, body: unknown, retryAfter?: string, now: number = Date.now()): KubeError {
  const foreign = typeof body === "string" ? body.trim().slice(0, MAX_FOREIGN_TEXT) : "";
  const s: JsonObject = isStatus(body) ? body : {};
  const details = typeof s["details"] === "object" && s["details"] !== null ? (s["details"] as JsonObject) : undefined;
  const message = typeof s["message"] === "string" && s["message"] !== "" ? s["message"] : foreign || `the server responded with ${status}`;
  const seconds = typeof details?.["retryAfterSeconds"] === "number" ? details["retryAfterSeconds"] : undefined;
  return new KubeError(redactUserinfo(message), {
    status: typeof s["code"] === "number" ? s["code"] : status,
    reason: typeof s["reason"] === "string" ? s["reason"] : "",
    details,
    retryAfterMs: parseRetryAfterMs(retryAfter, now) ?? (seconds === undefined ? undefined : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)),
  });
}

/** Parses a Retry-After header into milliseconds, at most a minute; undefined if absent or invalid. */
export function parseRetryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header === "") return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : undefined;
}

/** Returns true if a 404 means that the path is not served (group, version or resource). A 404 for a missing object contains its name. */
export function isPathNotFound(err: KubeError): boolean {
  return err.status === 404 && typeof err.details?.["name"] !== "string" && typeof err.details?.["kind"] !== "string";
}

function isStatus(body: unknown): body is JsonObject {
  return typeof body === "object" && body !== null && (body as JsonObject)["kind"] === "Status";
}

/** Transforms a text of the server before it is reported, for example to hide values. */
export type TextFilter = (text: string) => string;

/**
 * Returns the parsed body of a response; undefined if it is empty. @throws KubeError for every
 * status from 400.
 */
export async function readResponse(response: HttpResponse, filterText: TextFilter): Promise<unknown> {
  if (response.statusCode >= 400) throw await readErrorResponse(response, filterText);
  const text = await readBodyText(response.body);
  return text === "" ? undefined : JSON.parse(text);
}

/** Returns the error of a response with status 400 or above. */
export async function readErrorResponse(response: HttpResponse, filterText: TextFilter): Promise<KubeError> {
  const text = await readBodyText(response.body);
  const retryAfter = response.headers["retry-after"];
  const err = toKubeError(response.statusCode, parseJsonOrText(text), typeof retryAfter === "string" ? retryAfter : undefined);
  const message = filterText(err.message);
  return message === err.message ? err : new KubeError(message, err);
}

/** Parses JSON; returns the text itself if it is invalid. */
export function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Maximum number of parsed warnings of one response; the API server sends at most about 4 KB of
 * them.
 */
const MAX_WARNINGS = 50;
/** Maximum characters of one text. */
const MAX_TEXT = 500;
/** `299 agent "text" "date"` with an optional date, and the separator after it. */
const WARNING = String.raw`\s*\d{3} [^\s"]+ "((?:[^"\\]|\\.)*)"(?:\s*"[^"]*")?\s*(?:,|$)`;
/** Unprintable characters: all except letters, marks, numbers, punctuation, symbols and the space. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]+/gu;

/**
 * Returns the texts of a response's Warning headers in order, without duplicates: at most 50, of at
 * most 500 characters. They are untrusted, for example from admission webhooks: unprintable
 * characters are replaced with U+FFFD, and users and passwords in URLs removed. Stops at the first
 * invalid header.
 * @param header as returned by an HTTP client: one value, several, or several joined with commas;
 * bytes as Latin-1, or text.
 * @see https://www.rfc-editor.org/rfc/rfc7234#section-5.5
 * @see k8s.io/apimachinery v0.36.3 pkg/util/net ParseWarningHeaders
 */
export function parseWarnings(header: string | readonly string[] | undefined): string[] {
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
  return truncate(redactUserinfo(text).trim().replace(UNPRINTABLE, "\ufffd"), MAX_TEXT);
}

/** HTTP clients return header bytes as Latin-1, but the API server sends UTF-8. */
function utf8(text: string): string {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.toString("latin1") !== text) return text;
  const decoded = bytes.toString("utf8");
  return decoded.includes("\ufffd") ? text : decoded;
}
