import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Returns the tests that a page refers to: file or case folder, and the start or a part of the name. */
function listReferences(page: string): { place: string; name: string }[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const lines = text.split("\n").filter((line) => /^ {2}`(pkg|test|cmd)\//.test(line));
  return lines.flatMap((line) => {
    return line
      .trim()
      .split("; `")
      .map((part) => {
        const [, place = "", name = ""] = /^`?([^`]+)`(?:: (.*))?$/.exec(part) ?? [];
        return { place, name };
      });
  });
}

function readText(place: string): string {
  const path = join(ROOT, place);
  if (!statSync(path).isDirectory()) return readFileSync(path, "utf8");
  return readdirSync(path)
    .map((file) => readFileSync(join(path, file), "utf8"))
    .join("\n");
}

test.for<[page: string, least: number]>([
  ["docs/security.md", 80],
  ["docs/reliability.md", 40],
])("every threat or fault in %s refers to existing tests", ([page, least]) => {
  const found = listReferences(page);
  expect(found.length).toBeGreaterThan(least);
  const missing = found.filter(({ place, name }) => !existsSync(join(ROOT, place)) || !readText(place).includes(name));
  expect(missing).toEqual([]);
});
