import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { goJson } from "./canonical.ts";
import { parseYaml, parseYamlDocuments, toYaml } from "./yaml.ts";

interface Case extends CaseHead {
  text: string;
  /** What sigs.k8s.io/yaml makes of it. */
  json?: string;
  refused?: boolean;
}

test.for(loadCases<Case>("kubeyaml"))("$name", ({ text, json, refused }) => {
  if (refused) expect(() => parseYaml(text)).toThrow();
  else expect(goJson(parseYaml(text))).toBe(json);
});

test("a second document is refused, not dropped", () => {
  expect(() => parseYaml("a: 1\n---\nb: 2\n")).toThrow("expected one document, found 2");
  expect(() => parseYaml("{a: 1} {b: 2}")).toThrow();
  expect(parseYamlDocuments("a: 1\n---\nb: 2\n")).toEqual([{ a: 1 }, { b: 2 }]);
});

test("infinities, which have no JSON form, are refused as values", () => {
  for (const text of [".inf", "-.Inf", ".NaN"]) expect(() => parseYaml(`a: ${text}`)).toThrow("json: unsupported value: ");
});

test("nesting is bounded", () => {
  expect(() => parseYaml("[".repeat(100_000))).toThrow();
});

describe("what is small as text and huge as a value", () => {
  const bomb = (levels: number, of: (i: number) => string): string =>
    ["a0: &a0 [lol, lol]", ...Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} ${of(i)}`)].join("\n");
  const deep = (i: number): string => `${"[".repeat(400)}*a${i}${"]".repeat(400)}`;

  test.for<[what: string, text: string, reason: string]>([
    ["aliases of aliases", bomb(30, (i) => `[${`*a${i},`.repeat(10)}]`), "document contains excessive aliasing"],
    ["one long text many times", `a: &a "${"x".repeat(100_000)}"\nb: [${"*a,".repeat(1_000)}]`, "document contains excessive aliasing"],
    ["aliases that nest", bomb(5, deep), "nested deeper than 1000 with its aliases written out"],
    ["a list in itself", "a: &a [*a]", "an anchor's value contains itself"],
    ["a mapping in itself", "a: &a\n  b: {c: *a}", "an anchor's value contains itself"],
    ["merged mappings", bomb(60, (i) => `{<<: [${`*a${i},`.repeat(99)}]}`).replace("[lol, lol]", "{x: 1}"), "merge keys exceeded"],
    ["millions of values", `a: [${"1,".repeat(2_000_001)}]`, "more than 2000000 values in one document"],
    ["millions of lines", "- 1\n".repeat(2_000_001), "more than 2000000 values in one document"],
  ])("%s", ([, text, reason]) => {
    expect(() => parseYaml(text)).toThrow(reason);
  });

  test("is not what a few aliases make", () => {
    expect(parseYaml("a: &a {b: [1, 2]}\nc: [*a, *a]\nd: {<<: *a, e: *a}")).toEqual({
      a: { b: [1, 2] },
      c: [{ b: [1, 2] }, { b: [1, 2] }],
      d: { b: [1, 2], e: { b: [1, 2] } },
    });
  });
});

test.for<[what: string, text: string, value: unknown]>([
  ["a decimal", "9".repeat(1_000_000), "9".repeat(1_000_000)],
  ["a hexadecimal one", `0x${"f".repeat(1_000_000)}`, `0x${"f".repeat(1_000_000)}`],
  ["a fraction", `0.${"9".repeat(1_000_000)}`, 1],
  ["zeros", "0".repeat(1_000_000), 0],
  ["nearly a number", `${"1_".repeat(1_000_000)}x`, `${"1_".repeat(1_000_000)}x`],
])("a number of a million digits costs no more than its text: %s", ([, text, value]) => {
  expect(parseYaml(`a: ${text}`)).toEqual({ a: value });
});

test("lines that cannot be mended are refused, few and many", () => {
  expect(() => parseYaml("a: [\t1,\t2]")).toThrow("deficient indentation");
  expect(() => parseYaml(`a:\n  b: "${"z\n".repeat(20_000)}"`)).toThrow("deficient indentation");
  expect(parseYaml(`a:\n  b: "${"z\n".repeat(50)}"`)).toEqual({ a: { b: "z ".repeat(50) } });
});

test("whatever is written is read back equal, strings that look like other things included", () => {
  const looksLike = fc.constantFrom(
    "yes",
    "on",
    "y",
    "012",
    "1_000",
    "12:30:45",
    "0b1",
    "~",
    "1e3",
    "<<",
    "0x1F",
    "0o14",
    "9223372036854775807",
    "null",
    "",
    "=",
    "2001-01-01",
    "- a",
    "a: b",
  );
  const wide = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n });
  const leaf = fc.oneof(looksLike, fc.string(), fc.integer(), wide, fc.boolean(), fc.constant(null));
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(looksLike, fc.string()), tie("node"), { maxKeys: 3 }),
    ),
  })).node;
  fc.assert(
    fc.property(value, (v) => {
      expect(goJson(parseYaml(toYaml(v)))).toBe(goJson(v));
    }),
  );
});
