import { expect, test } from "vitest";
import { ManifestLines } from "./payloadReader.ts";

test.for<[what: string, pieces: string[], want: string[]]>([
  ["each line", ["a\\nb\\n"], ["a", "b"]],
  ["no blank lines", ["a\\n \\t\\n\\n", "b"], ["a", "b"]],
  ["a line in pieces", ["a", "b", "c\\nd"], ["abc", "d"]],
  ["a line end that is escaped as a number", ["a\\u000Ab\\u000ac\\u00e9"], ["a", "b", "c\u00e9"]],
  ["no line end after a backslash", ["a\\\\nb\\\\\\nc"], ["a\\nb\\", "c"]],
  ["a lone surrogate as U+FFFD", ["\\ud83d\\n\\ude00", "\\ud83d\\ude00"], ["\ufffd", "\ufffd\ud83d\ude00"]],
  ["other escapes", ['\\"\\/\\r\\t'], ['"/\r\t']],
])("ManifestLines yields %s", ([, pieces, want]) => {
  const found: string[] = [];
  const lines = new ManifestLines((line) => found.push(line));
  for (const piece of pieces) lines.add(Buffer.from(piece));
  lines.end();
  expect(found).toEqual(want);
});
