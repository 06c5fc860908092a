import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { indexIgnore } from "./indexignore.ts";

interface Case extends CaseHead {
  ignore: Record<string, string>;
  ignored: string[];
  kept: string[];
}

test.for(loadCases<Case>("indexignore"))("$name", ({ ignore, ignored, kept }) => {
  const ignores = indexIgnore(Object.entries(ignore).map(([dir, text]) => ({ dir, text })));
  expect(ignored.filter((path) => !ignores(path))).toEqual([]);
  expect(kept.filter(ignores)).toEqual([]);
});
