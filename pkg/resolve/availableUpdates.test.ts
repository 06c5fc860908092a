import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { type CatalogFixture, type ClusterFixture, catalogsFrom, clusterFrom } from "../../test/support/catalogFixture.ts";
import { AvailableUpdates, BlockedUpdate } from "../api/clusterExtensionStatus.ts";
import { type AvailableUpdate, findAvailableUpdates } from "./availableUpdates.ts";
import type { ResolveRequest } from "./resolution.ts";
import { filterCandidates, selectCatalogs } from "./resolve.ts";
import type { BundleMetadata } from "./successors.ts";

interface Setting {
  catalogs: Record<string, CatalogFixture>;
  installed: BundleMetadata | null;
}

interface Cases extends CaseHead, Setting {
  package: string;
  rows: (Partial<Setting> & {
    id: string;
    catalog?: Partial<ResolveRequest["source"]>;
    cluster?: ClusterFixture;
    want: { updates: string[]; blocked?: string; message?: string } | null;
  })[];
}

const rows = loadCases<Cases>("available-updates").flatMap(({ rows: all, name, package: packageName, catalogs, installed }) =>
  all.map((row) => ({ catalogs, installed, ...row, about: name, packageName })),
);

function updateText({ version, catalog, edge, channel, deprecated }: AvailableUpdate): string {
  return [`${version} of ${catalog}`, ...(edge ? [`${edge} in ${channel}`] : []), ...(deprecated ? ["deprecated"] : [])].join(", ");
}

test.for(rows)("$about: $id", ({ packageName, catalogs, catalog, installed, cluster, want }) => {
  const source = { packageName, ...catalog };
  const selection = selectCatalogs(source, catalogsFrom(catalogs, packageName), (one) => one);
  if (selection.kind === "unresolved") throw new Error(selection.message);
  const request = { source, catalogs: selection.catalogs, cluster: clusterFrom(cluster) };
  const filtered = filterCandidates({ ...request, installed: installed ?? undefined });
  const got = filtered.kind === "unresolved" ? undefined : findAvailableUpdates(filtered);
  if (want === null) return expect(got).toBeUndefined();
  expect(got?.updates.map(updateText)).toEqual(want.updates);
  const blocked = got?.blocked;
  expect(blocked && `${blocked.version} of ${blocked.catalog}: ${blocked.reason}`).toBe(want.blocked);
  if (want.message !== undefined) expect(blocked?.message).toBe(want.message);
  AvailableUpdates.parse(got?.updates);
  if (blocked) BlockedUpdate.parse(blocked);
});

test("findAvailableUpdates returns a status that the API server accepts when names are malformed or long", () => {
  const odd = `p\ud800${"x".repeat(5_000)}.v1.1.0`;
  const entries = [{ name: odd, replaces: "p.v1.0.0" }];
  const fixture = { channels: { [`stable\udc00${"y".repeat(5_000)}`]: entries }, bundles: [{ name: odd, version: "1.1.0" }, "p.v2.0.0"] };
  const installed = { name: "p.v1.0.0", version: "1.0.0" };
  const filtered = filterCandidates({ source: { packageName: "p" }, catalogs: catalogsFrom({ c: fixture }, "p"), installed });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const got = findAvailableUpdates(filtered);
  expect(JSON.stringify(got)).not.toMatch(/\\ud[89a-f]/);
  expect(JSON.stringify(got).length).toBeLessThan(4_000);
  AvailableUpdates.parse(got?.updates);
  BlockedUpdate.parse(got?.blocked);
});
