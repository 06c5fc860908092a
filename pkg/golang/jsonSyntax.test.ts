import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findJsonSyntaxFault } from "./jsonSyntax.ts";

test.for([
  ['{"a": 1,\n "b" 2}', 2, 6, 'expected ":" after a key'],
  ['{"a": 1,\n}', 2, 1, "expected a key in double quotes"],
  ['{"a": [1, 2\n', 2, 1, "unexpected end"],
  ['{"a": [1 2]}', 1, 10, 'expected "," or "]"'],
  ['{"a": tru}', 1, 7, 'unexpected character "t", expected a value'],
  ['{"a": 01}', 1, 8, 'expected "," or "}"'],
  ['{"a": "x\ny"}', 1, 7, "invalid string: it is unterminated, or contains a control character or an unknown escape"],
  ["{} x", 1, 4, "unexpected text after the value"],
  ["", 1, 1, "unexpected end"],
] as const)("findJsonSyntaxFault reports the fault in %j", ([text, line, column, reason]) => {
  expect(findJsonSyntaxFault(text)).toEqual({ line, column, reason });
});

test("findJsonSyntaxFault reports deep nesting instead of overflowing the stack", () => {
  expect(findJsonSyntaxFault("[".repeat(1_000_000))?.reason).toBe("nested too deeply");
});

test("findJsonSyntaxFault reports a fault exactly when JSON.parse throws", () => {
  const text = fc.oneof(
    fc.json(),
    fc.json().chain((json) => fc.nat(json.length).map((cut) => json.slice(0, cut))),
    fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("{", "}", "[", ",", ":", '"', "\\", "1", "e", "-", ".", " ", "\n"))
      .map(([json, at, char]) => {
        const place = at % (json.length + 1);
        return json.slice(0, place) + char + json.slice(place);
      }),
  );
  const parses = (json: string): boolean => {
    try {
      JSON.parse(json);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(text, (json) => {
      expect(findJsonSyntaxFault(json) === undefined).toBe(parses(json));
    }),
    { numRuns: 2_000 },
  );
});

test("findJsonSyntaxFault takes linear time when strings, numbers and lines are long", () => {
  const long = "x".repeat(10_000_000);
  expect(findJsonSyntaxFault(`{"a":"${long}" b}`)).toEqual({ line: 1, column: long.length + 9, reason: 'expected "," or "}"' });
  expect(findJsonSyntaxFault(`{"a":${"1".repeat(10_000_000)} b}`)?.reason).toBe('expected "," or "}"');
  expect(findJsonSyntaxFault(`{"a":${" ".repeat(10_000_000)} b}`)?.reason).toContain("unexpected character");
  expect(findJsonSyntaxFault(`{${"\n".repeat(1_000_000)}b}`)).toEqual({
    line: 1_000_001,
    column: 1,
    reason: "expected a key in double quotes",
  });
});
