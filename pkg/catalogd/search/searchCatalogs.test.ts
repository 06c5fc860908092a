import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SearchRecord } from "../../fbc/summary/search.ts";
import { compareText } from "../../text/compare.ts";
import { formatContinueToken, parsePosition, searchCatalogs } from "./searchCatalogs.ts";
import { parseApiPattern, parseSearchQuery, prepareSearchedPackage } from "./searchQuery.ts";

const record = (name: string, versions: number): SearchRecord => ({
  package: name,
  channels: [],
  descriptions: [{}],
  supports: [{ architectures: ["amd64"], operatingSystems: ["linux"], infrastructureFeatures: [] }],
  apis: [],
  provided: [[]],
  versions: Array.from({ length: versions }, (_, i) => [`${name}.v${i}`, `${i}.0.0`, null, 0, 0, 0, 0, []] as const),
});

type Catalogs = Parameters<typeof searchCatalogs>[0];

const compare = (a: string, b: string): number => compareText(a, b);
/** Catalogs sorted by name, with packages sorted by name, as in the server. */
const catalogs = fc
  .dictionary(fc.string({ minLength: 1 }), fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 30 }), { maxKeys: 4 })
  .map(
    (byName): Catalogs =>
      Object.entries(byName)
        .sort(([a], [b]) => compare(a, b))
        .map(([name, packages]) => ({
          name,
          index: {
            packages: packages.toSorted(compare).map((one) => prepareSearchedPackage(record(one, one.length % 3))),
            incomplete: false,
          },
        })),
  );

describe("pages", () => {
  const { signal } = new AbortController();

  test("search pages contain all entries once, in order, for any page size", async () => {
    const holds = fc.asyncProperty(catalogs, fc.integer({ min: 1, max: 12 }), async (all, limit) => {
      const query = parseSearchQuery({});
      const got: string[][] = [];
      for (let after: { catalog: string; package: string } | undefined, more = true; more; ) {
        const page = await searchCatalogs(all, query, { after, limit, matches: 1, signal });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        expect(page.items.length === limit || !page.more).toBe(true);
        got.push(...page.items.map((item) => [item.catalog, item.package]));
        const last = page.items.at(-1);
        // The position at the end of a page must be preserved by the continue token.
        if (last) after = parsePosition(formatContinueToken({ catalog: last.catalog, package: last.package, query: "q", content: "c" }));
        more = page.more;
      }
      const withVersions = all.flatMap(({ name, index }) =>
        index.packages.flatMap((one) => (one.versions.length > 0 ? [[name, one.name]] : [])),
      );
      expect(got).toEqual(withVersions);
      expect((await searchCatalogs(all, query, { limit: 1, matches: 1, signal })).total).toBe(withVersions.length);
    });
    await fc.assert(holds);
  });

  test("search ends when the client disconnects", async () => {
    const many = Array.from({ length: 3_000 }, (_, i) => prepareSearchedPackage(record(`p${i}`, 200)));
    const gone = AbortSignal.abort(new Error("gone"));
    const searching = searchCatalogs(
      [{ name: "c", index: { packages: many, incomplete: false } }],
      parseSearchQuery({ gvk: ["x"], text: "y" }),
      {
        limit: 1,
        matches: 1,
        signal: gone,
      },
    );
    await expect(searching).rejects.toThrow("gone");
  });
});

test.for([
  "",
  "x",
  "W10",
  Buffer.from("[1]").toString("base64url"),
  Buffer.from("[2,'','','','']").toString("base64url"),
  "é",
  "a".repeat(5_000),
])("parsePosition returns undefined for the invalid continue token $0", (token) => {
  expect(parsePosition(token)).toBeUndefined();
});

test.for([
  ["DB", { kind: "db" }],
  ["DB.Example.com", { kind: "db", group: "example.com" }],
  ["example.com/v1/DB", { group: "example.com", version: "v1", kind: "db" }],
  ["/v1/Pod", { group: "", version: "v1", kind: "pod" }],
] as const)("parseApiPattern parses %s", ([text, want]) => {
  expect(parseApiPattern(text)).toEqual(want);
});

test.for(["", ".", "a.", ".a", "a/b", "a//b", "a/b/", "a/b/c/d", "/"])("parseApiPattern rejects %j", (text) => {
  expect(() => parseApiPattern(text)).toThrow(/^gvk: /);
});
