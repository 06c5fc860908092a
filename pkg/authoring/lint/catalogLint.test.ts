import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { CATALOG_LINTS, CatalogLint } from "./catalogLint.ts";
import { DocumentLines } from "./documentLines.ts";

interface Case extends CaseHead {
  edit?: [from: string, to: string][];
  append?: string;
  finds: { rule: string; line: number; says?: string }[];
}

const SOUND = readFileSync(join(import.meta.dirname, "../../../test/cases/catalog-lints/sound/catalog.yaml"), "utf8");
const cases = loadCases<Case>("catalog-lints");

function textOf({ edit = [], append }: Case): string {
  let text = SOUND;
  for (const [from, to] of edit) {
    expect(text.split(from), `occurrences of ${from}`).toHaveLength(2);
    text = text.replace(from, () => to);
  }
  return append === undefined ? text : `${text}---\n${append}`;
}

test.for(cases)("CatalogLint checks $name", (one) => {
  const text = textOf(one);
  const lint = new CatalogLint();
  const decoder = new MetaDecoder("catalog.yaml");
  for (const meta of [...decoder.push(Buffer.from(text)), ...decoder.end()]) lint.add(meta);
  const lines = new DocumentLines(text);
  const got = lint
    .findings()
    .map(({ rule, subject, path = [], message }) => ({ rule, line: lines.lineOf(subject.place.line ?? 0, path), says: message }));
  expect(got.map(({ rule, line }) => ({ rule, line }))).toEqual(one.finds.map(({ rule, line }) => ({ rule, line })));
  for (const [i, { says }] of one.finds.entries()) if (says !== undefined) expect(got[i]?.says).toBe(says);
});

test("at least one test case breaks each lint rule", () => {
  const told = new Set(cases.flatMap(({ finds }) => finds.map(({ rule }) => rule)));
  expect(Object.keys(CATALOG_LINTS).filter((rule) => !told.has(rule))).toEqual([]);
});
