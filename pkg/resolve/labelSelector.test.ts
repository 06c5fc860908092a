import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compileSelector, type LabelSelector, MAX_SELECTOR_PARTS } from "./labelSelector.ts";

const texts = (count: number) => Array.from({ length: count }, (_, i) => `v${i}`);
const labels = (count: number) => Object.fromEntries(texts(count).map((text) => [text, "v"]));
const exists = (count: number) => texts(count).map((key) => ({ key, operator: "Exists" }));

test.for<[what: string, selector: LabelSelector, parts: number]>([
  ["labels", { matchLabels: labels(100_000) }, 100_000],
  ["expressions", { matchExpressions: exists(100_000) }, 100_000],
  ["values", { matchExpressions: [{ key: "a", operator: "NotIn", values: texts(1_000) }] }, 1_001],
  ["labels and expressions", { matchLabels: labels(501), matchExpressions: exists(500) }, 1_001],
])("compileSelector rejects a selector with too many %s", ([, selector, parts]) => {
  const { error, matches } = compileSelector(selector);
  expect(error).toBe(`it has ${parts} labels, expressions and values, more than the ${MAX_SELECTOR_PARTS} allowed`);
  expect(matches({ v0: "v" })).toBe(false);
});

test("compileSelector accepts a selector that reaches its limits", () => {
  const { error, requirements, matches } = compileSelector({ matchExpressions: exists(1_000) });
  expect([error, requirements, matches(labels(1_000)), matches(labels(999))]).toEqual([undefined, 1_000, true, false]);
});

test("compileSelector returns a selector that matches exactly the labels that all its expressions match", () => {
  const text = fc.constantFrom("a", "b", "c");
  const expression = fc.oneof(
    fc.record({ key: text, operator: fc.constantFrom("In", "NotIn"), values: fc.array(text, { minLength: 1, maxLength: 3 }) }),
    fc.record({ key: text, operator: fc.constantFrom("Exists", "DoesNotExist") }),
  );
  const allows = ({ key, operator, values = [] }: { key: string; operator: string; values?: string[] }, given: Record<string, string>) => {
    const value = given[key];
    if (operator === "In") return value !== undefined && values.includes(value);
    if (operator === "NotIn") return value === undefined || !values.includes(value);
    return (operator === "Exists") === (value !== undefined);
  };
  fc.assert(
    fc.property(
      fc.dictionary(text, text),
      fc.array(expression, { maxLength: 3 }),
      fc.array(fc.dictionary(text, text)),
      (match, all, objects) => {
        const { matches } = compileSelector({ matchLabels: match, matchExpressions: all });
        for (const given of objects) {
          const hasLabels = Object.entries(match).every(([key, value]) => given[key] === value);
          expect(matches(given)).toBe(hasLabels && all.every((one) => allows(one, given)));
        }
      },
    ),
  );
});
