import type { JsonObject } from "../api/k8s.ts";
import { redactUserinfo } from "../text/redact.ts";
import { KubeError } from "./errors.ts";

/** Text of an answer that is no Status is cut here; a proxy's HTML page is no message. */
const MAX_FOREIGN_TEXT = 512;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * The error for an answer of the API server, which may quote what it was sent: users and passwords in URLs are left out of its message.
 * @param body parsed JSON, or the text when it was none.
 * @param retryAfter the Retry-After header: seconds, or an HTTP date.
 */
export function kubeErrorFrom(status: number, body: unknown, retryAfter?: string, now: number = Date.now()): KubeError {
  const foreign = typeof body === "string" ? body.trim().slice(0, MAX_FOREIGN_TEXT) : "";
  const s: JsonObject = isStatus(body) ? body : {};
  const details = typeof s["details"] === "object" && s["details"] !== null ? (s["details"] as JsonObject) : undefined;
  const message = typeof s["message"] === "string" && s["message"] !== "" ? s["message"] : foreign || `the server answered ${status}`;
  const seconds = typeof details?.["retryAfterSeconds"] === "number" ? details["retryAfterSeconds"] : undefined;
  return new KubeError(redactUserinfo(message), {
    status: typeof s["code"] === "number" ? s["code"] : status,
    reason: typeof s["reason"] === "string" ? s["reason"] : "",
    details,
    retryAfterMs: retryAfterMsFrom(retryAfter, now) ?? (seconds === undefined ? undefined : Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)),
  });
}

/** Milliseconds a Retry-After header asks for, at most a minute; undefined when absent or unreadable. */
export function retryAfterMsFrom(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header === "") return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : undefined;
}

/** True when a 404 is about the path (group, version or resource not served) and not about one object, whose name it would carry. */
export function isPathNotFound(err: KubeError): boolean {
  return err.status === 404 && typeof err.details?.["name"] !== "string" && typeof err.details?.["kind"] !== "string";
}

function isStatus(body: unknown): body is JsonObject {
  return typeof body === "object" && body !== null && (body as JsonObject)["kind"] === "Status";
}
