import { expect, test } from "vitest";
import { parseRevision, previousRevision, type ReleaseStatus, type ReleaseSummary, requireRevision } from "./record.ts";

const releases = (...statuses: ReleaseStatus[]): ReleaseSummary[] => statuses.map((status, i) => ({ version: i + 1, status }));

test.for(["", "0", "-1", "1.5", "v1", "1 ", "99999999999", "1e3"])("%j is no revision", (text) => {
  expect(() => parseRevision(text)).toThrow(`"${text}" is no revision, which is a whole number from 1`);
});

test("a revision is a whole number", () => {
  expect([parseRevision("1"), parseRevision("42")]).toEqual([1, 42]);
});

test.for<[revision: number, error: string | undefined]>([
  [1, undefined],
  [4, undefined],
  [2, "revision 2 was never applied completely, it is failed: one of these can be gone back to: 4, 3, 1"],
  [9, "revision 9 is not among the releases that are kept: one of these can be gone back to: 4, 3, 1"],
])("only what was on the cluster completely can be gone back to: %i", ([revision, error]) => {
  const check = (): void => requireRevision(releases("superseded", "failed", "superseded", "deployed"), revision);
  if (error === undefined) check();
  else expect(check).toThrow(error);
});

test("without any release there is nothing to go back to", () => {
  expect(() => requireRevision(releases("failed"), 2)).toThrow(
    "revision 2 is not among the releases that are kept: there is none to go back to",
  );
});

test.for<[statuses: ReleaseStatus[], want: number | undefined]>([
  [["superseded", "failed", "deployed"], 1],
  [["superseded", "superseded", "deployed", "failed"], 2],
  [["deployed"], undefined],
  [["failed", "deployed"], undefined],
  [[], undefined],
])("the revision before the deployed one of %j", ([statuses, want]) => {
  const find = (): number => previousRevision(releases(...statuses));
  if (want === undefined) expect(find).toThrow("there is no earlier revision to go back to");
  else expect(find()).toBe(want);
});
