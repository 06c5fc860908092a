import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { encodeGoJson } from "./json.ts";
import { parseFirstYamlDocument, parseYaml, parseYamlDocuments, toYaml, YamlLines, type YamlPath } from "./yaml.ts";
import { Parser } from "./yamlParser.ts";

interface Case extends CaseHead {
  text: string;
  /** The result of sigs.k8s.io/yaml. */
  json?: string;
  refused?: boolean;
}

test.for(loadCases<Case>("kubeyaml"))("parseYaml: $name", ({ text, json, refused }) => {
  if (refused) expect(() => parseYaml(text)).toThrow();
  else expect(encodeGoJson(parseYaml(text))).toBe(json);
});

test("parseYaml rejects a second document", () => {
  expect(() => parseYaml("a: 1\n---\nb: 2\n")).toThrow("expected one document, found 2");
  expect(() => parseYaml("{a: 1} {b: 2}")).toThrow();
  expect(parseYamlDocuments("a: 1\n---\nb: 2\n")).toEqual([{ a: 1 }, { b: 2 }]);
});

test("parseYaml rejects infinities, which JSON cannot represent", () => {
  for (const text of [".inf", "-.Inf", ".NaN"]) expect(() => parseYaml(`a: ${text}`)).toThrow("json: unsupported value: ");
});

test("parseYaml limits nesting", () => {
  expect(() => parseYaml("[".repeat(100_000))).toThrow();
});

