import { expect, test } from "vitest";
import { getOutputWidth, hasColour } from "./terminal.ts";

test.for<[number | undefined, string | undefined, number]>([
  [120, undefined, 120],
  [undefined, undefined, Number.POSITIVE_INFINITY],
  [undefined, "80", 80],
  [120, "80", 80],
  [120, "wide", 120],
  [120, "-1", 120],
  [0, undefined, Number.POSITIVE_INFINITY],
])("a terminal of %s columns with COLUMNS=%s has width %s", ([columns, asked, want]) => {
  expect(getOutputWidth(columns, asked)).toBe(want);
});

test.for<[boolean, Record<string, string>, boolean]>([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
])("terminal %s with %o has colors: %s", ([isTerminal, env, want]) => {
  expect(hasColour(isTerminal, env)).toBe(want);
});
