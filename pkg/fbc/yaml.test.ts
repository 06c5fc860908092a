import * as fc from "fast-check";
import { expect, test } from "vitest";
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

test("infinities and local tags, which have no JSON form, are no numbers", () => {
  expect(parseYaml("a: .inf")).toEqual({ a: ".inf" });
  expect(() => parseYaml("a: !foo bar")).toThrow("unknown scalar tag");
});

test("nesting is bounded", () => {
  expect(() => parseYaml("[".repeat(100_000))).toThrow();
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
    "null",
    "",
    "=",
    "2001-01-01",
    "- a",
    "a: b",
  );
  const leaf = fc.oneof(looksLike, fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
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
