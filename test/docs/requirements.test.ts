import { describe, expect, test } from "vitest";
import { citationProblems, idsIn, isTest, type Line, REQUIREMENTS, requirementsPage, rowsOf, sourceLines } from "./citations.ts";

const UNTESTED = "Requirements without a test";
const DECIDED = "Decided otherwise";
const ROWS = rowsOf(requirementsPage());
const REQUIRED = ROWS.filter(({ section }) => section !== UNTESTED && section !== DECIDED);
const LISTED = REQUIRED.flatMap(({ ids }) => ids);
const noted = (title: string) => ROWS.flatMap(({ section, ids }) => (section === title ? ids : []));
const LINES = sourceLines();
/** Without this file, whose citations are wrong on purpose. */
const CITING = LINES.filter(({ path }) => path !== REQUIREMENTS && path !== "test/docs/requirements.test.ts");
const PAGE = LINES.filter(({ path }) => path === REQUIREMENTS);
const at = ({ path, number }: Line) => `${path}:${number}`;

describe("the list of requirements", () => {
  test("names each id once", () => {
    expect(LISTED.length).toBeGreaterThan(350);
    expect(LISTED.filter((id, i) => LISTED.indexOf(id) !== i)).toEqual([]);
  });

  test("gives every requirement a source that a reader can open, or says that it is our own", () => {
    const unsourced = REQUIRED.filter(({ source }) => source !== "olmv1's own" && !/\]\(https:\/\/[^)]+\)|\]\(\.\.\//.test(source));
    expect(unsourced).toEqual([]);
  });

  test("has every id that is cited", () => {
    const known = new Set(LISTED);
    expect(CITING.flatMap((line) => idsIn(line.text).flatMap((id) => (known.has(id) ? [] : [`${at(line)}: ${id}`])))).toEqual([]);
  });

  test("has no id that neither a test nor a case cites, except those with a reason", () => {
    const tested = new Set(CITING.filter(isTest).flatMap(({ text }) => idsIn(text)));
    expect(LISTED.filter((id) => !tested.has(id))).toEqual(noted(UNTESTED));
  });

  test("explains decisions about its own ids only", () => {
    expect([...noted(UNTESTED), ...noted(DECIDED)].filter((id) => !LISTED.includes(id))).toEqual([]);
  });
});

describe("citations", () => {
  test("name documents and versions that a reader can open", () => {
    expect([...CITING, ...PAGE].flatMap((line) => citationProblems(line).map((problem) => `${at(line)}: ${problem}`))).toEqual([]);
  });

  test.each([
    [" * @see operator-controller internal/a/b.go", "names a Go file without a version or commit"],
    ["// Source: https://github.com/a/b/blob/main/c.go", "names a Go file without a version or commit"],
    ["source: install.md 9", "cites a section of a document that is not in the repository"],
    ["source: catalog.md appendix J", "cites a section of a document that is not in the repository"],
    ["// Source: architecture 4.4.", "cites a section of a document that is not in the repository"],
    ["/** @see requirements-of-others.md */", "names requirements-of-others.md, which is not in the repository"],
  ])("are found wrong when they say %s", (text, problem) => {
    expect(citationProblems({ path: "pkg/a.ts", number: 1, text })).toContain(problem);
  });

  test.each([
    " * @see operator-controller df2c201d internal/a/b.go",
    " * @see https://github.com/a/b/blob/v1.0.0/c.go",
    "source: Go 1.26 net/http/server.go",
    "// Source: S1-04, docs/security.md.",
    'const files = ["main.go", "notes.md"];',
  ])("are right when they say %s", (text) => {
    expect(citationProblems({ path: "pkg/a.ts", number: 1, text })).toEqual([]);
  });
});
