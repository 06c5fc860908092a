import { expect, test } from "vitest";
import { type BundleParts, bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { validateBundle } from "./validate.ts";

interface ValidatorCase extends CaseHead {
  bundle: BundleParts;
  findings: string[];
}

const CASES = loadCases<ValidatorCase>("bundle-validate");

test.for(CASES)("validateBundle ($source): $name", ({ bundle, findings }) => {
  expect(validateBundle(bundleOf(bundle))).toEqual(findings);
});

test("at least one test case breaks each of the thirteen checks", () => {
  const found = CASES.filter(({ findings }) => findings.length > 0).map(({ source }) => Number(/I-13 \((\d+)\)/.exec(source)?.[1] ?? 0));
  expect([...new Set(found)].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
});
