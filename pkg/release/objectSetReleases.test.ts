import { expect, test } from "vitest";
import { releaseRecord } from "../../test/support/releases.ts";
import { isReplaced, needsImport, planObjectSetReleases } from "./objectSetReleases.ts";
import type { ReleaseRecord, ReleaseSummary } from "./record.ts";

type PlannedSet = Parameters<typeof planObjectSetReleases>[0][number];

/** Such as "3 archived complete". */
function set(text: string, uid = text): PlannedSet {
  const [revision, ...words] = text.split(" ");
  const [isComplete, isTearingDown] = [words.includes("complete"), words.includes("tearing-down")];
  return { uid, name: `x-${revision}`, revision: Number(revision), isArchived: words.includes("archived"), isComplete, isTearingDown };
}

const NONE = { current: [], older: [], foreign: [] };

test.for<[what: string, sets: string[], want: string[]]>([
  ["one active set", ["1 complete"], ["v1 deployed: 1 complete"]],
  [
    "archived sets, in any order",
    ["3 complete", "1 archived complete", "2 archived"],
    ["v1 superseded: 1 archived complete", "v2 failed: 2 archived", "v3 deployed: 3 complete"],
  ],
  ["an incomplete upgrade", ["1 complete", "2"], ["v1 deployed: 1 complete", "v2 failed: 2"]],
  ["two complete active sets", ["1 complete", "2 complete"], ["v2 deployed: 2 complete", "v3 failed: 1 complete"]],
  [
    "an archived set that is being torn down",
    ["1 archived complete tearing-down", "2 complete"],
    ["v2 deployed: 2 complete", "v3 failed: 1 archived complete tearing-down"],
  ],
  ["an incomplete install", ["1"], ["v1 failed: 1"]],
  ["no active set", ["1 archived complete"], []],
  ["a revision that no rollback accepts", ["5000000000 complete"], ["v1 deployed: 5000000000 complete"]],
])("planObjectSetReleases orders the releases for %s", ([, sets, want]) => {
  const plan = planObjectSetReleases(
    sets.map((text) => set(text)),
    NONE,
  );
  expect(plan.map((one) => `v${one.version} ${one.status}: ${one.set.uid}`)).toEqual(want);
});

test("planObjectSetReleases keeps only the newest archived sets", () => {
  const archived = Array.from({ length: 30 }, (_, i) => set(`${i + 1} archived complete`));
  const plan = planObjectSetReleases([...archived, set("31 complete")], NONE);
  expect(plan.map(({ version }) => version)).toEqual([22, 23, 24, 25, 26, 27, 28, 29, 30, 31]);
});

test.for<[what: string, current: ReleaseRecord[], older: ReleaseSummary[], want: number[]]>([
  ["release Secrets of the Go implementation", [releaseRecord(4, "deployed")], [{ version: 3, status: "superseded" }], [5, 6]],
  [
    "a part of the import",
    [releaseRecord(5, "superseded", { objectSet: "1 archived complete" }), releaseRecord(4, "deployed")],
    [],
    [5, 6],
  ],
  [
    "all of the import but the last status",
    [
      releaseRecord(2, "pending-install", { objectSet: "2 complete" }),
      releaseRecord(1, "superseded", { objectSet: "1 archived complete" }),
    ],
    [],
    [1, 2],
  ],
])(
  "planObjectSetReleases returns versions after the others, and keeps imported ones, when the history has %s",
  ([, current, older, want]) => {
    const plan = planObjectSetReleases([set("1 archived complete"), set("2 complete")], { current, older, foreign: [] });
    expect(plan.map(({ version }) => version)).toEqual(want);
  },
);

const EARLY = { uid: "early", createdAt: "2026-01-01T00:00:00Z" };
const LATE = { uid: "late", createdAt: "2026-02-01T00:00:00Z" };
const OURS = releaseRecord(1, "deployed", { inputDigest: "1", lastDeployed: "2026-01-15T00:00:00Z" });

test.for<[what: string, current: ReleaseRecord[], early: boolean, late: boolean]>([
  ["no release", [], true, true],
  ["a release Secret of the Go implementation", [releaseRecord(1, "deployed")], true, true],
  ["a release of ours between them", [OURS], false, true],
  ["the imported release", [releaseRecord(1, "deployed", { objectSet: "late" })], true, false],
  ["the imported release, interrupted", [releaseRecord(1, "pending-install", { objectSet: "late" })], true, true],
])("needsImport requires the import of sets that are neither imported nor replaced when there is %s", ([, current, early, late]) => {
  expect([needsImport([EARLY], current), needsImport([LATE], current)]).toEqual([early, late]);
});

test("needsImport returns false without an active set", () => {
  expect(needsImport([], [])).toBe(false);
});

test.for<[what: string, deployed: ReleaseRecord | undefined, is: boolean]>([
  ["no release", undefined, false],
  ["a release of the Go implementation", releaseRecord(1, "deployed"), false],
  ["an imported release", releaseRecord(1, "deployed", { objectSet: "early" }), false],
  ["a release of ours", OURS, true],
  ["an earlier release of ours", { ...OURS, lastDeployed: "2025-12-01T00:00:00Z" }, false],
])("isReplaced, for %s, returns whether its apply replaced the owner references", ([, deployed, is]) => {
  expect(isReplaced(EARLY, deployed)).toBe(is);
});
