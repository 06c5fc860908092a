import { expect, test } from "vitest";
import { PatternEvaluator } from "./patternEvaluator.ts";

/** Matches these texts in both rounds, and returns the results. */
function evaluate(...questions: [pattern: string, text: string][]): { given: (boolean | undefined)[]; someUnknown: boolean } {
  const patterns = new PatternEvaluator();
  for (const [pattern, text] of questions) expect(patterns.matches(pattern, text)).toBe(true);
  patterns.evaluate();
  const given = questions.map(([pattern, text]) => patterns.matches(pattern, text));
  return { given, someUnknown: patterns.someUnknown };
}

test("PatternEvaluator matches patterns that JavaScript supports", () => {
  expect(evaluate(["^a+$", "aa"], ["^a+$", "b"], ["(?i)^A$", "a"], [String.raw`[\w-.]`, "-"])).toEqual({
    given: [true, false, true, true],
    someUnknown: false,
  });
});

test("PatternEvaluator returns no result for an invalid pattern or a long text", () => {
  expect(evaluate(["(", "a"], ["a", "a"], ["a", "a".repeat(5_000)])).toEqual({ given: [undefined, true, undefined], someUnknown: true });
});

test("PatternEvaluator ends an endless pattern, and returns the results of earlier patterns", () => {
  expect(evaluate(["^b$", "a"], ["^(a+)+$", `${"a".repeat(60)}b`])).toEqual({ given: [false, undefined], someUnknown: true });
});
