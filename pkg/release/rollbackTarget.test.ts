import { expect, test } from "vitest";
import { findPreviousRevision, parseRevision, type ReleaseStatus, type ReleaseSummary, requireRevision } from "./record.ts";

const releases = (...statuses: ReleaseStatus[]): ReleaseSummary[] => statuses.map((status, i) => ({ version: i + 1, status }));

test.for(["", "0", "-1", "1.5", "v1", "1 ", "99999999999", "1e3"])("parseRevision rejects %j", (text) => {
  expect(() => parseRevision(text)).toThrow(`"${text}" is not a revision: specify a positive integer`);
});

test("parseRevision accepts an integer", () => {
  expect([parseRevision("1"), parseRevision("42")]).toEqual([1, 42]);
});

test.for<[revision: number, error: string | undefined]>([
  [1, undefined],
  [4, undefined],
  [2, "revision 2 was never applied completely (status failed): available for a rollback: 4, 3, 1"],
  [9, "revision 9 is not in the release history: available for a rollback: 4, 3, 1"],
])("requireRevision accepts a revision only if it was applied completely: %i", ([revision, error]) => {
  const check = (): void => requireRevision(releases("superseded", "failed", "superseded", "deployed"), revision);
  if (error === undefined) check();
  else expect(check).toThrow(error);
});

test("requireRevision and findPreviousRevision throw when there are no releases", () => {
  expect(() => requireRevision(releases("failed"), 2)).toThrow(
    "revision 2 is not in the release history: no revision is available for a rollback",
  );
});

test.for<[statuses: ReleaseStatus[], want: number | undefined]>([
  [["superseded", "failed", "deployed"], 1],
  [["superseded", "superseded", "deployed", "failed"], 2],
  [["deployed"], undefined],
  [["failed", "deployed"], undefined],
  [[], undefined],
])("findPreviousRevision returns the revision before the deployed one of %j", ([statuses, want]) => {
  const find = (): number => findPreviousRevision(releases(...statuses));
  if (want === undefined) expect(find).toThrow("no earlier revision is available for a rollback");
  else expect(find()).toBe(want);
});
