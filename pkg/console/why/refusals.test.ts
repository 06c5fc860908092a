import { expect, test } from "vitest";
import type { RefusalRecord } from "../../resolve/dependencies/refusalRecord.ts";
import { listRefusals } from "./refusals.ts";

const dependency = { package: "b", bundle: "b.v2.0.0", catalog: "main" };

test.for<[string, Partial<RefusalRecord>, string[]]>([
  ["nothing helps", {}, []],
  [
    "updates are needed before",
    { remedy: { kind: "steps", steps: [{ kind: "update", extension: "b", ...dependency, excludedBy: "1.x" }], bundles: [] } },
    ["Update ClusterExtension b to b.v2.0.0 of catalog main, which its version range 1.x excludes."],
  ],
  [
    "another catalog offers the dependency",
    { remedy: { kind: "selectCatalog", catalog: "other", bundles: [dependency] } },
    [
      "Select catalog other with spec.source.catalog.selector.",
      "Install b.v2.0.0 of catalog main with a ClusterExtension for package b.",
      "Or set spec.dependencies.policy to Install, so that the controller installs them.",
    ],
  ],
  [
    "updates are only possible together",
    { remedy: { kind: "deadlock", steps: [{ kind: "update", extension: "b", ...dependency }], bundles: [] } },
    ["These updates are only possible together.", "Update ClusterExtension b to b.v2.0.0 of catalog main."],
  ],
])("listRefusals describes the remedy when %s", ([, record, remedy]) => {
  const [refusal] = listRefusals([{ bundle: "a.v1.0.0", reasons: ["it requires b"], ...record }]);
  expect(refusal?.remedy).toEqual(remedy);
  expect(refusal?.reasons).toEqual(["It requires b."]);
});

test("listRefusals bounds the number of refusals and sentences", () => {
  const sentence = { text: "a needs b", kind: "requirement" as const, packages: [], bundles: [], constraints: [] };
  const conflictSet = { sentences: Array.from({ length: 500 }, () => sentence), moreSentences: 0, isMinimal: true };
  const refusals = listRefusals(Array.from({ length: 50 }, (_, i) => ({ bundle: `a.v${i}`, reasons: [], conflictSet })));
  expect(refusals).toHaveLength(32);
  expect(refusals[0]?.conflict).toHaveLength(100);
});
