import { expect, test } from "vitest";
import { SCHEMA_RULE_CASES } from "../../../test/support/schemaRuleCases.ts";
import { SchemaRules } from "./schemaRules.ts";

function judge(schema: unknown, value: unknown): "valid" | "invalid" | "unchecked" {
  const rules = new SchemaRules({ type: "object", properties: { value: schema } }, () => undefined);
  const faults = rules.findFaults({ value });
  if (rules.unchecked.length > 0) return "unchecked";
  return faults.length > 0 ? "invalid" : "valid";
}

test.for(SCHEMA_RULE_CASES)("SchemaRules checks $name", ({ schema, valid = [], invalid = [], unchecked = [] }) => {
  for (const value of valid) expect([value, judge(schema, value)]).toEqual([value, "valid"]);
  for (const value of invalid) expect([value, judge(schema, value)]).toEqual([value, "invalid"]);
  for (const value of unchecked) expect([value, judge(schema, value)]).toEqual([value, "unchecked"]);
});

const rule = (text: string, more: object = {}): object => ({ "x-kubernetes-validations": [{ rule: text, ...more }] });

test("SchemaRules reports path and message of a rule, or the rule itself without a message", () => {
  const items = { type: "object", properties: { n: { type: "integer" } }, ...rule("self.n > 0") };
  const spec = {
    type: "object",
    properties: { list: { type: "array", items } },
    ...rule("self.size > 0", { message: "size must be positive" }),
  };
  const rules = new SchemaRules({ type: "object", properties: { spec }, ...rule("self.metadata.name == 'x'") }, () => undefined);
  expect(rules.findFaults({ metadata: { name: "y" }, spec: { list: [{ n: 1 }, { n: 0 }] } })).toEqual([
    "failed rule: self.metadata.name == 'x'",
    "spec: size must be positive (no such key: size)",
    "spec.list[1]: failed rule: self.n > 0",
  ]);
  expect(rules.unchecked).toEqual([]);
});

test.for<[what: string, schema: object, value: unknown, unchecked: string]>([
  ["cannot be parsed", rule("self ++"), "x", "self ++: "],
  ["is too long", rule(`self == '${"x".repeat(9_000)}'`), "x", "the rule is longer than 8192 characters"],
  ["reads an optional previous value", rule("oldSelf.hasValue()", { optionalOldSelf: true }), "x", "undeclared reference to 'oldSelf'"],
  ["is in allOf", { allOf: [rule("self == 'x'")] }, "x", "rules in alternatives are not supported"],
  ["reads a large integer", { type: "integer", ...rule("self > 1") }, 2 ** 60, "an integer is larger than 2^53"],
])("SchemaRules reports that a rule was not checked when it %s", ([, schema, value, unchecked]) => {
  const rules = new SchemaRules({ type: "object", properties: { value: { type: "string", ...schema } } }, () => undefined);
  expect(rules.findFaults({ value })).toEqual([]);
  expect(rules.unchecked.join("\n")).toContain(unchecked);
});

test("SchemaRules charges nested loops and growing texts, and ends with the error of the meter", () => {
  const schema = (text: string): object => ({
    type: "object",
    properties: { list: { type: "array", items: { type: "string" } } },
    ...rule(text),
  });
  const limited = (text: string): SchemaRules => {
    let steps = 0;
    return new SchemaRules(schema(text), (some) => {
      steps += some;
      if (steps > 100_000) throw new Error("no steps left");
    });
  };
  const list = Array.from({ length: 200 }, (_, index) => `text ${index}`);
  const grow = `self.list[0]${".replace('t', 'tttttttttttttttttttt')".repeat(30)} == 'x'`;
  for (const text of ["self.list.all(a, self.list.all(b, self.list.all(c, a + b != c)))", grow])
    expect(() => limited(text).findFaults({ list })).toThrow("no steps left");
});
