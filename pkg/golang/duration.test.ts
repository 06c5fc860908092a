import { expect, test } from "vitest";
import { parseDuration } from "./time.ts";

test.for([
  ["12h", 43_200_000],
  ["1h30m", 5_400_000],
  ["1.5s", 1_500],
  ["250ms", 250],
  ["0", 0],
  ["12", undefined],
  ["h", undefined],
  ["-1h", undefined],
  ["1d", undefined],
  ["", undefined],
] as const)("parseDuration with %j returns %s", ([text, ms]) => {
  expect(parseDuration(text)).toBe(ms);
});
