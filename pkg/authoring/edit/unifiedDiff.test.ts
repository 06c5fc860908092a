import * as fc from "fast-check";
import { expect, test } from "vitest";
import { unifiedDiff } from "./unifiedDiff.ts";

const text = fc
  .tuple(fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 40 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join("\n") + (isEnded && lines.length > 0 ? "\n" : ""));

/** What `patch` makes of a text, which refuses a hunk that does not stand where it says. */
function patched(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const after: string[] = [];
  let at = 0;
  const lines = diff.split("\n").slice(2, -1);
  for (const [i, line] of lines.entries()) {
    const [, from = "", count = "1"] = /^@@ -(\d+)(?:,(\d+))? \+/.exec(line) ?? [];
    const rest = line.slice(1) + (lines[i + 1]?.startsWith("\\") ? "" : "\n");
    if (from !== "") {
      const start = count === "0" ? Number(from) : Number(from) - 1;
      after.push(...old.slice(at, start));
      at = start;
    } else if (line.startsWith("+")) after.push(rest);
    else if (!line.startsWith("\\")) {
      expect(rest).toBe(old[at++]);
      if (line.startsWith(" ")) after.push(rest);
    }
  }
  return [...after, ...old.slice(at)].join("");
}

test("a diff makes of one text the other", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = unifiedDiff("x", before, after);
      if (before === after) expect(diff).toBe("");
      else expect(patched(before, diff)).toBe(after);
    }),
    { numRuns: 500 },
  );
});

test("a new file is one of nothing, and one that goes leaves nothing", () => {
  expect(unifiedDiff("x", undefined, "a\n")).toBe("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
  expect(unifiedDiff("x", "a", undefined)).toBe("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n");
});
