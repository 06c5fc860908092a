import type { JsonObject } from "../api/k8s.ts";
import { RetryableError } from "../errors/errors.ts";

/** The fields of a KubeError in addition to its text. */
export interface KubeErrorInit {
  status: number;
  reason: string;
  details?: JsonObject | undefined;
  retryAfterMs?: number | undefined;
}

/**
 * An unsuccessful response of the API server, or a request that was not sent because its path would be invalid. The message is the server's text,
 * which for a 403 contains verb, resource, name and namespace.
 * @see k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1 Status
 */
export class KubeError extends Error {
  override readonly name = "KubeError";
  /** HTTP status, or the code of an ERROR event of a watch. */
  readonly status: number;
  /** metav1.StatusReason such as "Conflict"; empty if the response is not a Status. */
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

/** The cluster does not serve a kind, even after new discovery. It may serve the kind later, after a CRD or APIService is added. */
export class KindNotServed extends RetryableError {
  readonly apiVersion: string;
  readonly kind: string;

  constructor(apiVersion: string, kind: string) {
    super("KindNotServed", `no matches for kind "${kind}" in version "${apiVersion}"`);
    this.apiVersion = apiVersion;
    this.kind = kind;
  }
}

/** No request was sent, because there was no token or credential for it. */
export class NoCredential extends RetryableError {}

/** Returns true for 404. Ignores causes of the error, because they concern another request. */
export function isNotFound(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 404;
}

/** Returns true for the 404 of a write to a namespace that does not exist. */
export function isNamespaceMissing(err: unknown): err is KubeError {
  return isNotFound(err) && err.details?.["kind"] === "namespaces";
}

/**
 * Returns true for a 409 that is not AlreadyExists: a stale resourceVersion, a failed precondition,
 * or fields of another manager.
 */
export function isConflict(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 409 && err.reason !== "AlreadyExists";
}

/** Returns true for the 409 of a create. */
export function isAlreadyExists(err: unknown): err is KubeError {
  return err instanceof KubeError && err.reason === "AlreadyExists";
}

/** Returns true for 403: RBAC, admission or quota. */
export function isForbidden(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 403;
}

/**
 * Parts of the text of an RBAC denial, in order; admission and quotas use status 403 too.
 * @see kubernetes v1.36.3 apiserver pkg/endpoints/handlers/responsewriters/errors.go
 */
const RBAC_DENIED = ['is forbidden: User "', '" cannot '] as const;

/** Returns true for a 403 of the authorizer. The API server has no separate code for it, so the text decides. */
export function isRbacDenied(err: unknown): err is KubeError {
  return isForbidden(err) && containsInOrder(err.message, RBAC_DENIED);
}

/**
 * Reports whether `text` contains all parts in this order. Takes linear time, unlike an expression
 * with `.*`: the API server quotes values of any length from bundles.
 */
function containsInOrder(text: string, parts: readonly string[]): boolean {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

/** Texts of denials by a ValidatingAdmissionPolicy (status 422 by default) and by a webhook. */
const DENIED = /ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request|admission webhook "[^"]*" denied the request/;

/**
 * Returns true if the request was denied by a rule of the cluster and not because the object is invalid: for 403, and for denials by an admission
 * policy or webhook with any status.
 */
export function isDenied(err: unknown): err is KubeError {
  return err instanceof KubeError && (err.status === 403 || (err.status < 500 && DENIED.test(err.message)));
}

/** Text of the cause of a denial by a ValidatingAdmissionPolicy. */
const DENIED_BY_POLICY = /^ValidatingAdmissionPolicy '([^']*)' (?:with binding '[^']*' )?denied request: /;

/**
 * Returns the ValidatingAdmissionPolicy that denied a request; undefined for any other error. The status depends on the policy, so the cause of the
 * denial decides.
 * @see https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/admission/plugin/policy/validating/dispatcher.go
 */
