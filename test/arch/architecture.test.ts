import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LAYERS } from "./layers.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");

test("architecture.md shows the layers that the import test enforces", () => {
  const [, block = ""] = /## Layers\n[^]*?```\n([^]*?)```/.exec(PAGE) ?? [];
  expect(
    block
      .trim()
      .split("\n")
      .map((line) => line.split(" ")),
  ).toEqual(LAYERS);
});

test("architecture.md mentions only files and folders that exist", () => {
  const named = [...PAGE.matchAll(/`((?:cmd|pkg|test|docs)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(60);
  expect([...new Set(named)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("architecture.md says what each folder of pkg contains", () => {
  const rows = [...PAGE.matchAll(/^\| `(pkg\/[a-z]+)` +\| \S/gm)].map(([, folder = ""]) => folder);
  expect(rows.toSorted()).toEqual(
    readdirSync(join(ROOT, "pkg"))
      .map((name) => `pkg/${name}`)
      .toSorted(),
  );
});
