import { STATUS_CODES } from "node:http";
import { type RegistryResponse, retryAfterMs } from "./transport.ts";

/** The default message of each error code of the distribution specification, as registries and containers/image know them. */
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

/** A registry answered, but not with what was asked for. */
export class RegistryError extends Error {
  readonly status: number;
  /** what the registry asked to wait */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, status: number, wait?: number) {
    super(message);
    this.name = new.target.name;
    this.status = status;
    this.retryAfterMs = wait;
  }
}

/** A registry that asks to wait longer is asked again after this long all the same. */
const WAIT_LIMIT_MS = 60 * 60_000;

/** What the registry whose answer ended `err` asked to wait, in milliseconds, at most an hour; undefined when it asked for nothing. */
export function registryWaitOf(err: unknown): number | undefined {
  for (let e = err; e instanceof Error; e = e.cause)
    if (e instanceof RegistryError && e.retryAfterMs !== undefined) return Math.min(e.retryAfterMs, WAIT_LIMIT_MS);
  return undefined;
}

/** The error a failed answer stands for, worded as containers/image words it; reads the body. */
export async function registryError(response: RegistryResponse): Promise<RegistryError> {
  const { status } = response;
  const wait = retryAfterMs(response.headers["retry-after"], Date.now());
  const text = await startOf(response);
  if (status >= 500 || status < 400 || response.foreign) return new RegistryError(unexpectedStatus(status), status, wait);
  return new RegistryError(describe(status, text), status, wait);
}

/** "received unexpected HTTP status: 503 Service Unavailable" */
export function unexpectedStatus(status: number): string {
  return `received unexpected HTTP status: ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
}

/**
 * What an answer of 4xx says.
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

/** The first of `{"errors": [{"code", "message"}]}`, or the old `{"details"}`. */
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

/** The first bytes of a body as text; the rest is thrown away. */
async function startOf(response: RegistryResponse): Promise<string> {
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
