import * as fc from "fast-check";
import { expect, test } from "vitest";
import { wrapped } from "./text.ts";

test.for([
  ["fits", "one two", 20, "", ["one two"]],
  ["breaks at blanks", "one two three four five", 20, "", ["one two three four", "five"]],
  ["is indented", "one two three four five six", 24, "    ", ["    one two three four", "    five six"]],
  ["keeps line ends", "one\n\ntwo", 40, "  ", ["  one", "", "  two"]],
  [
    "leaves long words whole",
    "see registry.example.com/team/image:v1.0.0 now",
    20,
    "",
    ["see", "registry.example.com/team/image:v1.0.0", "now"],
  ],
  ["has no end in a pipe", "one two three four five six seven", Number.POSITIVE_INFINITY, "", ["one two three four five six seven"]],
] as const)("text that %s", ([, text, width, indent, want]) => {
  expect(wrapped(text, width, indent)).toEqual(want);
});

test("no word is lost, and no line of several words is too long", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,30}$/), { minLength: 1 }), fc.integer({ min: 20, max: 90 }), (words, width) => {
      const lines = wrapped(words.join(" "), width);
      expect(lines.join(" ")).toBe(words.join(" "));
      for (const line of lines) expect(line.includes(" ") && line.length > width).toBe(false);
    }),
  );
});
