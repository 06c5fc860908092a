import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleFiles } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { Property } from "../fbc/types.ts";
import { loadBundle } from "./load.ts";
import { readDependencies } from "./properties.ts";

interface DependencyCase extends CaseHead {
  files: Record<string, string>;
  properties: Property[];
  faults?: string[];
}

test.for(loadCases<DependencyCase>("bundle-dependencies"))("readDependencies: $name", ({ files, properties, faults = [] }) => {
  expect(readDependencies(bundleFiles(files))).toEqual({ properties, faults });
});

test("loadBundle reads the dependencies", () => {
  const file = "dependencies: [{type: olm.gvk, value: {group: g, version: v1, kind: K}}, 5]";
  const { dependencies } = loadBundle(bundleFiles({ "metadata/dependencies.yaml": file }));
  expect(dependencies.properties).toEqual([{ type: "olm.gvk.required", value: { group: "g", version: "v1", kind: "K" } }]);
  expect(dependencies.faults).toHaveLength(1);
});

test("readDependencies rejects a file that exceeds the limits", () => {
  const faultsOf = (file: string): string[] => readDependencies(bundleFiles({ "metadata/dependencies.yaml": file })).faults;
  const item = "{type: olm.label, value: 1}";
  const list = (count: number): string => `dependencies: [${Array.from({ length: count }, () => item).join(", ")}]`;
  expect(faultsOf(list(512))).toEqual([]);
  expect(faultsOf(list(513))).toEqual(["metadata/dependencies.yaml: dependencies: too many items: 513, maximum 512"]);
  expect(faultsOf(" ".repeat(1024 * 1024 + 1))).toEqual([
    "metadata/dependencies.yaml: the file is too large: 1048577 bytes, maximum 1048576",
  ]);
  expect(faultsOf(`dependencies: [${"5, ".repeat(100)}]`)).toHaveLength(20);
  const levels = Array.from(
    { length: 12 },
    (_, level) => `l${level + 1}: &l${level + 1} [${Array.from({ length: 10 }, () => `*l${level}`).join(", ")}]`,
  );
  expect(faultsOf(["l0: &l0 x", ...levels, `dependencies: [${item}]`, ""].join("\n"))).toEqual([
    "metadata/dependencies.yaml: error converting YAML to JSON: yaml: document contains excessive aliasing",
  ]);
});

describeWithData("readDependencies on real bundles", (data) => {
  test("readDependencies reads the dependency files of real bundles, except a file with invalid YAML", () => {
    const read = globSync("bundles/*/*/metadata/dependencies.yaml", { cwd: data })
      .sort()
      .map((path) => {
        const { properties, faults } = readDependencies(new Map([["metadata/dependencies.yaml", readFileSync(join(data, path))]]));
        return { path, properties: properties.length, faults: faults.length };
      });
    expect(read.length).toBeGreaterThan(0);
    for (const { path, properties, faults } of read) {
      const broken = path.includes("/eventing-kogito/");
      expect([path, properties > 0, faults]).toEqual([path, !broken, broken ? 1 : 0]);
    }
  });
});
