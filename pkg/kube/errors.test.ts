import { expect, test } from "vitest";
import { isAlreadyExists, isConflict, isExpired, isForbidden, isNotFound, KubeError, retryAfterMsOf } from "./errors.ts";
import { isPathNotFound, kubeErrorFrom, retryAfterMsFrom } from "./status.ts";

const FORBIDDEN =
  'deployments.apps "x" is forbidden: User "system:serviceaccount:a:b" cannot patch resource "deployments" in API group "apps" in the namespace "a"';

test("the text of a 403 survives whole", () => {
  const err = kubeErrorFrom(403, { kind: "Status", code: 403, reason: "Forbidden", message: FORBIDDEN, details: { name: "x" } });
  expect(isForbidden(err)).toBe(true);
  expect(err.message).toBe(FORBIDDEN);
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
