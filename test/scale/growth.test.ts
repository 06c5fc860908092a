import { expect, test } from "vitest";
import { fitExponent, type Point } from "./growth.ts";

test.for<[string, Point[], number | undefined]>([
  [
    "0 for a constant",
    [
      [10, 7],
      [100, 7],
      [1_000, 7],
    ],
    0,
  ],
  [
    "1 for linear growth",
    [
      [10, 2],
      [100, 20],
      [1_000, 200],
    ],
    1,
  ],
  [
    "2 for quadratic growth",
    [
      [1, 3],
      [2, 12],
      [4, 48],
    ],
    2,
  ],
  [
    "0.5 for the square root",
    [
      [1, 1],
      [4, 2],
      [16, 4],
    ],
    0.5,
  ],
  [
    "undefined for one size",
    [
      [10, 1],
      [10, 2],
    ],
    undefined,
  ],
  ["undefined without points", [], undefined],
  [
    "undefined for a value of 0",
    [
      [10, 0],
      [100, 1],
    ],
    undefined,
  ],
])("fitExponent returns %s", ([, points, want]) => {
  const exponent = fitExponent(points);
  if (want === undefined) expect(exponent).toBeUndefined();
  else expect(exponent).toBeCloseTo(want, 10);
});
