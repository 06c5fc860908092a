import { describe, expect, test } from "vitest";
import { citationProblems, idsIn, isTest, type Line, REQUIREMENTS, readRows, requirementsPage, sourceLines } from "./citations.ts";

const UNTESTED = "Requirements without a test";
const DECIDED = "Decided otherwise";
const ROWS = readRows(requirementsPage());
const REQUIRED = ROWS.filter(({ section }) => section !== UNTESTED && section !== DECIDED);
const LISTED = REQUIRED.flatMap(({ ids }) => ids);
const listNoted = (title: string) => ROWS.flatMap(({ section, ids }) => (section === title ? ids : []));
const LINES = sourceLines();
/** Excludes this file, whose citations are intentionally wrong. */
const CITING = LINES.filter(({ path }) => path !== REQUIREMENTS && path !== "test/docs/requirements.test.ts");
const PAGE = LINES.filter(({ path }) => path === REQUIREMENTS);
const at = ({ path, number }: Line) => `${path}:${number}`;

describe("the list of requirements", () => {
  test("the list of requirements contains each id once", () => {
    expect(LISTED.length).toBeGreaterThan(350);
    expect(LISTED.filter((id, i) => LISTED.indexOf(id) !== i)).toEqual([]);
  });

  test("the list of requirements has a public source for each id, or marks it as our own", () => {
    const unsourced = REQUIRED.filter(({ source }) => source !== "olmv1's own" && !/\]\(https:\/\/[^)]+\)|\]\(\.\.\//.test(source));
    expect(unsourced).toEqual([]);
  });

  test("the list of requirements contains every cited id", () => {
    const known = new Set(LISTED);
    expect(CITING.flatMap((line) => idsIn(line.text).flatMap((id) => (known.has(id) ? [] : [`${at(line)}: ${id}`])))).toEqual([]);
  });

  test("every id is cited by a test or case, unless UNTESTED lists the id", () => {
    const tested = new Set(CITING.filter(isTest).flatMap(({ text }) => idsIn(text)));
    expect(LISTED.filter((id) => !tested.has(id))).toEqual(listNoted(UNTESTED));
  });

  test("UNTESTED and DECIDED contain only ids from the list of requirements", () => {
    expect([...listNoted(UNTESTED), ...listNoted(DECIDED)].filter((id) => !LISTED.includes(id))).toEqual([]);
  });
});

describe("citations", () => {
  test("citations refer to public documents, and citations of Go files contain a version or commit", () => {
    expect([...CITING, ...PAGE].flatMap((line) => citationProblems(line).map((problem) => `${at(line)}: ${problem}`))).toEqual([]);
  });

  test.each([
    [" * @see operator-controller internal/a/b.go", "refers to a Go file without a version or commit"],
    ["// Source: https://github.com/a/b/blob/main/c.go", "refers to a Go file without a version or commit"],
    ["source: install.md 9", "cites a section of a document that is not in the repository"],
    ["source: catalog.md appendix J", "cites a section of a document that is not in the repository"],
    ["// Source: architecture 4.4.", "cites a section of a document that is not in the repository"],
    ["/** @see requirements-of-others.md */", "refers to requirements-of-others.md, which is not in the repository"],
  ])("citationProblems rejects %s", (text, problem) => {
    expect(citationProblems({ path: "pkg/a.ts", number: 1, text })).toContain(problem);
  });

  test.each([
    " * @see operator-controller df2c201d internal/a/b.go",
    " * @see https://github.com/a/b/blob/v1.0.0/c.go",
    "source: Go 1.26 net/http/server.go",
    "// Source: S1-04, docs/security.md.",
    'const files = ["main.go", "notes.md"];',
  ])("citationProblems accepts %s", (text) => {
    expect(citationProblems({ path: "pkg/a.ts", number: 1, text })).toEqual([]);
  });
});
