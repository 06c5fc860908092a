import { expect, test } from "vitest";
import { renderAnimation } from "./animation.ts";
import { splitRecordedLines } from "./screen.ts";

test("splitRecordedLines returns colored text as spans", () => {
  expect(splitRecordedLines("a \u001B[32mgood\u001B[39m b\n\u001B[1mc\u001B[22m\n", 5, 80)).toEqual([
    {
      atMs: 5,
      spans: [
        { text: "a ", style: "" },
        { text: "good", style: "good" },
        { text: " b", style: "" },
      ],
    },
    { atMs: 5, spans: [{ text: "c", style: "strong" }] },
  ]);
});

test("splitRecordedLines wraps lines at the width of the terminal", () => {
  const texts = splitRecordedLines("abc\u001B[32mdefg\n\nh", 0, 3).map(({ spans }) => spans.map(({ text }) => text).join(""));
  expect(texts).toEqual(["abc", "def", "g", "", "h"]);
});

test("renderAnimation shows each line at its time, scrolls when the screen is full, and escapes text", () => {
  const lines = Array.from({ length: 40 }, (_, i) => ({ atMs: i * 125, spans: [{ text: i === 3 ? "<script>" : `line ${i}`, style: "" }] }));
  const picture = renderAnimation(lines, 80, "A & B");
  expect(picture).toContain("@keyframes l8{0%{opacity:0}10.127%{opacity:1}}");
  expect(picture).toContain("transform:translateY(-144px)");
  expect(picture).toContain("&lt;script&gt;");
  expect(picture).not.toContain("<script>");
  expect(picture).toContain("<title>A &amp; B</title>");
});
