import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeCanonicalJson, indentJson } from "./json.ts";
import { parseYaml } from "./yaml.ts";
import { encodeGoYaml } from "./yamlWriter.ts";

const LONG = "a word and another one, until the line is longer than eighty characters, which is where it is broken";

describe("encodeGoYaml", () => {
  test.for<[string, unknown, string]>([
    ["text without quotes when it is read as text", "0.1.0-rc1", "0.1.0-rc1"],
    ["text in quotes when it would be read as another type", "4.10", '"4.10"'],
    ["words of YAML 1.1 in quotes", "on", '"on"'],
    ["an octal number in quotes", "0755", '"0755"'],
    ["a base-60 number in quotes", "1:20", '"1:20"'],
    ["a time with a zone in quotes", "2026-05-06T17:25:44Z", '"2026-05-06T17:25:44Z"'],
    ["a date in quotes", "2026-05-06", '"2026-05-06"'],
    ["a time without a zone as text", "2026-05-06T17:25:44", "2026-05-06T17:25:44"],
    ["empty text in quotes", "", '""'],
    ["a leading indicator in single quotes", ">=1.0.0 <2.0.0", "'>=1.0.0 <2.0.0'"],
    ["a colon before a space in quotes", "a: it's", "'a: it''s'"],
    ["a hash after a space in quotes", "a #1", "'a #1'"],
    ["another colon without quotes", "quay.io/a/b:v1#x", "quay.io/a/b:v1#x"],
    ["a tab as an escape", "a\tb", '"a\\tb"'],
    ["characters beyond the basic plane as escapes", "cats \u{1f431}", '"cats \\U0001F431"'],
    ["several lines as a block", "a\n\n  b\n", "|\n  a\n\n    b\n".trimEnd()],
    ["a block with or without a final line break", "a\nb", "|-\n  a\n  b"],
    ["a block with several final line breaks", "a\n\n", "|+\n  a\n"],
    ["a space before a line break without a block", "a \nb", '"a \\nb"'],
    ["long text with breaks at spaces after column 80", LONG, LONG.replace("which is", "which\n  is")],
    ["long quoted text with breaks", `# ${LONG}`, `'# ${LONG.replace("which is", "which\n  is")}'`],
    ["numbers", 1.5, "1.5"],
    ["fractions from a million with an exponent", 1234567.5, "1.2345675e+06"],
    ["integers without an exponent", 1234567, "1234567"],
    ["large integers without an exponent", 2n ** 63n, "9223372036854775808"],
    ["small fractions with an exponent", 0.00001, "1e-05"],
    ["nothing", null, "null"],
    ["empty lists and objects", [{}, []], "\n- {}\n- []"],
    ["lists without indentation below their member", { b: [1] }, "\n  b:\n  - 1"],
  ])("encodeGoYaml writes %s", ([, value, expected]) => {
    const separator = expected.startsWith("\n") ? "" : " ";
    expect(encodeGoYaml({ a: value })).toBe(`a:${separator}${expected}\n`);
  });

  test("encodeGoYaml sorts names like Go: numbers in names by value, and letters after other characters", () => {
    const names = ["v10", "v9", "v1beta1", "v1", "a-b", "ab", "a.b", "B", "a"];
    expect(Object.keys(parseYaml(encodeGoYaml(Object.fromEntries(names.map((name) => [name, 1])))) as object)).toEqual([
      "B",
      "a",
      "a-b",
      "a.b",
      "ab",
      "v1",
      "v1beta1",
      "v9",
      "v10",
    ]);
  });

  test("encodeGoYaml writes any JSON value so that parseYaml reads an equal value", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })), (value) => {
        expect(encodeCanonicalJson(parseYaml(encodeGoYaml(value)))).toBe(encodeCanonicalJson(JSON.parse(JSON.stringify(value))));
      }),
    );
  });
});

test("indentJson indents like JSON.stringify", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(indentJson(JSON.stringify(value), 4)).toBe(JSON.stringify(value, null, 4));
    }),
  );
});
