import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, indentJson } from "./json.ts";
import { parseYaml } from "./yaml.ts";
import { goYaml } from "./yamlWriter.ts";

const LONG = "a word and another one, until the line is longer than eighty characters, which is where it is broken";

describe("goYaml", () => {
  test.for<[string, unknown, string]>([
    ["a text that reads as text stands without quotes", "0.1.0-rc1", "0.1.0-rc1"],
    ["what reads as something else is quoted", "4.10", '"4.10"'],
    ["so are words of YAML 1.1", "on", '"on"'],
    ["so is an octal number", "0755", '"0755"'],
    ["so is a number to base 60", "1:20", '"1:20"'],
    ["so is a time with its zone", "2026-05-06T17:25:44Z", '"2026-05-06T17:25:44Z"'],
    ["and a date", "2026-05-06", '"2026-05-06"'],
    ["a time without a zone is text", "2026-05-06T17:25:44", "2026-05-06T17:25:44"],
    ["so is nothing", "", '""'],
    ["an indicator in front needs single quotes", ">=1.0.0 <2.0.0", "'>=1.0.0 <2.0.0'"],
    ["a colon before a space, too", "a: it's", "'a: it''s'"],
    ["a hash behind a space, too", "a #1", "'a #1'"],
    ["a colon elsewhere does not", "quay.io/a/b:v1#x", "quay.io/a/b:v1#x"],
    ["a tab is escaped", "a\tb", '"a\\tb"'],
    ["so is what lies beyond the basic plane", "cats \u{1f431}", '"cats \\U0001F431"'],
    ["lines make a block", "a\n\n  b\n", "|\n  a\n\n    b\n".trimEnd()],
    ["whose end says whether there is a last line break", "a\nb", "|-\n  a\n  b"],
    ["or several", "a\n\n", "|+\n  a\n"],
    ["a space before a line break makes no block", "a \nb", '"a \\nb"'],
    ["a long text is broken at spaces behind column 80", LONG, LONG.replace("which is", "which\n  is")],
    ["a long text in quotes as well", `# ${LONG}`, `'# ${LONG.replace("which is", "which\n  is")}'`],
    ["numbers", 1.5, "1.5"],
    ["from a million on fractions have an exponent", 1234567.5, "1.2345675e+06"],
    ["integers never", 1234567, "1234567"],
    ["nor large ones", 2n ** 63n, "9223372036854775808"],
    ["small fractions have one", 0.00001, "1e-05"],
    ["nothing", null, "null"],
    ["empty lists and objects", [{}, []], "\n- {}\n- []"],
    ["lists are not indented below their member", { b: [1] }, "\n  b:\n  - 1"],
  ])("goYaml writes %s", ([, value, expected]) => {
    const separator = expected.startsWith("\n") ? "" : " ";
    expect(goYaml({ a: value })).toBe(`a:${separator}${expected}\n`);
  });

  test("goYaml sorts members by name, numbers in names by value, letters last", () => {
    const names = ["v10", "v9", "v1beta1", "v1", "a-b", "ab", "a.b", "B", "a"];
    expect(Object.keys(parseYaml(goYaml(Object.fromEntries(names.map((name) => [name, 1])))) as object)).toEqual([
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

  test("goYaml writes any JSON so that it is read unchanged", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })), (value) => {
        expect(canonicalJson(parseYaml(goYaml(value)))).toBe(canonicalJson(JSON.parse(JSON.stringify(value))));
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
