import { expect, test } from "vitest";
import { TempFolder } from "../tempFolder.ts";
import { loadScenarios } from "./scenario.ts";

const SCENARIO = {
  name: "s",
  source: "x",
  id: "s",
  catalogs: { c: "package | version | channel | replaces | contents\ns | 1.0.0 | alpha | | ConfigMap" },
  steps: ["given the extension is applied", { "then it is rolled out as": "s.1.0.0" }],
};

const load = (...scenarios: object[]) => {
  using folder = new TempFolder();
  return loadScenarios(folder.write("scenarios", { "all.yaml": scenarios.map((each) => JSON.stringify(each)).join("\n---\n") }));
};

test("loadScenarios returns the catalogs and the steps with their arguments", () => {
  const [scenario] = load(SCENARIO);
  expect(scenario?.catalogs.get("c")?.bundles).toEqual([{ package: "s", version: "1.0.0", contents: ["ConfigMap"] }]);
  expect(scenario?.steps.map(({ text, argument }) => [text, argument])).toEqual([
    ["given the extension is applied", {}],
    ["then it is rolled out as", "s.1.0.0"],
  ]);
});

test.for<[why: string, change: object, message: string]>([
  ["a sentence that is not in the vocabulary", { steps: ["when it rains"] }, 'scenario "s": "when it rains" is not in the vocabulary:'],
  [
    "a sentence without given, when, then or and",
    { steps: ["the extension is applied"] },
    "a step must begin with given, when, then or and: the extension is applied",
  ],
  ["a sentence without its argument", { steps: ["then it is rolled out as"] }, '"then it is rolled out as": '],
  ["two sentences in one step", { steps: [{ "when a": 1, "then b": 2 }] }, "a step must be a sentence, or a sentence with an argument"],
  ["another member", { given: [] }, "given"],
  ["an invalid table", { catalogs: { c: "s | 1.0.0" } }, "a catalog table has the columns"],
])("loadScenarios rejects %s", ([, change, message]) => {
  expect(() => load({ ...SCENARIO, ...change })).toThrow(message);
});

test("loadScenarios rejects two scenarios with one id", () => {
  expect(() => load(SCENARIO, SCENARIO)).toThrow("two scenarios have the id s");
});
