import { expect, test } from "vitest";
import { isRetryable, messageOf, RetryableError, TerminalError, wrapError } from "./errors.ts";

test.for<[string, unknown, boolean]>([
  ["a terminal error", new TerminalError("Blocked", "no"), false],
  ["a terminal error as the cause", new Error("outer", { cause: new TerminalError("Blocked", "no") }), false],
  ["a retryable error", new RetryableError("Retrying", "later"), true],
  ["an unknown error", new Error("socket hang up"), true],
  ["something that is no error", "text", true],
])("%s is retried or not as its kind says", ([, err, want]) => {
  expect(isRetryable(err)).toBe(want);
});

test("wrapping keeps kind and reason and puts the prefix first", () => {
  const wrapped = wrapError("unpack x: ", new TerminalError("InvalidConfiguration", "bad"));
  expect(wrapped).toBeInstanceOf(TerminalError);
  expect([wrapped.reason, wrapped.message]).toEqual(["InvalidConfiguration", "unpack x: bad"]);
  expect(wrapError("get: ", new Error("boom"))).toBeInstanceOf(RetryableError);
});

test("the text of several errors is one line each", () => {
  expect(messageOf(new AggregateError([new Error("a"), new Error("b")]))).toBe("a\nb");
});
