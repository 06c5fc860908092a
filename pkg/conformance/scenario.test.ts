import { expect, test } from "vitest";
import { parseScenarios, requireUniqueIds } from "./scenario.ts";
import { readScenarios } from "./scenarioFiles.ts";

const SCENARIO = {
  name: "a bundle is installed",
  id: "installed",
  source: "https://example.com/docs",
  catalogs: { main: "package | version | channel | contents\ninstalled | 1.0.0 | alpha | ConfigMap" },
  steps: ["given the extension is applied", { "then it is rolled out as": "installed.1.0.0" }],
};

const parse = (...scenarios: object[]) => parseScenarios("install", scenarios.map((each) => JSON.stringify(each)).join("\n---\n"));

test("parseScenarios returns the catalogs, and the steps with their arguments", () => {
  const [scenario] = parse(SCENARIO);
  expect([scenario?.group, scenario?.profile]).toEqual(["install", "core"]);
  expect(scenario?.catalogs.get("main")?.table.bundles).toEqual([{ package: "installed", version: "1.0.0", contents: ["ConfigMap"] }]);
  expect(scenario?.steps.map(({ text, argument }) => [text, argument])).toEqual([
    ["given the extension is applied", {}],
    ["then it is rolled out as", "installed.1.0.0"],
  ]);
});

test.for<[why: string, change: object, message: string]>([
  ["a sentence that is not in the vocabulary", { steps: ["when it rains"] }, '"when it rains" is not in the vocabulary:'],
  [
    "a sentence without given, when, then or and",
    { steps: ["the extension is applied"] },
    "a step begins with given, when, then or and: the extension is applied",
  ],
  ["a sentence without its argument", { steps: ["then it is rolled out as"] }, '"then it is rolled out as": '],
  ["two sentences in one step", { steps: [{ "when a": 1, "then b": 2 }] }, "a step is a sentence, or a sentence with an argument"],
  ["an object of an unknown kind", { steps: [{ "then these objects exist": ["Unicorn x"] }] }, '"Unicorn x" is not "Kind name"'],
  ["another member", { given: [] }, "given"],
  ["an invalid table", { catalogs: { main: "installed | 1.0.0" } }, "a catalog table has the columns"],
  ["a source that is not an address", { source: "the documentation" }, "source"],
  ["an id that is too long for the names of its objects", { id: "a".repeat(33) }, "id"],
  ["an unknown profile", { profile: "everything" }, "profile"],
])("parseScenarios rejects %s", ([, change, message]) => {
  expect(() => parse({ ...SCENARIO, ...change })).toThrow(message);
  expect(() => parse({ ...SCENARIO, ...change })).toThrow(/^scenario "\w+" in install: /);
});

test.for<[what: string, change: object, disrupts: boolean]>([
  ["a scenario that restarts a server", { steps: [{ "when a server restarts": "catalogd" }] }, true],
  ["a scenario with disrupts", { disrupts: true }, true],
  ["another scenario", {}, false],
])("parseScenarios decides whether %s runs alone", ([, change, disrupts]) => {
  expect(parse({ ...SCENARIO, ...change })[0]?.disrupts).toBe(disrupts);
});

test("requireUniqueIds throws when two scenarios have one id", () => {
  expect(() => requireUniqueIds(parse(SCENARIO, SCENARIO))).toThrow("two scenarios have the id installed");
});

test("readScenarios returns at least 120 scenarios of profile core, each with the package that its extension installs", () => {
  const core = readScenarios().filter(({ profile }) => profile === "core");
  expect(core.length).toBeGreaterThanOrEqual(120);
  for (const { id, steps } of core)
    expect(
      steps.some(({ text }) => text.startsWith("then ")),
      id,
    ).toBe(true);
});
