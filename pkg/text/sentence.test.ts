import { expect, test } from "vitest";
import { toSentence } from "./sentence.ts";

test.each([
  { clause: "the catalog is not served", expected: "The catalog is not served." },
  { clause: " no bundle matches: see spec.source ", expected: "No bundle matches: see spec.source." },
  { clause: "spec.suspend is true", expected: "spec.suspend is true." },
  { clause: "redis-operator.v1.2.0 is deprecated", expected: "redis-operator.v1.2.0 is deprecated." },
  { clause: "Is it served?", expected: "Is it served?" },
  { clause: "", expected: "" },
])("toSentence returns $expected when the clause is $clause", ({ clause, expected }) => {
  expect(toSentence(clause)).toBe(expected);
});

test("toSentence truncates to the maximum, and does not take an index for it", () => {
  expect(toSentence("much too long", { max: 6 })).toBe("Much …");
  // @ts-expect-error map must not set the maximum
  expect(["first clause", "second clause"].map(toSentence)).toEqual(["First clause.", "Second clause."]);
});
