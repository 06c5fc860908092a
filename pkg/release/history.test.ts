import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  findReleasesToRemove,
  listActiveReleases,
  listReleasesWithObjects,
  MAX_HISTORY,
  RELEASE_STATUSES,
  type ReleaseRecord,
  type ReleaseStatus,
} from "./record.ts";

/** Returns releases 1, 2, 3, … with these statuses. */
function historyOf(statuses: readonly ReleaseStatus[]): ReleaseRecord[] {
  return statuses.map((status, i) => ({
    name: "x",
    namespace: "ns",
    version: i + 1,
    status,
    description: "",
    firstDeployed: "",
    lastDeployed: "",
    labels: {},
    annotations: {},
    objects: [],
  }));
}

const failed = (n: number): ReleaseStatus[] => Array.from({ length: n }, () => "failed");

test.for<[name: string, statuses: ReleaseStatus[], removed: number[]]>([
  ["findReleasesToRemove keeps ten releases", ["superseded", ...failed(8), "deployed"], []],
  ["findReleasesToRemove returns the oldest release", ["superseded", "superseded", ...failed(8), "deployed"], [1]],
  ["findReleasesToRemove keeps the last deployed release, however old", ["deployed", ...failed(12)], [2, 3, 4]],
  ["findReleasesToRemove returns an earlier deployed release", ["deployed", "deployed", ...failed(10)], [1, 3]],
  ["findReleasesToRemove keeps the newest ten when none is deployed", failed(12), [1, 2]],
])("%s", ([, statuses, removed]) => {
  expect(findReleasesToRemove(historyOf(statuses).toReversed())).toEqual(removed);
});

test.for<[statuses: ReleaseStatus[], versions: number[]]>([
  [["superseded", "deployed"], [2]],
  [
    ["superseded", "deployed", "failed", "pending-upgrade"],
    [4, 3, 2],
  ],
  [
    ["failed", "failed"],
    [2, 1],
  ],
  [[], []],
])("listReleasesWithObjects with releases of statuses %j returns the releases %j", ([statuses, versions]) => {
  expect(listReleasesWithObjects(historyOf(statuses)).map(({ version }) => version)).toEqual(versions);
});

test.for<[statuses: ReleaseStatus[], versions: number[]]>([
  [
    ["superseded", "deployed", "failed", "pending-upgrade"],
    [4, 3, 2],
  ],
  [["deployed", "uninstalled"], [1]],
  [
    ["deployed", "uninstalled", "failed", "failed"],
    [4, 3, 1],
  ],
  [["superseded", "uninstalled"], []],
  [["superseded", "uninstalled", "failed"], [3]],
  [
    ["superseded", "failed"],
    [2, 1],
  ],
  [["deployed", "uninstalled", "deployed"], [3]],
  [[], []],
])("listActiveReleases with releases of statuses %j returns the releases %j", ([statuses, versions]) => {
  expect(listActiveReleases(historyOf(statuses)).map(({ version }) => version)).toEqual(versions);
});

test("findReleasesToRemove keeps at most ten releases, including the last deployed one", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...RELEASE_STATUSES), { maxLength: 30 }), (statuses) => {
      const history = historyOf(statuses);
      const removed = new Set(findReleasesToRemove(history));
      const kept = history.filter(({ version }) => !removed.has(version));
      expect(kept.length).toBe(Math.min(history.length, MAX_HISTORY));
      const deployed = history.findLast(({ status }) => status === "deployed");
      if (deployed) expect(kept).toContain(deployed);
    }),
  );
});
