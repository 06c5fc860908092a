import { expect, test } from "vitest";
import { bundleFiles } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { type CatalogEntry, findBundleFlaws, summarizeBundle } from "./bundleSummary.ts";
import { loadBundle } from "./load.ts";

interface FlawCase extends CaseHead {
  csv: object;
  /** A second one. */
  more?: object;
  packageName: string;
  entry?: CatalogEntry;
  flaws: string[];
}

test.for(loadCases<FlawCase>("bundle-flaws"))("findBundleFlaws: $name", ({ csv, more, packageName, entry, flaws }) => {
  const files = bundleFiles({
    "metadata/annotations.yaml": JSON.stringify({ annotations: { "operators.operatorframework.io.bundle.package.v1": packageName } }),
    "manifests/csv.yaml": JSON.stringify(csv),
    ...(more ? { "manifests/more.yaml": JSON.stringify(more) } : {}),
  });
  expect(findBundleFlaws(summarizeBundle(loadBundle(files)), entry)).toEqual(flaws);
});

test("findBundleFlaws truncates long texts of a bundle", () => {
  const long = "x".repeat(10_000);
  const csvs = Array.from({ length: 50 }, () => ({
    kind: "ClusterServiceVersion",
    metadata: { name: long },
    spec: { version: `1.0.0-${long}` },
  }));
  const files = bundleFiles({
    "metadata/annotations.yaml": JSON.stringify({ annotations: { "operators.operatorframework.io.bundle.package.v1": long } }),
    "manifests/csv.yaml": csvs.map((csv) => JSON.stringify(csv)).join("\n"),
  });
  const flaws = findBundleFlaws(summarizeBundle(loadBundle(files)), { packageName: "p", version: "1.0.0" });
  expect(flaws).toHaveLength(3);
  expect(flaws.join("").length).toBeLessThan(4_000);
});
