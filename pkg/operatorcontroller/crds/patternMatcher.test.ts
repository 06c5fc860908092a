import { expect, test } from "vitest";
import { Patterns } from "./patternMatcher.ts";

/** The answers to questions, asked as objects are looked at: once before the answers are there and once after. */
function answers(...questions: [pattern: string, text: string][]): { given: (boolean | undefined)[]; someUnknown: boolean } {
  const patterns = new Patterns();
  for (const [pattern, text] of questions) expect(patterns.matches(pattern, text)).toBe(true);
  patterns.answer();
  const given = questions.map(([pattern, text]) => patterns.matches(pattern, text));
  return { given, someUnknown: patterns.someUnknown };
}

test("patterns match as far as JavaScript knows them", () => {
  expect(answers(["^a+$", "aa"], ["^a+$", "b"], ["(?i)^A$", "a"], [String.raw`[\w-.]`, "-"])).toEqual({
    given: [true, false, true, true],
    someUnknown: false,
  });
});

test("a pattern that is none, and a long text, have no answer", () => {
  expect(answers(["(", "a"], ["a", "a"], ["a", "a".repeat(5_000)])).toEqual({ given: [undefined, true, undefined], someUnknown: true });
});

test("a pattern that would take for ever ends, and what was answered before it holds", () => {
  expect(answers(["^b$", "a"], ["^(a+)+$", `${"a".repeat(60)}b`])).toEqual({ given: [false, undefined], someUnknown: true });
});
