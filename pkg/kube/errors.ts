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
 * @see k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1 Status
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

/** No request was sent, since there was no token or no credential for it. */
export class NoCredential extends RetryableError {}

/** True for 404. The cause chain is not searched: a wrapped error is about something else. */
export function isNotFound(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 404;
}

/** True for the 404 of a write of an object whose namespace does not exist. */
export function isNamespaceMissing(err: unknown): err is KubeError {
  return isNotFound(err) && err.details?.["kind"] === "namespaces";
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

/** How RBAC denies; admission and quotas have status 403 too. @see kubernetes v1.36.3 apiserver pkg/endpoints/handlers/responsewriters/errors.go */
const RBAC_DENIED = /is forbidden: User ".*" cannot /;

/** True for a 403 of the authorizer, for which the API server has no code of its own. */
export function isRbacDenied(err: unknown): err is KubeError {
  return isForbidden(err) && RBAC_DENIED.test(err.message);
}

/** How a ValidatingAdmissionPolicy and a webhook deny; the first has status 422 unless it says otherwise. */
const DENIED = /ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request|admission webhook "[^"]*" denied the request/;

/** True where somebody else than the object's author has a say: for 403, and for what an admission policy or webhook denies, with any status. */
export function isDenied(err: unknown): err is KubeError {
  return err instanceof KubeError && (err.status === 403 || (err.status < 500 && DENIED.test(err.message)));
}

/** True for 422. */
export function isInvalid(err: unknown): err is KubeError {
  return err instanceof KubeError && err.status === 422;
}

/** How the quota admission plugin denies a request. */
const QUOTA = /exceeded quota: |status unknown for quota: /;

/**
 * True when a ResourceQuota denied the request. The answer is a plain Forbidden: its `details` name the object only and it has no `causes`,
 * so its text is the protocol.
 * @see https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/admission/plugin/resourcequota/controller.go#L622
 */
export function isQuotaExceeded(err: unknown): err is KubeError {
  return isForbidden(err) && QUOTA.test(err.message);
}

/** How validation denies a change of an immutable field: of most kinds, of a binding's roleRef, and of a StatefulSet. */
const IMMUTABLE = /field is immutable|cannot change roleRef|updates to .* for fields other than .* are forbidden/;

/**
 * True when the API server denied an update only because of immutable fields: any other mistake would be there after a deletion too. The
 * `reason` and `field` of a cause are the same for an immutable selector and for an empty one (FieldValueInvalid, spec.selector), so the
 * text of each cause is the protocol.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/objectmeta.go#L34
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/rbac/validation/validation.go#L166
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/apps/validation/validation.go#L268
 */
export function isImmutableField(err: unknown): err is KubeError {
  if (!isInvalid(err)) return false;
  const causes = err.details?.["causes"];
  const messages = Array.isArray(causes) ? causes.map(messageIn) : [err.message];
  return messages.length > 0 && messages.every((message) => IMMUTABLE.test(message));
}

function messageIn(cause: unknown): string {
  return typeof cause === "object" && cause !== null && "message" in cause && typeof cause.message === "string" ? cause.message : "";
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

/** Statuses that say nothing about what was asked: somebody else wrote at the same time, or the server is not at its best. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 409, 429]);
/** How an admission webhook speaks, or the API server of one that it could not call: with whatever status, that is about the object. */
const OF_WEBHOOK = /admission webhook "|failed calling webhook/;

/**
 * Whether the very same request may succeed the next time, nothing having been changed: there was no answer or no credential, another write
 * came in between, or the server was too busy or failed. False for refusals, those of admission webhooks included, and for what is unknown.
 * The first error of the cause chain that is about a request decides.
 */
export function isPassing(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause) {
    if (e instanceof NoCredential) return true;
    if (e instanceof KindNotServed) return false;
    if (e instanceof KubeError) return (PASSING.has(e.status) || e.status >= 500) && !OF_WEBHOOK.test(e.message);
    if ("code" in e && typeof e.code === "string") return true; // of Node or undici: the connection broke, or there was none
  }
  return false;
}
