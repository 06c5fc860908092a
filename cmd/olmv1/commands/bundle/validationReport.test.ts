import { expect, test } from "vitest";
import type { BundleFinding } from "../../../../pkg/authoring/bundlecheck/checkBundle.ts";
import type { CheckedSource } from "../../../../pkg/authoring/validate/checkBundles.ts";
import { buildBundleReport, formatBundleReport, hasFailed } from "./validate.ts";

const ERROR: BundleFinding = { rule: "a", severity: "error", message: "it is \u001b[31mwrong", file: "manifests/a.yaml", line: 3 };
const INFO: BundleFinding = { rule: "b", severity: "info", message: "it is missing" };
const bundle = (source: string, ...findings: BundleFinding[]): CheckedSource => ({ source, name: `${source}.v1`, findings });

test.for<[what: string, bundles: CheckedSource[], text: string]>([
  ["nothing", [bundle("x")], "All validation tests have completed successfully\n"],
  [
    "an error and a note, with escaped control characters",
    [bundle("x", ERROR, INFO)],
    "error: manifests/a.yaml: line 3: it is \\u{1b}[31mwrong [a]\ninfo: it is missing [b]\nthe bundle is not valid: 1 error, 0 warnings and 1 note\n",
  ],
  [
    "several bundles",
    [bundle("x", INFO), bundle("y")],
    "x:\ninfo: it is missing [b]\nthe bundle is valid: 0 errors, 0 warnings and 1 note\n\ny:\nAll validation tests have completed successfully\n",
  ],
])("formatBundleReport prints %s", ([, bundles, text]) => {
  expect(formatBundleReport(bundles)).toBe(text);
});

test("buildBundleReport returns the findings of each bundle, and passed only if every bundle passed", () => {
  expect(buildBundleReport([bundle("x", ERROR, INFO), { source: "y", name: "", findings: [] }])).toEqual({
    passed: false,
    errors: 1,
    warnings: 0,
    infos: 1,
    bundles: [
      { source: "x", name: "x.v1", passed: false, findings: [ERROR, INFO] },
      { source: "y", passed: true, findings: [] },
    ],
  });
  expect(buildBundleReport([bundle("x")])).toMatchObject({ passed: true, errors: 0 });
});

test("hasFailed returns true when a finding has at least the given severity", () => {
  expect([
    hasFailed([bundle("x", INFO)], "warning"),
    hasFailed([bundle("x", INFO)], "info"),
    hasFailed([bundle("x", ERROR)], "info"),
  ]).toEqual([false, true, true]);
});