describe("small text with a huge value", () => {
  const bomb = (levels: number, of: (i: number) => string): string =>
    ["a0: &a0 [lol, lol]", ...Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} ${of(i)}`)].join("\n");
  const deep = (i: number): string => `${"[".repeat(400)}*a${i}${"]".repeat(400)}`;

  test.for<[what: string, text: string, reason: string]>([
    ["aliases of aliases", bomb(30, (i) => `[${`*a${i},`.repeat(10)}]`), "document contains excessive aliasing"],
    ["one long text many times", `a: &a "${"x".repeat(100_000)}"\nb: [${"*a,".repeat(1_000)}]`, "document contains excessive aliasing"],
    ["aliases that nest", bomb(5, deep), "nested deeper than 1000 levels after expanding aliases"],
    ["a list in itself", "a: &a [*a]", "anchor 'a' value contains itself"],
    ["a mapping in itself", "a: &a\n  b: {c: *a}", "anchor 'a' value contains itself"],
    [
      "aliases of merged mappings",
      bomb(60, (i) => `{<<: [${`*a${i},`.repeat(99)}]}`).replace("[lol, lol]", "{x: 1}"),
      "excessive aliasing",
    ],
    [
      "merged members",
      `a: &a {${Array.from({ length: 101 }, (_, i) => `k${i}: 1`).join(", ")}}\nb: {${"<<: *a,".repeat(100)}}`,
      "merge keys add more than 10000 members",
    ],
    ["millions of values", `a: [${"1,".repeat(2_000_001)}]`, "more than 2000000 values in one document"],
    ["millions of lines", "- 1\n".repeat(2_000_001), "more than 2000000 values in one document"],
  ])("parseYaml rejects a small text with a huge value: %s", ([, text, reason]) => {
    expect(() => parseYaml(text)).toThrow(reason);
  });

  test("parseYaml accepts a few aliases", () => {
    expect(parseYaml("a: &a {b: [1, 2]}\nc: [*a, *a]\nd: {<<: *a, e: *a}")).toEqual({
      a: { b: [1, 2] },
      c: [{ b: [1, 2] }, { b: [1, 2] }],
      d: { b: [1, 2], e: { b: [1, 2] } },
    });
  });
});

test.for<[what: string, text: string, value: unknown]>([
  ["a decimal number", "9".repeat(1_000_000), "9".repeat(1_000_000)],
  ["a hexadecimal number", `0x${"f".repeat(1_000_000)}`, `0x${"f".repeat(1_000_000)}`],
  ["a fraction", `0.${"9".repeat(1_000_000)}`, 1],
  ["zeros", "0".repeat(1_000_000), 0],
  ["a text that is almost a number", `${"1_".repeat(1_000_000)}x`, `${"1_".repeat(1_000_000)}x`],
])("parseYaml takes linear time when a number has a million digits: %s", ([, text, value]) => {
  expect(parseYaml(`a: ${text}`)).toEqual({ a: value });
});

describe("lines inside quotes and brackets", () => {
  /** Texts in quotes and brackets over several lines; each line except the first begins at its own column. */
  const word = fc.constantFrom("a", "b c", "d:", "- e", "x", "'", "");
  const column = fc.integer({ min: 0, max: 6 });
  const line = fc.record({ column, word });
  const block = fc.record({
    depth: fc.integer({ min: 1, max: 6 }),
    kind: fc.constantFrom("double", "single", "list", "map"),
    lines: fc.array(line, { minLength: 1, maxLength: 8 }),
  });

  function written(
    { depth, kind, lines }: { depth: number; kind: string; lines: { column: number; word: string }[] },
    indent?: number,
  ): string {
    const head = Array.from({ length: depth }, (_, level) => `${"  ".repeat(level)}k:`).join("\n");
    const at = (of: number): string => " ".repeat(indent ?? of);
    if (kind === "double") return `${head} "${lines.map(({ column: of, word: text }) => `${text}\n${at(of)}`).join("")}"`;
    if (kind === "single")
      return `${head} '${lines.map(({ column: of, word: text }) => `${text.replaceAll("'", "''")}\n${at(of)}`).join("")}'`;
    const items = lines.map(({ column: of, word: text }, i) => `${kind === "map" ? `m${i}: ` : ""}"${text}",\n${at(of)}`).join("");
    return kind === "map" ? `${head} {${items}}` : `${head} [${items}]`;
  }

  test("parseYaml reads the same value whether or not lines inside quotes and brackets are indented", () => {
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 4 }), (blocks) => {
        const document = (indent?: number): string =>
          blocks
            .map(
              (one, i) =>
                `b${i}:\n${written(one, indent)
                  .replace(/^/, " ")
                  .replace(/\n(?= *k:)/g, "\n ")}`,
            )
            .join("\n");
        expect(parseYaml(document())).toEqual(parseYaml(document(20)));
      }),
    );
  });

  test("parseYaml reads 20,000 lines inside quotes or brackets", () => {
    expect(parseYaml(`a:\n  b: "${"z\n".repeat(20_000)}"`)).toEqual({ a: { b: "z ".repeat(20_000) } });
    expect(parseYaml(`a:\n  b: [${"z,\n".repeat(20_000)}]`)).toEqual({ a: { b: Array<string>(20_000).fill("z") } });
    expect(parseYaml("a: [\t1,\t2]")).toEqual({ a: [1, 2] });
  });

  test("parseYaml reads an annotation with many lines at the left margin, as in bundles of redis-operator", () => {
    const samples = `[\n{\n"apiVersion": "databases.example.com/v1",\n"kind": "Redis",\n"spec": { "size": 3 }\n}\n]`;
    const quoted = samples.replaceAll('"', '\\"').replaceAll("\n", "\\n\\\n");
    const text = `metadata:\n  annotations:\n    alm-examples: "${`${quoted}\\n\\\n`.repeat(40)}"\n    categories: Database\n`;
    expect(parseYaml(text)).toEqual({ metadata: { annotations: { "alm-examples": `${samples}\n`.repeat(40), categories: "Database" } } });
  });

  test.for<[what: string, of: (lines: number) => string]>([
    ["quotes", (lines) => `a:\n  b: "${"z z\n".repeat(lines)}"\n`],
    ["quotes with escapes", (lines) => `a:\n  b: "${'z\\"\\\n'.repeat(lines)}"\n`],
    ["brackets", (lines) => `a:\n  b: [${"z,\n".repeat(lines)}]\n`],
    ["plain text", (lines) => `a:\n  b: ${"z\n    ".repeat(lines)}\n`],
    ["blanks", (lines) => `a:\n  b: "${" \t".repeat(lines)}z${"\n ".repeat(lines)}"\n`],
  ])("the YAML parser visits each character a bounded number of times: %s", ([, of]) => {
    const text = of(10_000);
    const counted = new CountedText(text);
    new Parser(counted as unknown as string, 100).next();
    expect(counted.characters).toBeLessThan(25 * text.length);
  });
});

