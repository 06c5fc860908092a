import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError, parseStrictJson } from "./strictJson.ts";

test("parseStrictJson parses any JSON value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(parseStrictJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test.for<[text: string, message: string]>([
  ['{"a":1,"a":2}', 'Duplicate key "a"'],
  ['{"a":1,"\\u0061":2}', 'Duplicate key "a"'],
  ['{"x":[{"b\\\\":1},{"b\\\\":1,"b\\\\":2}]}', "Duplicate key"],
  ['{"a":"\\"","a":1}', 'Duplicate key "a"'],
])("parseStrictJson rejects %s", ([text, message]) => {
  expect(() => parseStrictJson(text)).toThrow(new RegExp(message));
});

test("parseStrictJson parses strings with millions of characters and escapes", () => {
  for (const part of ["x", "\\n", '\\"']) {
    expect(parseStrictJson(`{"a":"${part.repeat(5_000_000)}"}`)).toHaveProperty("a");
    expect(() => parseStrictJson(`{"a":"${part.repeat(5_000_000)}","a":1}`)).toThrow(FormatError);
  }
});
