import { expect, test } from "vitest";
import { goQuote } from "./quote.ts";

test.for([
  ["plain", '"plain"'],
  ['say "hi"\\', '"say \\"hi\\"\\\\"'],
  ["a\tb\nc\rd\x07\b\f\v", '"a\\tb\\nc\\rd\\a\\b\\f\\v"'],
  ["\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'],
  ["≥1.0 é 日本", '"≥1.0 é 日本"'],
  ["\u00a0\u200b\u{e0001}", '"\\u00a0\\u200b\\U000e0001"'],
] as const)("goQuote quotes %j as Go does", ([text, want]) => {
  expect(goQuote(text)).toBe(want);
});
