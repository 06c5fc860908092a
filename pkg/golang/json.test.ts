import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeCanonicalJson, encodeGoJson, parseExactJson, replaceLoneSurrogates, writeExactJson } from "./json.ts";

/** Input, and the output of Go 1.26's encoding/json after decoding into `any`, without and with HTML escapes. */
const GO = [
  {
    text: '{"b":1,"a":[1.0,1e21,1e20,1e-6,1e-7,123456789.125,-0,0.1,-1.5e300,5e-324]}',
    map: '{"a":[1,1e+21,100000000000000000000,0.000001,1e-7,123456789.125,-0,0.1,-1.5e+300,5e-324],"b":1}',
    html: '{"a":[1,1e+21,100000000000000000000,0.000001,1e-7,123456789.125,-0,0.1,-1.5e+300,5e-324],"b":1}',
  },
  {
    text: '"<a href=\\"x\\">&\\u2028\\u2029\\u007f\\u0000\\u001f\\b\\f\\n\\r\\t\\\\/é😀"',
    map: '"<a href=\\"x\\">&\\u2028\\u2029\u007f\\u0000\\u001f\\b\\f\\n\\r\\t\\\\/é😀"',
    html: '"\\u003ca href=\\"x\\"\\u003e\\u0026\\u2028\\u2029\u007f\\u0000\\u001f\\b\\f\\n\\r\\t\\\\/é😀"',
  },
  { text: '"\\ud800 \\udc00x \\ud83d\\ude00"', map: '"\ufffd \ufffdx 😀"', html: '"\ufffd \ufffdx 😀"' },
  {
    text: '{"é":1,"z":2,"\\uffff":3,"\\ud83d\\ude00":4,"A":5,"a":6,"":7}',
    map: '{"":7,"A":5,"a":6,"z":2,"é":1,"\uffff":3,"😀":4}',
    html: '{"":7,"A":5,"a":6,"z":2,"é":1,"\uffff":3,"😀":4}',
  },
  { text: '{"x":null,"y":[],"z":{},"t":true}', map: '{"t":true,"x":null,"y":[],"z":{}}', html: '{"t":true,"x":null,"y":[],"z":{}}' },
  { text: '{"<k>":"&"}', map: '{"<k>":"&"}', html: '{"\\u003ck\\u003e":"\\u0026"}' },
];

describe("encodeGoJson prints as Go does", () => {
  test.for(GO)("encodeGoJson prints $text as Go does", ({ text, map, html }) => {
    expect(encodeCanonicalJson(JSON.parse(text))).toBe(map);
    expect(encodeGoJson(JSON.parse(text))).toBe(html);
  });
});

test("encodeGoJson keeps the order of keys with sortKeys false, and HTML characters with escapeHtml false", () => {
  expect(encodeGoJson({ b: 1, a: { d: "<", c: 2 } }, { sortKeys: false })).toBe('{"b":1,"a":{"d":"\\u003c","c":2}}');
  expect(encodeGoJson({ b: "<" }, { escapeHtml: false })).toBe('{"b":"<"}');
});

test("encodeGoJson writes bigints as digits, omits undefined members, and writes undefined items as null", () => {
  expect(encodeCanonicalJson({ a: 18446744073709551615n, b: undefined, c: [undefined] })).toBe('{"a":18446744073709551615,"c":[null]}');
});

test.for([Number.NaN, Number.POSITIVE_INFINITY, () => 1, Symbol("x")])("encodeGoJson rejects %s, which JSON cannot represent", (value) => {
  expect(() => encodeCanonicalJson([value])).toThrow("cannot encode");
});

test("encodeCanonicalJson returns valid JSON, and the same text for every order of members", () => {
  const reversed = (v: unknown): unknown =>
    Array.isArray(v)
      ? v.map(reversed)
      : typeof v === "object" && v !== null
        ? Object.fromEntries(
            Object.entries(v)
              .toReversed()
              .map(([key, member]) => [key, reversed(member)]),
          )
        : v;
  fc.assert(
    fc.property(fc.jsonValue(), (v) => {
      expect(JSON.parse(encodeCanonicalJson(v))).toEqual(v);
      expect(encodeCanonicalJson(reversed(v))).toBe(encodeCanonicalJson(v));
      expect(JSON.parse(encodeGoJson(v))).toEqual(v);
    }),
  );
});

