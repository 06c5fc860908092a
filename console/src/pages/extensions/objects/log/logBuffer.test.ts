import { describe, expect, test } from "vitest";
import { findMatches, LogBuffer, splitMatches } from "./logBuffer.ts";

function readAll(chunks: readonly string[], maxLines = 100, maxSize = 1_000) {
  const buffer = new LogBuffer(maxLines, maxSize);
  for (const chunk of chunks) buffer.append(chunk);
  return buffer.read();
}

describe("LogBuffer", () => {
  test.for([
    [["a\nb\n"], ["a", "b"]],
    [
      ["a", "b\nc"],
      ["ab", "c"],
    ],
    [
      ["a\n", "\n", "b"],
      ["a", "", "b"],
    ],
    [
      ["a", "\n", "b\n"],
      ["a", "b"],
    ],
    [["\n"], [""]],
    [["", "a"], ["a"]],
  ] as const)("joins the chunks %j", ([chunks, want]) => {
    expect(readAll(chunks)).toEqual({ lines: want, dropped: 0 });
  });

  test("drops the oldest lines when there are too many", () => {
    expect(readAll(["1\n2\n3\n4\n", "5\n"], 3)).toEqual({ lines: ["3", "4", "5"], dropped: 2 });
  });

  test("drops the oldest lines when they are too large", () => {
    expect(readAll(["aaaa\nbbbb\n", "cccc\n"], 100, 8)).toEqual({ lines: ["bbbb", "cccc"], dropped: 1 });
  });

  test("keeps the end of one endless line", () => {
    const { lines } = readAll(["x".repeat(50), "y".repeat(5)], 100, 10);
    expect(lines).toEqual(["xxxxxyyyyy"]);
  });

  test("stays limited with many lines", () => {
    const buffer = new LogBuffer(1_000, 50_000);
    for (let i = 0; i < 200; i++) buffer.append(`${"line ".repeat(20)}${i}\n`.repeat(50));
    const { lines, dropped } = buffer.read();
    expect(lines.join("").length).toBeLessThanOrEqual(50_000);
    expect(lines.length + dropped).toBe(10_000);
  });
});

test("findMatches finds lines without regard to case", () => {
  expect(findMatches(["Error: x", "fine", "an ERROR"], "error")).toEqual([0, 2]);
  expect(findMatches(["a"], "")).toEqual([]);
});

test.for([
  ["an Error and error", "error", ["an ", "Error", " and ", "error", ""]],
  ["plain", "error", ["plain"]],
  ["plain", "", ["plain"]],
] as const)("splitMatches splits %j at %j", ([line, text, want]) => {
  expect(splitMatches(line, text)).toEqual(want);
});
