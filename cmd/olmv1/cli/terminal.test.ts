import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { confirm, getOutputWidth, hasColour, hasColourIn, readAnswerLine, suggestNext } from "./terminal.ts";

test.for<[number | undefined, string | undefined, number]>([
  [120, undefined, 120],
  [undefined, undefined, Number.POSITIVE_INFINITY],
  [undefined, "80", 80],
  [120, "80", 80],
  [120, "wide", 120],
  [120, "-1", 120],
  [0, undefined, Number.POSITIVE_INFINITY],
])("getOutputWidth with %s terminal columns and COLUMNS=%s returns %s", ([columns, columnsVariable, want]) => {
  expect(getOutputWidth(columns, columnsVariable)).toBe(want);
});

test.for<[boolean, Record<string, string>, boolean]>([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
])("hasColour with isTerminal %s and environment %o returns %s", ([isTerminal, env, want]) => {
  expect(hasColour(isTerminal, env)).toBe(want);
});

test("suggestNext prints one line on a terminal, and nothing to a pipe", () => {
  let text = "";
  const err = (piece: string): void => void (text += piece);
  suggestNext({ interactive: false, err }, "olmv1 list");
  expect(text).toBe("");
  suggestNext({ interactive: true, err }, "olmv1 list");
  expect(text).toBe("Next: olmv1 list\n");
});

test.for([
  ["auto", true, true],
  ["auto", false, false],
  ["always", false, true],
  ["never", true, false],
] as const)("hasColourIn with --color %s and terminal colors %s returns %s", ([mode, colour, want]) => {
  expect(hasColourIn({ colour }, mode)).toBe(want);
});

test.for([
  ["yes", "y\n", true],
  ["no", "n\n", false],
  ["the end of the input", "", false],
  ["a line that the input ends before its end", "y", false],
] as const)("confirm with %s as answer", async ([, text, want]) => {
  const input = new PassThrough();
  input.end(text);
  const { signal } = new AbortController();
  const ask = (question: string): Promise<string> => readAnswerLine(question, { input, output: new PassThrough(), signal });
  expect(await confirm({ interactive: true, ask }, "Continue?", undefined)).toBe(want);
});
