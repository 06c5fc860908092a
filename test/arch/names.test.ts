import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/** Matches a declaration of an exported name; re-exports are not declarations. */
const EXPORTED_DECLARATION = /^export (?:default )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let) (\w+)/gm;

/** Names that several files may declare: the files, and why they cannot be confused. */
const ARGUED: readonly { readonly names: readonly string[]; readonly files: RegExp; readonly why: string }[] = [
  {
    names: ["Flags", "METRICS_ADDRESS"],
    files: /^cmd\/(catalogd|console|operator-controller|permission-manager)\/flags\.ts$/,
    why: "Each server program describes its own flags in a file of the same form, and only that program and its tests import it.",
  },
  {
    names: ["Phase", "Started", "newStarted"],
    files: /^pkg\/(catalogd|operatorcontroller)\//,
    why: "Each controller has the same parts under the same names, and neither may import the other (imports.test.ts).",
  },
];

const ROOT = join(import.meta.dirname, "../..");

/** Returns the exported names of a source without duplicates, because a schema and the type of its values share a name. */
function exportedNames(source: string): string[] {
  return [...new Set([...source.matchAll(EXPORTED_DECLARATION)].map((match) => match[1]!))];
}

/** Returns the names that several files declare, with those files. */
function duplicates(sources: ReadonlyMap<string, string>): Map<string, string[]> {
  const files = Map.groupBy(
    [...sources].flatMap(([file, source]) => exportedNames(source).map((name) => ({ name, file }))),
    ({ name }) => name,
  );
  return new Map([...files].map(([name, found]) => [name, found.map(({ file }) => file)] as const).filter(([, found]) => found.length > 1));
}

const sources = new Map(
  globSync("{cmd,pkg}/**/*.ts", { cwd: ROOT })
    .filter((file) => !file.endsWith(".test.ts"))
    .toSorted()
    .map((file) => [file, readFileSync(join(ROOT, file), "utf8")]),
);

describe("exported names", () => {
  const found = duplicates(sources);

  test("each exported name is declared in one file unless ARGUED lists the name", () => {
    expect(sources.size).toBeGreaterThan(100);
    const unargued = [...found].filter(
      ([name, files]) => !ARGUED.some((rule) => rule.names.includes(name) && files.every((file) => rule.files.test(file))),
    );
    expect(unargued.map(([name, files]) => `${name}: ${files.join(", ")}`)).toEqual([]);
  });

  test.each([
    { what: "a function and a type", one: "export async function read() {}", other: "export interface read {}", expected: ["read"] },
    { what: "generators and constants", one: "export function* all() {}", other: "export const all = [];", expected: ["all"] },
    { what: "a declaration and its re-export", one: "export class Store {}", other: 'export { Store } from "./a.ts";', expected: [] },
    { what: "a declaration and a local one", one: "export class Store {}", other: "class Store {}", expected: [] },
  ])("duplicates compares the exported declarations of two files when they have $what", ({ one, other, expected }) => {
    const files = new Map([
      ["a.ts", one],
      ["b.ts", other],
    ]);
    expect([...duplicates(files).keys()]).toEqual(expected);
  });

  test("exportedNames returns a name once when a schema and the type of its values share the name", () => {
    expect(exportedNames("export const Flags = z.object({});\nexport type Flags = z.output<typeof Flags>;")).toEqual(["Flags"]);
  });

  test("ARGUED lists only names that several files export", () => {
    expect(ARGUED.flatMap(({ names }) => names).filter((name) => !found.has(name))).toEqual([]);
  });
});
