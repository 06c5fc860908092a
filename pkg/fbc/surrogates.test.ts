import * as fc from "fast-check";
import { expect, test } from "vitest";
import { withoutHalves } from "./surrogates.ts";

// Source: Go's encoding/json, whose Unmarshal and Marshal make `want` of `json`.
test.for<[name: string, json: string, want: string]>([
  ["a first half", String.raw`{"a":"\ud800"}`, '{"a":"�"}'],
  ["a second half in capitals", String.raw`{"a":"\uDFFF."}`, '{"a":"�."}'],
  ["a name", String.raw`{"\ud800":1}`, '{"�":1}'],
  ["two names that become the same, of which the last counts", String.raw`{"\ud800":1,"\udfff":2}`, '{"�":2}'],
  ["whole characters", String.raw`{"a":"\ud83d\ude00\uD83D\uDE00"}`, '{"a":"😀😀"}'],
  ["halves in the wrong order", String.raw`{"a":"\ude00\ud83d"}`, '{"a":"��"}'],
  ["a half before a whole character", String.raw`{"a":"\ud800\ud83d\ude00"}`, '{"a":"�😀"}'],
  ["a half before another escape", String.raw`{"a":"\ud800\u0041"}`, '{"a":"�A"}'],
  ["an escaped backslash", String.raw`{"a":"\\ud800"}`, String.raw`{"a":"\\ud800"}`],
  ["a half before an escaped backslash", String.raw`{"a":"\ud800\\udc00"}`, String.raw`{"a":"�\\udc00"}`],
])("withoutHalves reads as Go does: %s", ([, json, want]) => {
  expect(JSON.stringify(JSON.parse(withoutHalves(json)))).toBe(want);
  expect(withoutHalves(json)).toHaveLength(json.length);
});

test("law: a text without halves stays as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value).replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
      const isWhole = JSON.stringify(JSON.parse(json)).isWellFormed() && !SURROGATE_TEXT.test(JSON.stringify(JSON.parse(json)));
      if (isWhole) expect(withoutHalves(json)).toBe(json);
      expect(JSON.stringify(JSON.parse(withoutHalves(json)))).not.toMatch(SURROGATE_TEXT);
    }),
  );
});

/** How JSON.stringify writes half of a character. */
const SURROGATE_TEXT = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;
