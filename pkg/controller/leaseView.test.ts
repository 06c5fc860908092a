import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { LEASE, type Lease, type LeaseSpec, LeaseView } from "./lease.ts";

const lease = (resourceVersion: string, spec: LeaseSpec): Lease => ({ ...LEASE, metadata: { name: "lock", resourceVersion }, spec });

test("LeaseView measures the time since the record last changed, and ignores the times in the record", () => {
  const clock = new FakeClock();
  const view = new LeaseView(clock);
  view.set(lease("1", { holderIdentity: "a", renewTime: "2099-01-01T00:00:00.000000Z" }));
  clock.advance(5_000);
  view.set(lease("2", { renewTime: "2099-01-01T00:00:00.000000Z", holderIdentity: "a" })); // only a label changed
  expect(view.unchangedMs).toBe(5_000);
  view.set(lease("3", { holderIdentity: "a", renewTime: "2001-01-01T00:00:00.000000Z" }));
  expect(view.unchangedMs).toBe(0);
});

test("LeaseView ignores old events and keeps the record after a deletion", () => {
  const view = new LeaseView(new FakeClock());
  view.set(lease("10", { holderIdentity: "new" }));
  view.takeEvent("MODIFIED", lease("9", { holderIdentity: "old" }));
  view.takeEvent("DELETED", lease("8", { holderIdentity: "older" }));
  expect([view.lease?.metadata.resourceVersion, view.record]).toEqual(["10", { holderIdentity: "new" }]);
  view.takeEvent("DELETED", lease("11", { holderIdentity: "new" }));
  expect([view.lease, view.record]).toEqual([undefined, { holderIdentity: "new" }]);
});

test("LeaseView.pause ends after a change, a timeout or an abort", async () => {
  const clock = new FakeClock();
  const view = new LeaseView(clock);
  const stop = new AbortController();
  const ended: string[] = [];
  const pause = (name: string, ms: number): Promise<void> => view.pause(ms, stop.signal).then(() => void ended.push(name));
  const byChange = pause("change", 1_000);
  view.set(lease("1", {}));
  await byChange;
  const byTime = pause("time", 1_000);
  view.set(lease("1", {})); // no change
  clock.advance(1_000);
  await byTime;
  const byAbort = pause("abort", 1_000);
  stop.abort();
  await byAbort;
  expect([ended, clock.pending]).toEqual([["change", "time", "abort"], 0]);
});
