import { expect, test } from "vitest";
import { formatAge } from "./RelativeTime.tsx";

test.each([
  [0, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_599_999, "59m"],
  [3_600_000, "1h"],
  [86_400_000 * 400, "400d"],
])("formatAge formats %i ms with its largest unit", (ms, expected) => {
  expect(formatAge(ms)).toBe(expected);
});
