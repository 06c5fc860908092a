import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { compileIndexIgnore, type IgnoreFile } from "./indexIgnore.ts";

interface Case extends CaseHead {
  ignore: Record<string, string>;
  ignored: string[];
  kept: string[];
}

test.for(loadCases<Case>("indexignore"))("compileIndexIgnore: $name", ({ ignore, ignored, kept }) => {
  const ignores = compileIndexIgnore(Object.entries(ignore).map(([dir, text]) => ({ dir, text })));
  expect(ignored.filter((path) => !ignores(path))).toEqual([]);
  expect(kept.filter(ignores)).toEqual([]);
});

/** Runs git check-ignore with only the ignore files of the catalog. The checked files do not need to exist. */
class Git implements Disposable {
  readonly #folder = new TempFolder();
  readonly #env = { PATH: process.env["PATH"], HOME: this.#folder.path, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C.UTF-8" };
  #round = 0;

  constructor() {
    execFileSync("git", ["init", "--quiet", this.#folder.path], { env: this.#env });
  }

  /** Returns the paths that git ignores. */
  ignored(files: readonly IgnoreFile[], paths: readonly string[]): string[] {
    const root = `round${this.#round++}`;
    for (const { dir, text } of files) this.#folder.write(join(root, dir), { ".gitignore": text });
    const input = paths.map((path) => `${root}/${path}\0`).join("");
    const options = { cwd: this.#folder.path, env: this.#env, input, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync("git", ["check-ignore", "--no-index", "--stdin", "-z"], options);
    if (status !== 0 && status !== 1) throw new Error(`git check-ignore: ${stderr}`);
    return stdout
      .split("\0")
      .filter((path) => path !== "")
      .map((path) => path.slice(root.length + 1));
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

describe("compileIndexIgnore compared with git", () => {
  let git: Git;
  beforeAll(() => {
    git = new Git();
  });
  afterAll(() => git?.[Symbol.dispose]());

  const name = fc.string({
    unit: fc.constantFrom("a", "b", "c", "A", "1", "-", " ", "#", "!", "]", "\\", "*", "."),
    minLength: 1,
    maxLength: 4,
  });
  const usable = name.filter((text) => text !== "." && text !== ".." && text !== ".git");
  const path = fc.array(usable, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
  const plain = ["a", "b", "c", "A", "1", "-", " ", "#", "\\#", "\\!", "\\ ", "\\\\", "\\*", "\\", ".", "]"];
  const special = ["*", "**", "**/", "/**", "/**/", "/", "?"];
  const sets = ["[ab]", "[!a]", "[^a-b]", "[]a]", "[a-]", "[[:alpha:]]", "[[:nope:]]", "[", "[b", "[\\]-a]"];
  const piece = fc.oneof(fc.constantFrom(...plain), fc.constantFrom(...special), fc.constantFrom(...sets));
  const pattern = fc
    .array(piece, { minLength: 1, maxLength: 6 })
    .map((pieces) => pieces.join(""))
    .filter((text) => !text.startsWith("!"));
  const end = fc.constantFrom("\n", "\n", "\r\n", " \n", "\n\n# comment\n");
  const lines = (prefix: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc
      .array(
        fc.tuple(prefix, pattern, end).map((parts) => parts.join("")),
        { minLength: 1, maxLength: 4 },
      )
      .map((texts) => texts.join(""));
  const paths = fc.array(path, { minLength: 1, maxLength: 12 });
  const ours = (files: readonly IgnoreFile[], all: readonly string[]): string[] => all.filter(compileIndexIgnore(files));

  test("compileIndexIgnore matches like git for patterns without negation in nested folders", () => {
    const files = fc.record({ "": lines(fc.constant("")), a: lines(fc.constant("")), "a/b": lines(fc.constant("")) });
    fc.assert(
      fc.property(files, paths, (texts, some) => {
        const ignoreFiles = Object.entries(texts).map(([dir, text]) => ({ dir, text }));
        const nested = [...some, ...some.map((each) => `a/${each}`), ...some.map((each) => `a/b/${each}`)];
        const all = [...new Set(nested)].filter((each) => each !== "a" && each !== "a/b"); // folders in this test
        expect(ours(ignoreFiles, all)).toEqual(git.ignored(ignoreFiles, all));
      }),
      { numRuns: 80 },
    );
  });

  test("compileIndexIgnore matches like git for patterns with negations when all paths are file names", () => {
    fc.assert(
      fc.property(lines(fc.constantFrom("", "!")), fc.array(usable, { minLength: 1, maxLength: 12 }), (text, some) => {
        const all = [...new Set(some)];
        expect(ours([{ dir: "", text }], all)).toEqual(git.ignored([{ dir: "", text }], all));
      }),
      { numRuns: 40 },
    );
  });

  test("compileIndexIgnore uses the last pattern that matches a file or its folders when patterns have negations", () => {
    const rule = fc.tuple(
      fc.boolean(),
      pattern.filter((text) => !text.startsWith("#")),
    );
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), paths, (rules, some) => {
        const all = [...new Set(some)];
        const verdicts = new Map<string, boolean>();
        for (const [negative, text] of rules) for (const match of git.ignored([{ dir: "", text }], all)) verdicts.set(match, !negative);
        const text = rules.map(([negative, each]) => `${negative ? "!" : ""}${each}\n`).join("");
        expect(ours([{ dir: "", text }], all)).toEqual(all.filter((each) => verdicts.get(each)));
      }),
      { numRuns: 25 },
    );
  });
});

describe("compileIndexIgnore with patterns that make other matchers backtrack", () => {
  const many = "a".repeat(2_000);
  test.for([
    ["asterisks", `${"*a".repeat(1_000)}b`, many],
    ["asterisks between folders", `${"**/a/".repeat(700)}b`, "a/".repeat(1_000) + "c"],
    ["only asterisks", "*".repeat(4_000) + "b", many],
    ["question marks", `${"?*".repeat(1_000)}b`, many],
  ] as const)("compileIndexIgnore matches %s in linear time", ([, pattern, path]) => {
    expect(compileIndexIgnore([{ dir: "", text: pattern }])(path)).toBe(false);
    expect(compileIndexIgnore([{ dir: "", text: `*c\n!${pattern}` }])(`${path}c`)).toBe(true);
  });

  test("compileIndexIgnore throws when the comparisons of patterns with paths exceed the limit", () => {
    const ignores = compileIndexIgnore([{ dir: "", text: "*a*b\n".repeat(10) }], { patterns: 10, patternLength: 10, comparisons: 100_000 });
    const all = (): boolean[] => Array.from({ length: 1_000 }, (_, i) => ignores(`${i}/${"a".repeat(200)}`));
    expect(all).toThrow("matching files with the .indexignore patterns takes more than 100000 comparisons: use fewer or shorter patterns");
  });
});

test("compileIndexIgnore rejects too many patterns and too long patterns", () => {
  const limits = { patterns: 5, patternLength: 10, comparisons: 100 };
  const two = [
    { dir: "", text: "a\n#\n\nb\nc\n" },
    { dir: "x", text: "a\nb\nc\n" },
  ];
  expect(() => compileIndexIgnore(two, limits)).toThrow("the .indexignore files exceed the limit of 5 patterns");
  expect(() => compileIndexIgnore([{ dir: "x", text: `a\n${"b".repeat(11)}\n` }], limits)).toThrow(
    "x/.indexignore: line 2: pattern too long: more than 10 characters",
  );
});
