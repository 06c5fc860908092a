import { expect, test } from "vitest";
import { durationOf } from "./duration.ts";

test.for([
  ["90s", 90_000],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["0s", 0],
] as const)("%s is %d ms", ([text, want]) => {
  expect(durationOf(text)).toBe(want);
});

test.for(["", "5", "m", "5 m", "1d", "-5m", "5m!"])('"%s" is no duration', (text) => {
  expect(() => durationOf(text)).toThrow("such as 90s, 5m or 1h");
});