test.for([
  ['{"maximum":9223372036854775807}', { maximum: 9_223_372_036_854_775_807n }],
  ['[-9007199254740993,9007199254740991,"1234567890123456789"]', [-9_007_199_254_740_993n, 9_007_199_254_740_991, "1234567890123456789"]],
  ['{"a":1.5,"b":1e30,"c":1234567890123456.5}', { a: 1.5, b: 1e30, c: 1_234_567_890_123_456.5 }],
])("parseExactJson keeps the digits of %s", ([text, want]) => {
  expect(parseExactJson(text as string)).toEqual(want);
});

test("parseExactJson throws when the text is not JSON", () => {
  expect(() => parseExactJson('{"a":12345678901234567890')).toThrow(SyntaxError);
});

test("parseExactJson and encodeGoJson preserve the digits of any int64", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (n) => {
      expect(encodeGoJson(parseExactJson(`{"n":${n}}`))).toBe(`{"n":${n}}`);
    }),
  );
});

// Source: Go's encoding/json. Unmarshal followed by Marshal converts `json` to `want`.
test.for<[name: string, json: string, want: string]>([
  ["a lone high surrogate", String.raw`{"a":"\ud800"}`, '{"a":"�"}'],
  ["a lone low surrogate in capitals", String.raw`{"a":"\uDFFF."}`, '{"a":"�."}'],
  ["a name", String.raw`{"\ud800":1}`, '{"�":1}'],
  ["two names that become equal: the last value is used", String.raw`{"\ud800":1,"\udfff":2}`, '{"�":2}'],
  ["complete characters", String.raw`{"a":"\ud83d\ude00\uD83D\uDE00"}`, '{"a":"😀😀"}'],
  ["surrogates in the wrong order", String.raw`{"a":"\ude00\ud83d"}`, '{"a":"��"}'],
  ["a lone surrogate before a complete character", String.raw`{"a":"\ud800\ud83d\ude00"}`, '{"a":"�😀"}'],
  ["a lone surrogate before another escape", String.raw`{"a":"\ud800\u0041"}`, '{"a":"�A"}'],
  ["an escaped backslash", String.raw`{"a":"\\ud800"}`, String.raw`{"a":"\\ud800"}`],
  ["a lone surrogate before an escaped backslash", String.raw`{"a":"\ud800\\udc00"}`, String.raw`{"a":"�\\udc00"}`],
])("replaceLoneSurrogates replaces the same surrogates as Go: %s", ([, json, want]) => {
  expect(JSON.stringify(JSON.parse(replaceLoneSurrogates(json)))).toBe(want);
  expect(replaceLoneSurrogates(json)).toHaveLength(json.length);
});

test("replaceLoneSurrogates changes nothing when there are no lone surrogates", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value).replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
      const isWhole = JSON.stringify(JSON.parse(json)).isWellFormed() && !SURROGATE_TEXT.test(JSON.stringify(JSON.parse(json)));
      if (isWhole) expect(replaceLoneSurrogates(json)).toBe(json);
      expect(JSON.stringify(JSON.parse(replaceLoneSurrogates(json)))).not.toMatch(SURROGATE_TEXT);
    }),
  );
});

test("writeExactJson keeps all digits of integers beyond 2^53 and omits absent members", () => {
  expect(writeExactJson({ maximum: 9223372036854775807n, minimum: [-9223372036854775808n], one: 1, gone: undefined })).toBe(
    '{"maximum":9223372036854775807,"minimum":[-9223372036854775808],"one":1}',
  );
  expect(writeExactJson(undefined)).toBe("null");
});

/** A lone surrogate as JSON.stringify writes it. */
const SURROGATE_TEXT = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;
