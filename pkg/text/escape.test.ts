import { expect, test } from "vitest";
import { escapeControlCharacters, escapeLines, toOneLine } from "./escape.ts";

test.each([
  ["plain text", "ä 😀", "ä 😀", "ä 😀", "ä 😀"],
  ["line ends", "a\nb", "a\nb", "a b", "a\\nb"],
  ["cursor movement", "a\u001B[2Jb\r\n", "a\\u{1b}[2Jb\\u{d}\n", "a\\u{1b}[2Jb\\u{d} ", "a\\u{1b}[2Jb\\u{d}\\n"],
  ["a line separator", "a\u2028b", "a\\u{2028}b", "a\\u{2028}b", "a\\u{2028}b"],
])("escapeControlCharacters, toOneLine and escapeLines return the expected text for %s", (_, text, escaped, line, lines) => {
  expect([escapeControlCharacters(text), toOneLine(text), escapeLines(text)]).toEqual([escaped, line, lines]);
});
