import { expect, test } from "vitest";
import type { ScenarioResult } from "./runSuite.ts";
import { createSuiteReport, formatSuiteJunit, summarizeSuite } from "./suiteReport.ts";

const result = (id: string, state: ScenarioResult["state"], group = "catalogs"): ScenarioResult => ({
  id,
  name: `expectation of ${id}`,
  group,
  profile: "core",
  source: "https://example.com",
  state,
  seconds: 1,
  ...(state === "passed" ? {} : { message: `why ${id}\ndetails` }),
});

const ENDED = { isStopped: false };

test.for<[string, ScenarioResult[], boolean]>([
  ["all scenarios passed", [result("a", "passed")], true],
  ["a scenario failed", [result("a", "passed"), result("b", "failed")], false],
  ["a scenario did not run", [result("a", "passed"), result("b", "notRun")], true],
  ["no scenario ran", [result("a", "notRun")], false],
  ["no scenario was selected", [], false],
])("createSuiteReport decides whether the run passed when %s", ([, results, passed]) => {
  expect(createSuiteReport(results, ENDED).passed).toBe(passed);
});

test("createSuiteReport returns a run that has not passed when it was stopped", () => {
  expect(createSuiteReport([result("a", "passed"), result("b", "notRun")], { isStopped: true }).passed).toBe(false);
});

test("summarizeSuite counts the states of each group", () => {
  const results = [result("a", "passed"), result("b", "failed"), result("c", "notRun"), result("d", "passed", "install")];
  const report = createSuiteReport(results, ENDED);
  expect(summarizeSuite(report)).toEqual([
    ["core", "catalogs", "1", "1", "1"],
    ["core", "install", "1", "0", "0"],
  ]);
});

test("formatSuiteJunit reports a scenario that did not run as skipped, with the reason", () => {
  const text = formatSuiteJunit(createSuiteReport([result("a", "passed"), result("b", "failed"), result("c", "notRun")], ENDED));
  expect(text).toContain('<testsuite name="olmv1 conformance" tests="3" failures="1" skipped="1"');
  expect(text).toContain('<testcase classname="core.catalogs" name="a: expectation of a" time="1.000"/>');
  expect(text).toContain('<failure message="why b">why b\ndetails</failure>');
  expect(text).toContain('<skipped message="why c"/>');
});
