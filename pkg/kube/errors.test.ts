import { expect, test } from "vitest";
import { RetryableError, TerminalError } from "../errors/errors.ts";
import {
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isNotFound,
  KindNotServed,
  KubeError,
  retryAfterMsOf,
  toReconcileError,
} from "./errors.ts";
import { isPathNotFound, kubeErrorFrom, retryAfterMsFrom } from "./status.ts";

const FORBIDDEN =
  'deployments.apps "x" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "a"';

test.for<[number, string, string, boolean]>([
  [401, "", "Unauthorized", true],
  [403, "", "Forbidden", true],
  [403, "Forbidden", "Forbidden", true],
  [404, "", "NotFound", true],
  [409, "", "Conflict", true],
  [409, "AlreadyExists", "AlreadyExists", true],
  [413, "", "RequestEntityTooLarge", false],
  [422, "", "Invalid", false],
  [422, "Invalid", "Invalid", false],
  [429, "", "TooManyRequests", true],
  [500, "InternalError", "InternalError", true],
  [503, "", "Retrying", true],
])("status %s with reason %j is a reconcile error %s, retried: %s", ([status, reason, want, retry]) => {
  const err = toReconcileError(new KubeError("text of the server", { status, reason }), "apply Deployment a/x");
  expect([err.reason, err.retry, err.message]).toEqual([want, retry, "apply Deployment a/x: text of the server"]);
  expect(err).toBeInstanceOf(retry ? RetryableError : TerminalError);
});

test("an error of ours keeps its kind and reason", () => {
  expect(toReconcileError(new TerminalError("Blocked", "no"), "get x")).toMatchObject({
    retry: false,
    reason: "Blocked",
    message: "get x: no",
  });
  expect(toReconcileError(new KindNotServed("a/v1", "B"), "get x")).toMatchObject({
    retry: true,
    reason: "KindNotServed",
    message: 'get x: no matches for kind "B" in version "a/v1"',
  });
  expect(toReconcileError(new Error("socket hang up"), "get x")).toMatchObject({
    retry: true,
    reason: "Retrying",
    message: "get x: socket hang up",
  });
});

test("the text of a 403 survives whole", () => {
  const err = kubeErrorFrom(403, { kind: "Status", code: 403, reason: "Forbidden", message: FORBIDDEN, details: { name: "x" } });
  expect(isForbidden(err)).toBe(true);
  expect(toReconcileError(err, "apply").message).toBe(`apply: ${FORBIDDEN}`);
});

test("a body that is no Status is cut short", () => {
  const err = kubeErrorFrom(502, `<html>${"x".repeat(10_000)}`);
  expect([err.status, err.reason, err.message.length]).toEqual([502, "", 512]);
  expect(kubeErrorFrom(500, "").message).toBe("the server answered 500");
});

test.for<[string, number | undefined]>([
  ["1", 1_000],
  ["0", 0],
  ["3600", 60_000],
  ["Sat, 01 Jan 2000 00:00:05 GMT", 5_000],
  ["Fri, 31 Dec 1999 00:00:00 GMT", 0],
  ["soon", undefined],
  ["", undefined],
])("Retry-After %j is %j ms", ([header, want]) => {
  expect(retryAfterMsFrom(header, Date.parse("2000-01-01T00:00:00Z"))).toBe(want);
});

test("how long to wait is found in the cause chain", () => {
  const cause = kubeErrorFrom(429, { kind: "Status", details: { retryAfterSeconds: 2 } });
  expect(retryAfterMsOf(new Error("outer", { cause }))).toBe(2_000);
  expect(retryAfterMsOf(new Error("outer"))).toBeUndefined();
});

test("questions are about the error itself, not about its cause", () => {
  const notFound = new KubeError("gone", { status: 404, reason: "NotFound" });
  expect([isNotFound(notFound), isNotFound(new Error("outer", { cause: notFound }))]).toEqual([true, false]);
  const exists = new KubeError("there", { status: 409, reason: "AlreadyExists" });
  expect([isConflict(exists), isAlreadyExists(exists)]).toEqual([false, true]);
  expect(isExpired(new KubeError("old", { status: 410, reason: "Expired" }))).toBe(true);
});

test("a 404 about the path is told from one about an object", () => {
  const about = (details: object): boolean =>
    isPathNotFound(kubeErrorFrom(404, { kind: "Status", code: 404, reason: "NotFound", details }));
  expect(about({})).toBe(true);
  expect(about({ name: "x", kind: "pods" })).toBe(false);
  expect(isPathNotFound(kubeErrorFrom(404, "404 page not found\n"))).toBe(true);
});
