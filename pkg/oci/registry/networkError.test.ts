import { expect, test } from "vitest";
import { createRequestError, isPlainHttp, UnreachableError } from "./networkError.ts";

const URL_OF_REGISTRY = new URL("https://registry.example.com/v2/");
const PLAIN_HTTP = "http: server gave HTTP response to HTTPS client";

test.for<[name: string, err: unknown, expected: boolean]>([
  ["OpenSSL reports a wrong version", new Error("write EPROTO: wrong version number"), true],
  ["OpenSSL reports a protocol error", Object.assign(new Error("write"), { code: "EPROTO" }), true],
  ["the connection is refused", Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), false],
])("isPlainHttp of a request error is $2 when $0", ([, cause, expected]) => {
  const err = createRequestError("GET", URL_OF_REGISTRY, cause);
  expect(err).toBeInstanceOf(UnreachableError);
  expect(err.message.endsWith(PLAIN_HTTP)).toBe(expected);
  expect(isPlainHttp(new Error("pinging container registry", { cause: err }))).toBe(expected);
});

test("isPlainHttp is false when only the text of another error ends with the same words", () => {
  expect(isPlainHttp(new Error(PLAIN_HTTP))).toBe(false);
});
