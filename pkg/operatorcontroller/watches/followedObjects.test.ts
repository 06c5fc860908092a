import { expect, test } from "vitest";
import type { ObjectMeta } from "../../api/k8s.ts";
import { type Compared, createMark, FollowedObject, type Observation } from "./followedObjects.ts";

const ref = { apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "ns" };
const meta = (resourceVersion: string, members: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name: "a",
  uid: "u",
  resourceVersion,
  ...members,
});
const exists = (resourceVersion: string, members: Partial<ObjectMeta> = {}): Observation => ({
  kind: "exists",
  metadata: meta(resourceVersion, members),
});
const compared = (outcome: Compared["outcome"], resourceVersion: string, generation?: number): Compared => ({
  ref,
  mark: createMark(meta(resourceVersion, generation === undefined ? {} : { generation })),
  outcome,
});

/** Observes a change at `now` and records a comparison immediately. @returns when the comparison was due. */
function changed(object: FollowedObject, version: number, now: number, outcome: Compared["outcome"] = "corrected"): number | undefined {
  object.observe(exists(String(version)));
  object.evaluate(now);
  const { dueAt } = object;
  object.recordComparison(compared(outcome, String(version + 1)), dueAt ?? now);
  return dueAt;
}

test("FollowedObject is due immediately for three consecutive corrections, and then with growing delays, until a period without drift", () => {
  const object = new FollowedObject(ref);
  object.recordComparison(compared("same", "1"), 0);
  const due: (number | undefined)[] = [];
  for (let i = 1; i <= 12; i++) due.push(changed(object, i * 10, due.at(-1) ?? 0));
  const gaps = due.map((at, i) => (at ?? Number.NaN) - (due[i - 1] ?? 0));
  expect(gaps).toEqual([0, 0, 0, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
  const calm = (due.at(-1) ?? 0) + 600_001;
  expect(changed(object, 1_000, calm)).toBe(calm);
});

test("FollowedObject delays the next comparison by five seconds after a change without drift", () => {
  const object = new FollowedObject(ref);
  object.recordComparison(compared("same", "1"), 0);
  expect(changed(object, 10, 1_000, "same")).toBe(1_000);
  expect(changed(object, 20, 2_000, "same")).toBe(6_000);
});

test("FollowedObject remains failed until a comparison succeeds, and is due at most once in five seconds", () => {
  const object = new FollowedObject(ref);
  object.recordComparison({ ref, mark: undefined, outcome: "failed" }, 1_000);
  expect([object.isFailed, object.dueAt]).toEqual([true, undefined]);
  object.observe(exists("10"));
  object.evaluate(1_500);
  expect(object.dueAt).toBe(6_000);
  object.recordComparison(compared("corrected", "11"), 6_000);
  expect([object.isFailed, object.dueAt]).toEqual([false, undefined]);
});

test("FollowedObject is due after any change of an object with uncorrected drift", () => {
  const object = new FollowedObject(ref);
  object.recordComparison(compared("drifted", "10", 1), 0);
  object.observe(exists("10", { generation: 1 }));
  object.evaluate(1_000);
  expect(object.dueAt).toBeUndefined();
  object.observe(exists("11", { generation: 1 }));
  object.evaluate(1_000);
  expect(object.dueAt).toBe(1_000);
});

test("FollowedObject reports each change by another client once, and whether the generation has changed", () => {
  const object = new FollowedObject(ref);
  object.recordComparison(compared("same", "10", 1), 0);
  const observe = (seen: Observation): unknown => {
    object.observe(seen);
    return object.evaluate(0);
  };
  expect(observe(exists("10", { generation: 1 }))).toBeUndefined();
  expect(observe(exists("11", { generation: 1 }))).toEqual({ type: "changed", generationChanged: false });
  expect(observe(exists("11", { generation: 1 }))).toBeUndefined();
  expect(observe(exists("12", { generation: 2 }))).toEqual({ type: "changed", generationChanged: true });
  expect(observe({ kind: "gone", resourceVersion: "13" })).toEqual({ type: "deleted", generationChanged: true });
});
