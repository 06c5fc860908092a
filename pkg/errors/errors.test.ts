import { expect, test } from "vitest";
import { getErrorMessage, isRetryable, RetryableError, TerminalError, wrapError } from "./errors.ts";

test.for<[string, unknown, boolean]>([
  ["a terminal error", new TerminalError("Blocked", "no"), false],
  ["a terminal error as a cause", new Error("outer", { cause: new TerminalError("Blocked", "no") }), false],
  ["a retryable error", new RetryableError("Retrying", "later"), true],
  ["an unknown error", new Error("socket hang up"), true],
  ["a value that is not an Error", "text", true],
])("isRetryable classifies %s", ([, err, want]) => {
  expect(isRetryable(err)).toBe(want);
});

test("wrapError keeps the type and reason of an error, and prepends a prefix to the message", () => {
  const wrapped = wrapError("unpack x: ", new TerminalError("InvalidConfiguration", "bad"));
  expect(wrapped).toBeInstanceOf(TerminalError);
  expect([wrapped.reason, wrapped.message]).toEqual(["InvalidConfiguration", "unpack x: bad"]);
  expect(wrapError("get: ", new Error("boom"))).toBeInstanceOf(RetryableError);
});

test("getErrorMessage prints several errors on one line each", () => {
  expect(getErrorMessage(new AggregateError([new Error("a"), new Error("b")]))).toBe("a\nb");
});
