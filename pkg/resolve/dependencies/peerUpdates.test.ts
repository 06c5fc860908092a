import { expect, test } from "vitest";
import { bundleIndexOf, clusterFrom, contentFrom } from "../../../test/support/catalogFixture.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { toProvider } from "../constraint/parse.ts";
import { listPeerUpdates } from "./peerUpdates.ts";

const CONTENT = contentFrom(
  {
    channels: { stable: ["b.v1.0.0", { name: "b.v2.0.0", replaces: "b.v1.0.0" }, { name: "b.v3.0.0", skips: ["b.v1.0.0"] }] },
    bundles: ["b.v1.0.0", { name: "b.v2.0.0", max: "4.17" }, "b.v3.0.0"],
    lifecycle: { "2.0": { phases: ["Full 2026-01-01 2026-12-31"] }, "3.0": { phases: ["Full 2025-01-01 2025-12-31"] } },
  },
  "b",
);

test.for<[source: Partial<CatalogSource>, want: string[]]>([
  [{}, ["b.v3.0.0", "b.v2.0.0"]],
  [{ version: "<3.0.0" }, ["b.v2.0.0"]],
  [{ clusterVersionPolicy: "Enforce" }, ["b.v3.0.0"]],
  [{ supportPolicy: "Enforce" }, ["b.v2.0.0"]],
])("listPeerUpdates applies the policies of an extension with source %j", ([source, want]) => {
  const [first] = CONTENT.bundles;
  if (!first) throw new Error("no bundle");
  const declared = { constraints: [], faults: [] };
  const peer = { extension: "b", bundle: first.name, provider: toProvider(first), declared, source: { packageName: "b", ...source } };
  const updates = listPeerUpdates(
    peer,
    {
      catalogs: [{ catalog: "x", priority: 0, index: bundleIndexOf([CONTENT]) }],
      packageOf: () => CONTENT,
      read: () => declared,
      policyInputs: { cluster: clusterFrom("4.18.0"), today: "2026-06-01" },
    },
    true,
  );
  expect(updates.map(({ bundle }) => bundle.name)).toEqual(want);
});
