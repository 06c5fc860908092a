import * as fc from "fast-check";
import { expect, test } from "vitest";
import { goJson } from "./canonical.ts";
import { parseExactJson } from "./exactJson.ts";

test.for([
  ['{"maximum":9223372036854775807}', { maximum: 9_223_372_036_854_775_807n }],
  ['[-9007199254740993,9007199254740991,"1234567890123456789"]', [-9_007_199_254_740_993n, 9_007_199_254_740_991, "1234567890123456789"]],
  ['{"a":1.5,"b":1e30,"c":1234567890123456.5}', { a: 1.5, b: 1e30, c: 1_234_567_890_123_456.5 }],
])("%s keeps its digits", ([text, want]) => {
  expect(parseExactJson(text as string)).toEqual(want);
});

test("what is no JSON throws", () => {
  expect(() => parseExactJson('{"a":12345678901234567890')).toThrow(SyntaxError);
});

test("law: any integer of int64 is written back with its digits", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (n) => {
      expect(goJson(parseExactJson(`{"n":${n}}`))).toBe(`{"n":${n}}`);
    }),
  );
});
