import { STATUS_CODES } from "node:http";
import { parseRetryAfter, type RegistryResponse } from "./transport.ts";

/**
 * The default message of each error code of the distribution specification, as in registries and
 * containers/image.
 */
const MESSAGES = new Map([
  ["UNKNOWN", "unknown error"],
  ["UNSUPPORTED", "The operation is unsupported."],
  ["UNAUTHORIZED", "authentication required"],
  ["DENIED", "requested access to the resource is denied"],
  ["UNAVAILABLE", "service unavailable"],
  ["TOOMANYREQUESTS", "too many requests"],
  ["DIGEST_INVALID", "provided digest did not match uploaded content"],
  ["SIZE_INVALID", "provided length did not match content length"],
  ["NAME_INVALID", "invalid repository name"],
  ["TAG_INVALID", "manifest tag did not match URI"],
  ["NAME_UNKNOWN", "repository name not known to registry"],
  ["MANIFEST_UNKNOWN", "manifest unknown"],
  ["MANIFEST_INVALID", "manifest invalid"],
  ["MANIFEST_UNVERIFIED", "manifest failed signature verification"],
  ["MANIFEST_BLOB_UNKNOWN", "blob unknown to registry"],
  ["BLOB_UNKNOWN", "blob unknown to registry"],
  ["BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry"],
  ["BLOB_UPLOAD_INVALID", "blob upload invalid"],
  ["RANGE_INVALID", "invalid content range"],
]);
const BODY_LIMIT = 64 * 1024;
const SHOWN_LIMIT = 300;

/** A registry responded with an error. */
export class RegistryError extends Error {
  readonly status: number;
  /** the delay that the registry requested */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status: number, wait?: number) {
    super(message);
    this.name = new.target.name;
    this.status = status;
    this.retryAfterMs = wait;
  }
}

/** Returns whether the error, or one of its causes, is the response of a registry. */
export function isRegistryFailure(err: unknown): boolean {
  return err instanceof Error && (err instanceof RegistryError || isRegistryFailure(err.cause));
}

/** Maximum delay; a longer requested delay is reduced to this value. */
const WAIT_LIMIT_MS = 60 * 60_000;

/**
 * Returns the delay that the registry requested in the response that caused `err`, in milliseconds,
 * at most an hour; undefined if it requested none.
 */
export function getRegistryWaitMs(err: unknown): number | undefined {
  for (let e = err; e instanceof Error; e = e.cause)
    if (e instanceof RegistryError && e.retryAfterMs !== undefined) return Math.min(e.retryAfterMs, WAIT_LIMIT_MS);
  return undefined;
}

/** Returns the error for a failed response, with the text of containers/image; reads the body. */
export async function readRegistryError(response: RegistryResponse): Promise<RegistryError> {
  const { status } = response;
  const wait = parseRetryAfter(response.headers["retry-after"], Date.now());
  const text = await readStart(response);
  if (status >= 500 || status < 400 || response.foreign) return new RegistryError(formatUnexpectedStatus(status), status, wait);
  return new RegistryError(describe(status, text), status, wait);
}

/** Returns "received unexpected HTTP status: 503 Service Unavailable". */
export function formatUnexpectedStatus(status: number): string {
  return `received unexpected HTTP status: ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
}

/**
 * Describes a 4xx response.
 * @param text the body
 */
function describe(status: number, text: string): string {
  const first = firstError(text);
  if (first === undefined)
    return status === 401
      ? "authentication required"
      : `StatusCode: ${status}, ${JSON.stringify(text.length > 50 ? `${text.slice(0, 50)}...` : text)}`;
  const code = MESSAGES.has(first.code) ? first.code : "UNKNOWN";
  const words = code.toLowerCase().replaceAll("_", " ");
  if (first.message === "") return words;
  const shown = first.message.slice(0, SHOWN_LIMIT).replaceAll(/\s+/g, " ");
  return first.message === MESSAGES.get(code) ? shown : `${words}: ${shown}`;
}

/** Returns the first of `{"errors": [{"code", "message"}]}`, or the old `{"details"}`. */
function firstError(text: string): { code: string; message: string } | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof body !== "object" || body === null) return undefined;
  const { errors, details } = body as { errors?: unknown; details?: unknown };
  if (typeof details === "string" && details !== "") return { code: "UNKNOWN", message: details };
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof first !== "object" || first === null) return undefined;
  const { code, message } = first as { code?: unknown; message?: unknown };
  return { code: typeof code === "string" ? code : "UNKNOWN", message: typeof message === "string" ? message : "" };
}

/** Returns the first bytes of a body as text and discards the rest. */
async function readStart(response: RegistryResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > BODY_LIMIT) break;
    }
  } catch {
    return "";
  }
  return Buffer.concat(chunks).toString("utf8").slice(0, BODY_LIMIT);
}