export function findDenyingPolicy(err: unknown): string | undefined {
  const causes = err instanceof KubeError ? err.details?.["causes"] : undefined;
  if (!Array.isArray(causes)) return undefined;
  return causes.map((cause) => DENIED_BY_POLICY.exec(readMessage(cause))?.[1]).find((name) => name !== undefined);
}

/**
 * Returns true if a dry run was rejected only because an admission webhook has side effects. The response is a plain BadRequest.
 * @see https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/admission/plugin/webhook/errors/statuserror.go
 */
export function isDryRunUnsupported(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 400 && NO_DRY_RUN.test(err.message);
}

const NO_DRY_RUN = /admission webhook "[^"]*" does not support dry run/;

/** Returns true for 422. */
export function isInvalid(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 422;
}

/** Texts of denials by the quota admission plugin. */
const QUOTA = /exceeded quota: |status unknown for quota: /;

/**
 * Returns true if a ResourceQuota denied the request. The response is a plain Forbidden: its
 * `details` contain only the object, and it has no `causes`, so only its text identifies it.
 * @see
 * https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/admission/plugin/resourcequota/controller.go#L622
 */
export function isQuotaExceeded(err: unknown): err is KubeError {
  return isForbidden(err) && QUOTA.test(err.message);
}

/**
 * Parts, in order, of the texts of validation errors for immutable fields: of most kinds, of a
 * binding's roleRef, and of a StatefulSet.
 */
const IMMUTABLE: readonly (readonly string[])[] = [
  ["field is immutable"],
  ["cannot change roleRef"],
  ["updates to ", " for fields other than ", " are forbidden"],
];

/**
 * Returns true if the API server denied an update only because of immutable fields: any other error
 * would remain after a deletion. The `reason` and `field` of a cause are the same for an immutable
 * selector and for an empty one (FieldValueInvalid, spec.selector), so only the text of each cause
 * identifies it.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/objectmeta.go#L34
 * @see
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/validation/validation.go#L166
 * @see
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/apps/validation/validation.go#L268
 */
export function isImmutableField(err: unknown): err is KubeError {
  if (!isInvalid(err)) return false;
  const causes = err.details?.["causes"];
  const messages = Array.isArray(causes) ? causes.map(readMessage) : [err.message];
  return messages.length > 0 && messages.every((message) => IMMUTABLE.some((parts) => containsInOrder(message, parts)));
}

function readMessage(cause: unknown): string {
  return typeof cause === "object" && cause !== null && "message" in cause && typeof cause.message === "string" ? cause.message : "";
}

/**
 * Returns true if a list or watch must restart because the resourceVersion or continue token is too
 * old (410 Gone, Expired).
 */
export function isExpired(err: unknown): err is KubeError {
  return err instanceof KubeError && (err.status === 410 || err.reason === "Expired");
}

/** Returns true if a list must not be older than a resourceVersion that the cache of the API server has not reached in time (504 Timeout). */
export function isTooLargeVersion(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 504;
}

/**
 * Returns the delay that the server requested, from the first error in the cause chain that has
 * one.
 */
export function getRetryAfterMs(err: unknown): number | undefined {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof KubeError && e.retryAfterMs !== undefined) return e.retryAfterMs;
  return undefined;
}

/** Status codes that do not depend on the content of the request: a conflicting write, or an overloaded server. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 409, 429]);
/** Texts of an admission webhook, and of the API server if it could not call one. These denials concern the object, with any status. */
const OF_WEBHOOK = /admission webhook "|failed calling webhook/;

/**
 * Returns whether the same request may succeed later without changes: there was no response or no credential, another write interfered, or the server
 * was overloaded or failed. Returns false for denials, including those of admission webhooks, and for unknown errors. Uses the first error in the
 * cause chain that concerns a request.
 */
export function isPassing(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof NoCredential) return true;
    if (e instanceof KindNotServed) return false;
    if (e instanceof KubeError) return (PASSING.has(e.status) || e.status >= 500) && !OF_WEBHOOK.test(e.message);
    if ("code" in e && typeof e.code === "string") return true; // of Node or undici: the connection failed
  }
  return false;
}
