import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generateFiles } from "../../cmd/crdgen/generatedFiles.ts";
import { listProgramMetrics } from "../../cmd/crdgen/monitoringReference.ts";
import { KINDS } from "../../pkg/api/customResourceDefinitions.ts";
import { EVENTS } from "../../pkg/api/events.ts";
import { PROBLEM_TYPES } from "../../pkg/api/problemTypes.ts";
import { ROOT } from "./page.ts";
import { findBannedPhrases } from "./plainWords.ts";

/** A text for users, and where it is. */
interface PlacedText {
  readonly at: string;
  readonly text: string;
}

function findInAll(texts: readonly PlacedText[]): string[] {
  return texts.flatMap(({ at, text }) => findBannedPhrases(text).map((finding) => `${at}: ${finding}`));
}

/** Returns the lines of a file, numbered from 1. */
function readLines(path: string): PlacedText[] {
  return readFileSync(join(ROOT, path), "utf8")
    .split("\n")
    .map((text, i) => ({ at: `${path}:${i + 1}`, text }));
}

/** Calls whose text arguments users read. */
const TEXT_CALL =
  /(?:\bnew Error|\b\w*(?:Terminal|Retryable)Error|\.option|\.description|\.argument|new Option)\($|(?:\bnew Error|\b\w*(?:Terminal|Retryable)Error|\.(?:option|description|argument)|new Option)\(.*/;
/** Matches texts in quotes or backticks; only the fixed parts of a template. */
const LITERAL = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|'(?:[^'\\]|\\.)*'/g;

/** Returns the literals in error and option calls of a source file, including the next two lines of a call. */
function readCallTexts(path: string): PlacedText[] {
  const lines = readLines(path);
  return lines.flatMap(({ text }, i) => {
    const [call] = TEXT_CALL.exec(text) ?? [];
    if (call === undefined) return [];
    const more = call.endsWith("(") || !call.includes(")") ? lines.slice(i + 1, i + 3) : [];
    return [{ at: lines[i]?.at ?? "", text: call }, ...more].flatMap(({ at, text: code }) =>
      [...code.matchAll(LITERAL)].map(([literal]) => ({ at, text: literal.replaceAll(/\$\{[^}]*\}/g, "X") })),
    );
  });
}

describe("texts for users", () => {
  test("the CustomResourceDefinitions contain no banned phrase", () => {
    const crds = [...generateFiles()].filter(([path]) => path.startsWith("config/crd/"));
    expect(crds).toHaveLength(KINDS.length);
    const lines = crds.flatMap(([path, text]) => text.split("\n").map((line, i) => ({ at: `${path}:${i + 1}`, text: line })));
    expect(findInAll(lines)).toEqual([]);
  });

  test("the descriptions of Events and problems contain no banned phrase", () => {
    const events = Object.entries(EVENTS).map(([reason, { when }]) => ({ at: reason, text: when }));
    const problems = Object.entries(PROBLEM_TYPES).map(([type, { cause, remedy }]) => ({ at: type, text: `${cause} ${remedy}` }));
    expect(findInAll([...events, ...problems])).toEqual([]);
  });

  test("the help of metrics contains no banned phrase", () => {
    const metrics = listProgramMetrics().flatMap(({ metrics: { described } }) =>
      described.map(({ name, help }) => ({ at: name, text: help })),
    );
    expect(findInAll(metrics)).toEqual([]);
  });

  test("the documentation contains no banned phrase", () => {
    const pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...globSync("docs/**/*.md", { cwd: ROOT })];
    expect(pages.length).toBeGreaterThan(50);
    expect(findInAll(pages.flatMap(readLines).map(({ at, text }) => ({ at, text: text.replaceAll(/`[^`]*`/g, "`x`") })))).toEqual([]);
  });

  test("error messages, command-line options and descriptions contain no banned phrase", () => {
    const files = globSync("{cmd,pkg}/**/*.ts", { cwd: ROOT }).filter((path) => !path.endsWith(".test.ts"));
    const texts = files.flatMap(readCallTexts);
    expect(texts.length).toBeGreaterThan(1_000);
    expect(findInAll(texts)).toEqual([]);
  });
});

test.each([
  ["somebody has to approve it", '"somebody": write the actor'],
  ["a port of which the number changed", '"of which": write whose'],
  ["`5` is no version", "write is not a ..."],
  ["what is installed stays", '"what is installed": write the noun'],
])("findBannedPhrases finds the phrase in %s", (text, finding) => {
  expect(findBannedPhrases(text)).toEqual([expect.stringContaining(finding)]);
});

test("findBannedPhrases finds nothing in texts without banned phrases", () => {
  for (const text of [
    "Empty if there are none.",
    "the revision is no longer deployed",
    "there is no bundle",
    "brightside",
    "You must approve each change.",
  ])
    expect(findBannedPhrases(text)).toEqual([]);
});
