import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
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

test("wrapText breaks a line only before the word that exceeds the width when words have letters of any width", () => {
  const letters = fc.constantFrom("a", "1", "é", "e\u0301", "日", "한", "ｶﾞ", "👍🏻", "👩‍👩‍👧");
  const words = fc.array(fc.string({ unit: letters, maxLength: 8 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 40 }), (parts, width) => {
      expect(wrapText(parts.join(" "), width)).toEqual(wrapSlowly(parts, width));
    }),
  );
});

/** Wraps words like `wrapText`, but measures whole lines. */
function wrapSlowly(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let now = "";
  for (const word of words) {
    const longer = now === "" ? word : `${now} ${word}`;
    if (now !== "" && measureWidth(longer) > width) {
      lines.push(now);
      now = word;
    } else now = longer;
  }
  return [...lines, now.trimEnd()];
}

test("wrapText measures each word once when the output is a pipe", () => {
  const text = "é ".repeat(1_000).trimEnd();
  using segment = vi.spyOn(Intl.Segmenter.prototype, "segment");
  expect(wrapText(text, Number.POSITIVE_INFINITY)).toEqual([text]);
  const measured = segment.mock.calls.reduce((sum, [part]) => sum + part.length, 0);
  expect(measured).toBeGreaterThan(0);
  expect(measured).toBeLessThanOrEqual(text.length);
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
