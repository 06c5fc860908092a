import { expect, test } from "vitest";
import { type MarkdownPart, splitTables } from "./markdownTables.ts";

const TABLE = "| a | b |\n| --- | :-: |\n| 1 | x \\| y |\n| 2 |";

test.for<[what: string, text: string, parts: MarkdownPart[]]>([
  ["prose only", "a | b\n\n- c", [{ text: "a | b\n\n- c" }]],
  [
    "a table between prose",
    `before\n${TABLE}\nafter`,
    [{ text: "before" }, { head: ["a", "b"], rows: [["1", "x | y"], ["2"]] }, { text: "after" }],
  ],
  ["a table in a code block", `\`\`\`\n${TABLE}\n\`\`\``, [{ text: `\`\`\`\n${TABLE}\n\`\`\`` }]],
  ["a row without a rule", "| a |\n| b |", [{ text: "| a |\n| b |" }]],
  ["two tables", `${TABLE}\n\n${TABLE}`, Array.from({ length: 2 }, () => ({ head: ["a", "b"], rows: [["1", "x | y"], ["2"]] }))],
])("splitTables splits %s", ([, text, parts]) => {
  expect(splitTables(text)).toEqual(parts);
});

test("splitTables needs linear time for hostile text", () => {
  const started = performance.now();
  splitTables(`${"|".repeat(20_000)}\n| ${"-".repeat(20_000)}`);
  splitTables("| a |\n| - |\n".repeat(20_000));
  expect(performance.now() - started).toBeLessThan(2_000);
});
