import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { type CelVerdict, judgeRule } from "../../../test/support/celVerdict.ts";
import { estimatePatternSize } from "../../cel/functions.ts";
import { Failure } from "../../cel/values.ts";
import type { Property } from "../../fbc/types.ts";
import { keepNumberTokens } from "../../golang/json.ts";
import { StepBudget } from "../constraint/stepBudget.ts";
import { CelRules } from "./celRules.ts";

interface RuleCase extends CaseHead {
  properties?: Property[];
  /** A rule has the properties of its case, unless it has its own. */
  rules: { rule: string; properties?: Property[]; holds?: boolean; failure?: string; fault?: string; verdict?: CelVerdict }[];
}

const MOST = 50_000;

describe.for(loadCases<RuleCase>("cel"))("$name", ({ properties = [], rules }) => {
  test.for(rules)("$rule", ({ rule, properties: own = properties, holds, failure, fault, verdict }) => {
    const cel = new CelRules();
    if (verdict !== undefined) {
      expect(judgeRule(cel, rule, own)).toBe(verdict);
      return;
    }
    if (fault !== undefined) {
      expect(() => cel.compile(rule, "b.v1")).toThrow(`cannot compile the CEL rule: ${fault}`);
      return;
    }
    const { steps, ...got } = cel.compiled(rule).evaluate(own);
    expect(got).toEqual(failure === undefined ? { holds } : { holds, failure });
    expect(steps).toBeLessThan(1_000);
    expect(cel.compile(rule, "b.v1")(own)).toBe(holds);
  });
});

/** Nests `seed` in `form` repeatedly, in place of `#`. */
function repeated(times: number, form: string, seed: string): string {
  return Array.from({ length: times }).reduce<string>((text) => form.replace("#", text), seed);
}

describe("rules that would take too long are stopped", () => {
  const many = Array.from({ length: 1_000 }, (_, i) => ({ type: `t${i}`, value: { a: i, text: "ab".repeat(500), list: [1, 2, 3] } }));
  const tooMuch = { holds: false, steps: MOST + 1, failure: "the rule exceeds its step limit" };

  test.for([
    ["each property with each other", "properties.exists(p, properties.exists(q, p.type == q.value))"],
    ["three nested loops", "properties.all(p, properties.all(q, properties.all(r, true)))"],
    ["loops whose error is swallowed", "properties.all(p, properties.all(q, properties.all(r, p.x == q.x)) || true) || true"],
    ["many loops after each other", Array.from({ length: 20 }, () => "properties.exists(p, p.type == 'x')").join(" || ")],
    ["a text that doubles", `${repeated(18, "[#].map(a, a + a)[0]", '"xxxxxxxxxxxxxxxx"')} == "y"`],
    ["bytes that double", `${repeated(18, "[#].map(a, a + a)[0]", 'b"xxxxxxxxxxxxxxxx"')} == b"y"`],
    ["a list that doubles", `${repeated(18, "[#].map(a, a + a)[0]", "properties")}.exists(z, z == {})`],
    ["comparing a list of lists that doubles", `[${repeated(18, "[#].map(a, [a, a])[0]", "1")}].exists(z, z == z)`],
    ["comparing a map of maps that doubles", `[${repeated(18, '[#].map(a, {"a": a, "b": a})[0]', "1")}].exists(z, z == z)`],
    ["searching a list of lists that doubles", `[${repeated(18, "[#].map(a, [a, a])[0]", "[1]")}].exists(z, z in [z])`],
    ["comparing a string with many", "properties.exists(p, properties.filter(q, q.value.text == p.value.text).size() == 7)"],
    ["searching a string", "properties.exists(p, (p.value.text + p.value.text).contains(p.value.text + 'x'))"],
    ["a regular expression with many states", 'properties.exists(p, p.value.text.matches("(a|b)*a(a|b){20}c"))'],
    ["a regular expression from a property", "properties.exists(p, p.type.matches('(a|b)*a(a|b){20}' + p.type))"],
    ["joining many lists", "properties.map(p, (properties + properties).size()).size() == 1"],
    [
      "joining each list with each list",
      "properties.map(p, p.value.list).exists(l, properties.map(p, p.value.list).exists(m, l == m + m))",
    ],
    [
      "searching a map for a long key",
      `[${repeated(14, "[#].map(a, a + a)[0]", '"xxxxxxxxxxxxxxxx"')}].exists(a, properties.exists(p, a in {"y": 1}))`,
    ],
    ["counting a long string", "properties.all(p, p.value.text.size() == 1000)"],
  ] as [string, string][])("CelRules stops %s at the step limit", ([, rule]) => {
    expect(new CelRules().compiled(rule).evaluate(many)).toEqual(tooMuch);
  });

  test.for([
    [
      "a 1000-character string as a number",
      `properties.exists(p, int(p.value.text) == 4)`,
      "cannot convert a string of 1000 characters to int: maximum 64",
    ],
    [
      "a 1000-character string as a version",
      `properties.exists(p, semver_compare(p.value.text, "1") == 4)`,
      "cannot parse a string of 1000 characters as a version: maximum 256",
    ],
    [
      "a 1000-character string as a regular expression",
      "properties.exists(p, p.type.matches(p.value.text))",
      "the regular expression is longer than 256 characters",
    ],
    [
      "a regular expression with many repetitions",
      "'a'.matches('((a{30}){30}){30}')",
      "the expanded regular expression exceeds the limit of 2000 instructions",
    ],
    [
      "a regular expression with a repeated Unicode class",
      String.raw`'a'.matches('\\pL{100}')`,
      "the expanded regular expression exceeds the limit of 2000 instructions",
    ],
  ] as [string, string, string][])("CelRules rejects %s", ([, rule, failure]) => {
    expect(new CelRules().compiled(rule).evaluate(many)).toMatchObject({ holds: false, failure });
  });

  test("CelRules evaluates later rules when earlier rules are rejected", () => {
    const cel = new CelRules();
    expect(cel.compile("properties.all(p, properties.all(q, true))", "b.v1")(many)).toBe(false);
    expect(cel.compiled("properties.exists(p, p.type == 't5' && p.value.a == 5)").evaluate(many)).toEqual({ holds: true, steps: 1_074 });
  });

  test("CelRules returns false when a property that the rule reads is too large", () => {
    const rule = new CelRules().compiled("properties[0].value != null");
    const failure = "a property exceeds the limits for CEL rules: 100000 values, 100 levels";
    let deep: unknown = 1;
    for (let i = 0; i < 5_000; i++) deep = [deep];
    expect(rule.evaluate([{ type: "t", value: deep }])).toMatchObject({ holds: false, failure });
    expect(rule.evaluate([{ type: "t", value: Array.from({ length: 100_001 }) }])).toMatchObject({ holds: false, failure });
  });
});

