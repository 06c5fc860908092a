import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import { expect, test } from "vitest";
import { isCostlyMarkdown } from "./markdownCost.ts";

const LENGTH = 24_000;
const PIECES = [
  "[",
  "![",
  "*a ",
  ">",
  "> - ",
  " `",
  "_**a",
  "[a](",
  "<a ",
  "&a;",
  "- ",
  "1. ",
  "[a]: b\n",
  "\\",
  "a\n=\n",
  "***",
  "<!--",
  "](",
];
/** Generous, because other tests run at the same time. */
const MAX_MS = 8_000;

test.for(PIECES)("a description of %j is rendered quickly, or not as Markdown", (piece) => {
  const text = piece.repeat(Math.floor(LENGTH / piece.length));
  const started = performance.now();
  if (!isCostlyMarkdown(text)) renderToStaticMarkup(createElement(ReactMarkdown, { skipHtml: true }, text));
  expect(performance.now() - started).toBeLessThan(MAX_MS);
});

test("isCostlyMarkdown accepts usual descriptions", () => {
  const text = "# Title\n\nSome **bold** text with `code`.\n\n> A quote\n\n- one\n  - two\n    1. three\n\n---\n";
  expect(isCostlyMarkdown(text.repeat(200))).toBe(false);
  expect(isCostlyMarkdown("a".repeat(30_000))).toBe(true);
});
