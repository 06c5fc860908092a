import { expect, test } from "vitest";
import { bundleIndexOf, type CatalogFixture, clusterFrom, contentFrom } from "../../../test/support/catalogFixture.ts";
import { createCatalog } from "../../../test/support/catalogs.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { LABEL_DEPENDENCY } from "../../api/constants.ts";
import { buildCatalogSelector } from "./dependencyLabels.ts";
import { computePackageLimits } from "./packageLimits.ts";

const BUNDLES: CatalogFixture = { bundles: [{ name: "b.v1.0.0", max: "4.17" }, "b.v2.0.0"] };
const ONLY_X = { selector: buildCatalogSelector("x") };

test.for<[when: string, catalogs: Record<string, CatalogFixture>, source: Partial<CatalogSource>, want: string[] | undefined]>([
  ["all bundles when nothing excludes them", { x: BUNDLES }, {}, ["b.v1.0.0", "b.v2.0.0"]],
  ["the bundles of the version range", { x: BUNDLES }, { version: "<2.0.0" }, ["b.v1.0.0"]],
  ["no limit when no catalog has the package", {}, ONLY_X, undefined],
  ["no bundle when only a catalog that the extension does not select has the package", { y: BUNDLES }, ONLY_X, []],
  [
    "the bundles for the cluster version under clusterVersionPolicy Enforce",
    { x: BUNDLES },
    { clusterVersionPolicy: "Enforce" },
    ["b.v2.0.0"],
  ],
  [
    "the supported bundles under supportPolicy Enforce",
    {
      x: {
        ...BUNDLES,
        lifecycle: { "1.0": { phases: ["Full 2026-01-01 2026-12-31"] }, "2.0": { phases: ["Full 2025-01-01 2025-12-31"] } },
      },
    },
    { supportPolicy: "Enforce" },
    ["b.v1.0.0"],
  ],
])("computePackageLimits returns %s", ([, fixtures, source, want]) => {
  expect(limitOf(fixtures, source)).toEqual(want);
});

test.for<[generation: number, want: string[]]>([
  [1, ["b.v1.0.0", "b.v2.0.0"]],
  [2, []],
])(
  "computePackageLimits ignores the selector of a created dependency only when its spec was never changed: generation %i",
  ([generation, want]) => {
    expect(limitOf({ y: BUNDLES }, ONLY_X, { generation, labels: { [LABEL_DEPENDENCY]: "true" } })).toEqual(want);
  },
);

/** Returns the bundles that extension "b" may install. */
function limitOf(
  fixtures: Record<string, CatalogFixture>,
  source: Partial<CatalogSource>,
  metadata: { generation?: number; labels?: Record<string, string> } = {},
): string[] | undefined {
  const names = ["x", "y"];
  const catalogs = names.map((name) =>
    createCatalog(name, { digest: `quay.io/${name}@sha256:1`, labels: { "olm.operatorframework.io/metadata.name": name } }),
  );
  const contents = new Map(Object.entries(fixtures).map(([name, fixture]) => [name, contentFrom(fixture, "b")]));
  const extension = createExtension("b", { packageName: "b", ...source });
  const limits = computePackageLimits([{ ...extension, metadata: { ...extension.metadata, ...metadata } }], catalogs, {
    catalogs: names.map((catalog) => ({ catalog, priority: 0, index: bundleIndexOf([contents.get(catalog)]) })),
    packageOf: (catalog, name) => (name === "b" ? contents.get(catalog) : undefined),
    read: () => ({ constraints: [], faults: [] }),
    policyInputs: { cluster: clusterFrom("4.18.0"), today: "2026-06-01" },
  });
  const limit = limits.get("b");
  return limit && [...limit.allowed].map((key) => (JSON.parse(key) as string[])[1] ?? "");
}