describe("CelRules rejects rules that are too large", () => {
  test.for([
    [`${repeated(20, "[#].map(a, {a: a})[0]", "1")} == 1`.replaceAll(" ", ""), "the types of its expressions are too complex"],
    ["true".padEnd(1_025), "the CEL rule is too long: 1025 characters, maximum 1024"],
    [`${"(".repeat(65)}true${")".repeat(65)}`, "brackets are nested deeper than 64 levels"],
    [`[${Array.from({ length: 500 }, () => "1").join(",")}] == []`, "the rule consists of more than 500 expressions"],
    [`${"1 + ".repeat(100)}1 == 1`, "expressions are nested deeper than 64 levels"],
    [`properties[0].value${".a".repeat(80)} == 1`, "expressions are nested deeper than 64 levels"],
    [
      "properties.all(p, properties.all(q, properties.all(r, properties.all(s, true))))",
      "loops over lists are nested deeper than 3 levels",
    ],
  ] as [string, string][])("$0: $1", ([rule, reason]) => {
    expect(() => new CelRules().compile(rule, "b.v1")).toThrow(reason);
  });
});

test("estimatePatternSize counts expanded repetitions of a regular expression, and fails when there are too many", () => {
  expect(estimatePatternSize("a{2001}")).toBeInstanceOf(Failure);
  expect(["abc", "a{3}", "(a{2,5}b{3}){2}", "a{0}", "\\pL"].map(estimatePatternSize)).toEqual([3, 12, 450, 4, 150]);
});

test("CelRules compiles a rule once and caches its result for the same properties", () => {
  const cel = new CelRules();
  const rule = cel.compiled("properties.size() == 1");
  expect(cel.compiled("properties.size() == 1")).toBe(rule);
  const properties: Property[] = [{ type: "a", value: 1 }];
  expect(rule.evaluateOnce(properties)).toMatchObject({ holds: true });
  properties.push({ type: "b", value: 1 });
  expect(rule.evaluateOnce(properties)).toMatchObject({ holds: true });
  expect(rule.evaluateOnce([...properties])).toMatchObject({ holds: false });
});

test("CelRules removes the least recently used rule when more than 256 rules are cached", () => {
  const cel = new CelRules();
  const [first, second] = [cel.compiled("true && true"), cel.compiled("true || true")];
  for (let i = 0; i < 254; i++) cel.compiled(`${i} == 1`);
  expect(cel.compiled("true && true")).toBe(first);
  cel.compiled("false");
  expect(cel.compiled("true && true")).toBe(first);
  expect(cel.compiled("true || true")).not.toBe(second);
});

test("CelRules evaluates a number whose original text is preserved as a number", () => {
  const text = '{"properties": [{"type": "olm.maxOpenShiftVersion", "value": 4.10}]}';
  const { properties } = keepNumberTokens(JSON.parse(text), text) as { properties: Property[] };
  expect(new CelRules().compile("properties[0].value == 4.1", "b.v1")(properties)).toBe(true);
  expect(new CelRules().compile("properties[0].value == 7", "b.v1")([{ type: "a", value: 7n }])).toBe(true);
});

test("CelRules charges the same steps when a result is known, and nothing outside of charged work", () => {
  const cel = new CelRules();
  const holds = cel.compile("properties.exists(p, p.type == 'a')", "b.v1");
  const properties: Property[] = [{ type: "a", value: 1 }];
  expect(holds(properties)).toBe(true);
  const spent = [new StepBudget(), new StepBudget()].map((budget) => {
    expect(cel.charge(budget, () => holds(properties))).toBe(true);
    return budget.spent;
  });
  expect(spent[0]).toBeGreaterThan(0);
  expect(spent[1]).toBe(spent[0]);
});
