import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { formatUnifiedDiff } from "./unifiedDiff.ts";

const text = fc
  .tuple(fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 40 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join("\n") + (isEnded && lines.length > 0 ? "\n" : ""));

/** Applies a diff like `patch`. Fails if a hunk is not at the line in its header. */
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

test("formatUnifiedDiff returns a diff that changes the old text to the new text", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = formatUnifiedDiff("x", before, after);
      if (before === after) expect(diff).toBe("");
      else expect(patched(before, diff)).toBe(after);
    }),
    { numRuns: 500 },
  );
});

test("formatUnifiedDiff uses /dev/null for added and removed files", () => {
  expect(formatUnifiedDiff("x", undefined, "a\n")).toBe("--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n");
  expect(formatUnifiedDiff("x", "a", undefined)).toBe("--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n");
});

const LINES = Array.from({ length: 5_000 }, (_, i) => `line ${i}\n`);
const PATH = "a folder/näme.yaml";

test.for<[string, string | undefined, string | undefined]>([
  ["two changes far from each other", LINES.join(""), LINES.map((line, i) => (i % 2_000 === 7 ? "new\n" : line)).join("")],
  ["a large insertion", LINES.join(""), LINES.toSpliced(2_500, 0, ...LINES.map((line) => `new ${line}`)).join("")],
  ["more changes than the search limit", LINES.join(""), LINES.map((line, i) => (i % 3 === 0 && i > 9 ? `new ${line}` : line)).join("")],
  ["a removed newline at the end", "a\nb\n", "a\nb"],
  ["an added newline at the end", "a\nb", "a\nb\n"],
  ["carriage returns", "a\r\nb\r\nc", "a\r\nx\r\nc"],
  ["a new file", undefined, "a\n"],
  ["a removed file", "a\nb", undefined],
])("git applies the diff of %s", ([, before, after]) => {
  using folder = new TempFolder();
  folder.write("", before === undefined ? {} : { [PATH]: before });
  const [file, env] = [join(folder.path, PATH), { ...process.env, GIT_CEILING_DIRECTORIES: join(folder.path, "..") }];
  execFileSync("git", ["apply", "-"], { cwd: folder.path, env, input: formatUnifiedDiff(PATH, before, after) });
  expect(existsSync(file) ? readFileSync(file, "utf8") : undefined).toBe(after);
});

test("formatUnifiedDiff prints adjacent new lines as one hunk with three lines of context", () => {
  const after = LINES.toSpliced(2_500, 0, ...LINES.map((line) => `new ${line}`)).join("");
  expect(formatUnifiedDiff("x", LINES.join(""), after).split("\n")).toHaveLength(2 + 1 + 3 + 5_000 + 3 + 1);
});
