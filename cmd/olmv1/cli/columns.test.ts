import * as fc from "fast-check";
import { expect, test } from "vitest";
import { measureWidth, truncateColumns, wrapText } from "./columns.ts";

test.for([
  ["does not change a text that fits", "one two", 20, "", ["one two"]],
  ["breaks lines at blanks", "one two three four five", 20, "", ["one two three four", "five"]],
  ["indents every line", "one two three four five six", 24, "    ", ["    one two three four", "    five six"]],
  ["keeps line breaks", "one\n\ntwo", 40, "  ", ["  one", "", "  two"]],
  [
    "does not split a long word",
    "see registry.example.com/team/image:v1.0.0 now",
    20,
    "",
    ["see", "registry.example.com/team/image:v1.0.0", "now"],
  ],
  [
    "does not break lines in a pipe",
    "one two three four five six seven",
    Number.POSITIVE_INFINITY,
    "",
    ["one two three four five six seven"],
  ],
] as const)("wrapText %s", ([, text, width, indent, want]) => {
  expect(wrapText(text, width, indent)).toEqual(want);
});

test("wrapText keeps all words, and only a line with a single long word exceeds the width", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1 }), fc.integer({ min: 20, max: 90 }), (words, width) => {
      const lines = wrapText(words.join(" "), width);
      expect(lines.join(" ")).toBe(words.join(" "));
      for (const line of lines) expect(line.includes(" ") && line.length > width).toBe(false);
    }),
  );
});

test.for([
  ["ASCII", "abc", 3],
  ["a wide letter", "日本", 4],
  ["a combining accent", "e\u0301", 1],
  ["joined emoji", "👩‍👩‍👧", 2],
] as const)("measureWidth returns the number of columns of %s", ([, text, want]) => {
  expect(measureWidth(text)).toBe(want);
});

test.for([
  ["fits", "abc", 3, "abc"],
  ["is too long", "abcdef", 4, "abc…"],
  ["has wide letters", "日本語", 4, "日…"],
  ["has a joined character at the cut", "ab👩‍👩‍👧cd", 4, "ab…"],
  ["must fit into no columns", "abc", 0, "…"],
] as const)("truncateColumns does not split characters when the text %s", ([, text, columns, want]) => {
  expect(truncateColumns(text, columns)).toBe(want);
});
