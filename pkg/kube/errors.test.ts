import { expect, test } from "vitest";
import type { JsonObject } from "../api/k8s.ts";
import {
  findDenyingPolicy,
  getRetryAfterMs,
  isAlreadyExists,
  isConflict,
  isDenied,
  isDryRunUnsupported,
  isExpired,
  isForbidden,
  isNotFound,
  isPassing,
  isRbacDenied,
  KindNotServed,
  KubeError,
  NoCredential,
} from "./errors.ts";
import { isPathNotFound, parseRetryAfterMs, toKubeError } from "./response.ts";

const FORBIDDEN =
  'deployments.apps "x" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "a"';

test.for<[status: number, text: string, denied: boolean]>([
  [403, FORBIDDEN, true],
  [422, "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", true],
  [400, 'admission webhook "w.example.com" denied the request: no', true],
  [422, 'Deployment.apps "x" is invalid: spec.replicas: Invalid value: -1', false],
  [500, 'admission webhook "w.example.com" denied the request: no', false],
  [500, 'Internal error occurred: failed calling webhook "w.example.com"', false],
])("isDenied for status %s and text %j returns %s", ([status, text, denied]) => {
  expect(isDenied(new KubeError(text, { status, reason: "" }))).toBe(denied);
});

test.for<[status: number, text: string, denied: boolean]>([
  [403, FORBIDDEN, true],
  [403, '" cannot patch: it is forbidden: User "x" may not', false],
  [403, 'pods "a" is forbidden: exceeded quota: q, requested: pods=1', false],
  [422, FORBIDDEN, false],
])("isRbacDenied for status %s and text %j returns %s", ([status, text, denied]) => {
  expect(isRbacDenied(new KubeError(text, { status, reason: "" }))).toBe(denied);
});

test.for<[status: number, causes: unknown, policy: string | undefined]>([
  [422, [{ message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no" }], "p"],
  [403, [{ message: "ValidatingAdmissionPolicy 'p' denied request: no" }], "p"],
  [422, [{ message: "Invalid value: \"ValidatingAdmissionPolicy 'p' denied request: no\"" }], undefined],
  [422, undefined, undefined],
])("findDenyingPolicy for status %s and causes %j returns %s", ([status, causes, policy]) => {
  const details = causes === undefined ? {} : { details: { causes } as JsonObject };
  expect(findDenyingPolicy(new KubeError("no", { status, reason: "Invalid", ...details }))).toBe(policy);
});

test.for<[status: number, text: string, unsupported: boolean]>([
  [400, 'admission webhook "w.example.com" does not support dry run', true],
  [400, 'admission webhook "w.example.com" denied the request: this object does not support dry run', false],
  [422, 'admission webhook "w.example.com" does not support dry run', false],
])("isDryRunUnsupported for status %s and text %j returns %s", ([status, text, unsupported]) => {
  expect(isDryRunUnsupported(new KubeError(text, { status, reason: "" }))).toBe(unsupported);
});

test("toKubeError does not change the message of a 403", () => {
  const err = toKubeError(403, { kind: "Status", code: 403, reason: "Forbidden", message: FORBIDDEN, details: { name: "x" } });
  expect(isForbidden(err)).toBe(true);
  expect(err.message).toBe(FORBIDDEN);
});

test("toKubeError removes a password from text that the API server quotes", () => {
  const err = toKubeError(422, { kind: "Status", message: 'env: Invalid value: "http://user:s3cr3t@proxy:3128"' });
  expect(err.message).toBe('env: Invalid value: "http://[redacted]@proxy:3128"');
});

test("toKubeError truncates a body that is not a Status", () => {
  const err = toKubeError(502, `<html>${"x".repeat(10_000)}`);
  expect([err.status, err.reason, err.message.length]).toEqual([502, "", 512]);
  expect(toKubeError(500, "").message).toBe("the server responded with 500");
});

test.for<[string, number | undefined]>([
  ["1", 1_000],
  ["0", 0],
  ["3600", 60_000],
  ["Sat, 01 Jan 2000 00:00:05 GMT", 5_000],
  ["Fri, 31 Dec 1999 00:00:00 GMT", 0],
  ["soon", undefined],
  ["", undefined],
])("parseRetryAfterMs parses Retry-After %j as %j ms", ([header, want]) => {
  expect(parseRetryAfterMs(header, Date.parse("2000-01-01T00:00:00Z"))).toBe(want);
});

test("getRetryAfterMs finds the delay in the cause chain", () => {
  const cause = toKubeError(429, { kind: "Status", details: { retryAfterSeconds: 2 } });
  expect(getRetryAfterMs(new Error("outer", { cause }))).toBe(2_000);
  expect(getRetryAfterMs(new Error("outer"))).toBeUndefined();
});

test("error predicates check the error itself, not its cause", () => {
  const notFound = new KubeError("gone", { status: 404, reason: "NotFound" });
  expect([isNotFound(notFound), isNotFound(new Error("outer", { cause: notFound }))]).toEqual([true, false]);
  const exists = new KubeError("there", { status: 409, reason: "AlreadyExists" });
  expect([isConflict(exists), isAlreadyExists(exists)]).toEqual([false, true]);
  expect(isExpired(new KubeError("old", { status: 410, reason: "Expired" }))).toBe(true);
});

test("isPathNotFound distinguishes a 404 of a path from a 404 of an object", () => {
  const about = (details: object): boolean => isPathNotFound(toKubeError(404, { kind: "Status", code: 404, reason: "NotFound", details }));
  expect(about({})).toBe(true);
  expect(about({ name: "x", kind: "pods" })).toBe(false);
  expect(isPathNotFound(toKubeError(404, "404 page not found\n"))).toBe(true);
});

const undici = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });

// Source: O-04. Only denied requests are undone.
test.for<[name: string, err: unknown, passing: boolean]>([
  ["a broken connection", undici, true],
  ["a wrapped broken connection", new Error("2 errors occurred", { cause: undici }), true],
  [
    "no token",
    new NoCredential("Retrying", "get a token: not found", { cause: new KubeError("x", { status: 404, reason: "NotFound" }) }),
    true,
  ],
  ["401", new KubeError("Unauthorized", { status: 401, reason: "Unauthorized" }), true],
  ["another writer", new KubeError("the object has been modified", { status: 409, reason: "Conflict" }), true],
  ["too busy", new KubeError("too many requests", { status: 429, reason: "TooManyRequests" }), true],
  ["etcd does not respond", new KubeError("etcdserver: request timed out", { status: 500, reason: "InternalError" }), true],
  ["not ready", new KubeError("apiserver not ready", { status: 503, reason: "ServiceUnavailable" }), true],
  ["forbidden", new KubeError("no", { status: 403, reason: "Forbidden" }), false],
  ["invalid", new KubeError("no", { status: 422, reason: "Invalid" }), false],
  ["gone", new KubeError("no", { status: 404, reason: "NotFound" }), false],
  [
    "an unreachable webhook",
    new KubeError('Internal error occurred: failed calling webhook "w": no route', { status: 500, reason: "InternalError" }),
    false,
  ],
  ["an overloaded webhook", new KubeError('admission webhook "w" denied the request: later', { status: 429, reason: "" }), false],
  ["an unknown kind", new KindNotServed("v1", "X"), false],
  ["a bug in the program", new TypeError("x is not a function"), false],
  ["a value that is not an Error", "no", false],
])("isPassing classifies an error: %s", ([, err, passing]) => {
  expect(isPassing(err)).toBe(passing);
});
