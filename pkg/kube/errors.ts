import type { JsonObject } from "../api/k8s.ts";
import { RetryableError } from "../errors/errors.ts";

/** What a KubeError holds beside its text. */
export interface KubeErrorInit {
  status: number;
  reason: string;
  details?: JsonObject | undefined;
  retryAfterMs?: number | undefined;
}

/**
 * An answer of the API server that is no success. The text is the server's own: that of a 403 names verb, resource, name and namespace.
 * @see k8s.io/apimachinery pkg/apis/meta/v1 Status
 */
export class KubeError extends Error {
  override readonly name = "KubeError";
  /** HTTP status, or the code of an ERROR event of a watch. */
  readonly status: number;
  /** metav1.StatusReason such as "Conflict"; empty when the answer was no Status. */
  readonly reason: string;
  readonly details?: JsonObject;
  readonly retryAfterMs?: number;

  constructor(message: string, init: KubeErrorInit) {
    super(message);
    this.status = init.status;
    this.reason = init.reason;
    if (init.details !== undefined) this.details = init.details;
    if (init.retryAfterMs !== undefined) this.retryAfterMs = init.retryAfterMs;
  }
}

/** The cluster does not serve a kind, also not after fresh discovery. It may later, when a CRD or APIService appears. */
export class KindNotServed extends RetryableError {
  readonly apiVersion: string;
  readonly kind: string;

  constructor(apiVersion: string, kind: string) {
    super("KindNotServed", `no matches for kind "${kind}" in version "${apiVersion}"`);
    this.apiVersion = apiVersion;
    this.kind = kind;
  }
}

/** True for 404. The cause chain is not searched: a wrapped error is about something else. */
export function isNotFound(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 404;
}

/** True for a 409 that is no AlreadyExists: a stale resourceVersion, a failed precondition, or fields another manager owns. */
export function isConflict(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 409 && err.reason !== "AlreadyExists";
}

/** True for a 409 of a create. */
export function isAlreadyExists(err: unknown): err is KubeError {
  return err instanceof KubeError && err.reason === "AlreadyExists";
}

/** True for 403: RBAC, admission or quota. */
export function isForbidden(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 403;
}

/** True for 422. */
export function isInvalid(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 422;
}

/** True when a list or watch must start anew: the resourceVersion or continue token is too old (410 Gone, Expired). */
export function isExpired(err: unknown): err is KubeError {
  return err instanceof KubeError && (err.status === 410 || err.reason === "Expired");
}

/** How long the server asked to wait, from the first error in the cause chain that says so. */
export function retryAfterMsOf(err: unknown): number | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof KubeError && e.retryAfterMs !== undefined) return e.retryAfterMs;
  return undefined;
}
