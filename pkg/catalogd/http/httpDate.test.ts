import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatHttpDate, parseHttpDate } from "./conditional.ts";

test.for([
  ["Sun, 06 Nov 1994 08:49:37 GMT", 784111777],
  ["Sunday, 06-Nov-94 08:49:37 GMT", 784111777],
  ["Sun Nov  6 08:49:37 1994", 784111777],
  ["Sun, 06 Nov 1994 08:49:37 UTC", undefined],
  ["Sun, 6 Nov 1994 08:49:37 GMT", undefined],
  ["Sun, 31 Feb 1994 08:49:37 GMT", undefined],
  ["Sun, 06 Foo 1994 08:49:37 GMT", undefined],
  ["Sun, 06 Nov 1994 25:49:37 GMT", undefined],
  ["1994-11-06T08:49:37Z", undefined],
  ["", undefined],
] as const)("parseHttpDate parses %j", ([text, seconds]) => {
  expect(parseHttpDate(text)).toBe(seconds);
});

test("HTTP dates can be parsed after formatting", () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => parseHttpDate(formatHttpDate(seconds)) === seconds));
});