/** A text that counts visited characters. */
class CountedText extends String {
  characters = 0;

  override charCodeAt(index: number): number {
    this.characters++;
    return super.charCodeAt(index);
  }

  override slice(start?: number, end?: number): string {
    const part = super.slice(start, end);
    this.characters += part.length;
    return part;
  }

  override indexOf(searched: string, position = 0): number {
    const found = super.indexOf(searched, position);
    this.characters += (found < 0 ? this.length : found) - position;
    return found;
  }

  override search(pattern: RegExp): number {
    this.characters += this.length;
    return super.search(pattern);
  }
}

test("parseFirstYamlDocument only reads the first document", () => {
  expect(parseFirstYamlDocument("a: 1\n...\nb: 2\n")).toEqual({ a: 1 });
  expect(parseFirstYamlDocument("{a: 1} {b: 2}")).toEqual({ a: 1 });
  expect(parseFirstYamlDocument("# nothing\n")).toBeNull();
});

test("toYaml writes values that parseYaml reads as equal, including ambiguous strings", () => {
  const looksLike = fc.constantFrom(
    "yes",
    "on",
    "y",
    "012",
    "1_000",
    "12:30:45",
    "0b1",
    "~",
    "1e3",
    "<<",
    "0x1F",
    "0o14",
    "9223372036854775807",
    "null",
    "",
    "=",
    "2001-01-01",
    "- a",
    "a: b",
  );
  const wide = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n });
  const leaf = fc.oneof(looksLike, fc.string(), fc.integer(), wide, fc.boolean(), fc.constant(null));
  const value = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(looksLike, fc.string()), tie("node"), { maxKeys: 3 }),
    ),
  })).node;
  fc.assert(
    fc.property(value, (v) => {
      expect(encodeGoJson(parseYaml(toYaml(v)))).toBe(encodeGoJson(v));
    }),
  );
});

const TEXT = `# comment
---
a:
  b:
  - x: 1
    y: 2
  - {x: 3,
     y: 4}
c: |
  text
"d.e": &anchor [1,
  2]
f: *anchor
---
---
z: 1
`;

test.for<[document: number, path: YamlPath, line: number | undefined]>([
  [0, [], 3],
  [0, ["a", "b", 0, "y"], 6],
  [0, ["a", "b", 1], 7],
  [0, ["a", "b", 1, "y"], 8],
  [0, ["c"], 9],
  [0, ["d.e", 1], 12],
  [0, ["f"], 13],
  [0, ["a", "nothing", "below"], 3],
  [0, ["a", "b", 7], 4],
  [0, ["a", "b", "x"], 4],
  [1, ["z"], 16],
  [2, [], undefined],
])("YamlLines in document %i finds path %j on line %s", ([document, path, line]) => {
  expect(new YamlLines(TEXT).lineOf(document, path)).toBe(line);
});

test("YamlLines ignores empty documents", () => {
  expect(new YamlLines(TEXT).documents).toBe(2);
});

test("YamlLines finds lines in JSON, and returns undefined for invalid YAML", () => {
  expect(new YamlLines('{\n  "a": {\n    "b": 1\n  }\n}').lineOf(0, ["a", "b"])).toBe(3);
  expect(new YamlLines("a: [").lineOf(0, ["a"])).toBeUndefined();
});
