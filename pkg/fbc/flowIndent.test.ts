import { YAMLException } from "js-yaml";
import { expect, test } from "vitest";
import { parseWithFlowIndent } from "./flowIndent.ts";
import { parseYaml } from "./yaml.ts";

// Source: sigs.k8s.io/yaml v1.6.0 YAMLToJSON, whose parser does not look at indentation inside quotes and brackets.
test.for<[text: string, value: unknown]>([
  ['x:\n  a: "b\nc"\n', { x: { a: "b c" } }],
  ["x:\n  a: 'b\nc'\n  d: e\n", { x: { a: "b c", d: "e" } }],
  ['x:\n   a: "b \\\n \\ c"\n', { x: { a: "b  c" } }],
  ['x:\n  a: "it\'s\na\n\nlong \\"one\\"\nindeed"\n  b: c\n', { x: { a: 'it\'s a\nlong "one" indeed', b: "c" } }],
  ["x:\n  a: [\n 1,\n2\n]\n  b: {\nc: d}\n", { x: { a: [1, 2], b: { c: "d" } } }],
])("%j", ([text, value]) => {
  expect(parseWithFlowIndent(text, parseYaml)).toEqual(value);
});

test("other faults stay faults", () => {
  expect(() => parseWithFlowIndent("a: [b\n", parseYaml)).toThrow(YAMLException);
  expect(() => parseWithFlowIndent("a: b\n c: d\n", parseYaml)).toThrow(YAMLException);
});

test("a long text is not parsed again without end", () => {
  let parses = 0;
  const lines = `x:\n  a: "${'b \\"\n'.repeat(40_000)}"\n`;
  const parse = (text: string) => {
    parses++;
    return parseYaml(text);
  };
  expect(() => parseWithFlowIndent(lines, parse)).toThrow("deficient indentation");
  expect(parses).toBeLessThan(400);
});
