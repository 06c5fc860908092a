import { expect, test } from "vitest";
import { configMap } from "../../test/support/releases.ts";
import type { KubeObject } from "../api/k8s.ts";
import { hasReadyNewPod, replacesPods } from "./health/pods.ts";
import {
  computeRollbackObjects,
  countAttempts,
  getHoldEnd,
  parseRolledBack,
  type RolledBack,
  truncateRollbackMessage,
} from "./rollbackBackoff.ts";

const AT = Date.parse("2026-01-01T00:00:00Z");
const MINUTE = 60_000;
const GIVEN: RolledBack = {
  release: 2,
  bundle: "p.v2.0.0",
  version: "2.0.0",
  inputDigest: "d",
  generation: 3,
  catalog: "c@sha256:1",
  reason: "Retrying",
  message: "no",
  attempts: 1,
  at: "2026-01-01T00:00:00Z",
};
const SAME = { inputDigest: "d", generation: 3, catalog: "c@sha256:1" };

// Source: O-04.
test.for<[why: string, attempt: Partial<typeof SAME>, attempts: number, minutes: number, heldFor: number | undefined]>([
  ["returns the end of a ten-minute delay", {}, 1, 0, 10],
  ["still returns the end of the delay shortly before it", {}, 1, 9.99, 10],
  ["returns undefined after the delay", {}, 1, 10, undefined],
  ["doubles the delay after the second attempt", {}, 2, 19, 20],
  ["limits the delay to a day", {}, 50, 1_439, 1_440],
  ["returns undefined after a day", {}, 50, 1_440, undefined],
  ["returns the end of the delay when a clock is slightly late", {}, 1, -4, 10],
  ["returns undefined when the clock was set back", {}, 1, -6, undefined],
  ["returns undefined for another bundle or configuration", { inputDigest: "e" }, 1, 0, undefined],
  ["returns undefined after an edit of the extension", { generation: 4 }, 1, 0, undefined],
  ["returns undefined when the catalog has new content", { catalog: "c@sha256:2" }, 1, 0, undefined],
])("getHoldEnd %s", ([, attempt, attempts, minutes, heldFor]) => {
  const until = getHoldEnd({ ...GIVEN, attempts }, { ...SAME, ...attempt }, AT + minutes * MINUTE);
  expect(until).toBe(heldFor === undefined ? undefined : AT + heldFor * MINUTE);
});

test("countAttempts counts only attempts with the same input digest", () => {
  expect([countAttempts(SAME, undefined), countAttempts(SAME, GIVEN), countAttempts({ inputDigest: "e" }, GIVEN)]).toEqual([1, 2, 1]);
});

const crd = (name: string, version: number): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name },
  spec: { version },
});

test("computeRollbackObjects keeps current CRDs and restores removed CRDs", () => {
  const target = [configMap("a"), crd("both", 1), crd("removed", 1)];
  const given = [configMap("b"), crd("both", 2), crd("added", 2)];
  expect(computeRollbackObjects(target, given)).toEqual([crd("both", 2), crd("added", 2), configMap("a"), crd("removed", 1)]);
  const applied = (key: string): boolean => key.endsWith("both");
  expect(computeRollbackObjects(target, given, applied)).toEqual([crd("both", 2), configMap("a"), crd("removed", 1)]);
  expect(computeRollbackObjects(target, given, () => false)).toEqual(target);
});

test.for<[why: string, value: unknown, want: RolledBack | undefined]>([
  ["what was written", { ...GIVEN }, GIVEN],
  ["unknown members are ignored", { ...GIVEN, more: 1 }, GIVEN],
  ["nothing", undefined, undefined],
  ["a text", "rolled back", undefined],
  ["a missing member", { ...GIVEN, at: undefined }, undefined],
  ["an invalid number", { ...GIVEN, attempts: "1" }, undefined],
  ["an unknown reason", { ...GIVEN, reason: "Other" }, undefined],
])("parseRolledBack returns a valid stored rollback, and undefined for an invalid one: %s", ([, value, want]) => {
  expect(parseRolledBack(value)).toEqual(want);
});

test("truncateRollbackMessage truncates a long message", () => {
  expect([truncateRollbackMessage("no"), truncateRollbackMessage("x".repeat(10_000)).length]).toEqual(["no", 4_096]);
});

const workload = (kind: string, status: object, generation = 1): KubeObject => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name: "a", generation },
  status: { observedGeneration: 1, ...status },
});

test.for<[why: string, object: KubeObject, want: boolean]>([
  ["no Pod of the new version yet", workload("Deployment", { replicas: 2, updatedReplicas: 0, readyReplicas: 2 }), false],
  ["a new Pod next to two old ready ones", workload("Deployment", { replicas: 3, updatedReplicas: 1, readyReplicas: 2 }), false],
  ["as many ready Pods as exist", workload("Deployment", { replicas: 3, updatedReplicas: 1, readyReplicas: 3 }), true],
  ["only new ones", workload("StatefulSet", { replicas: 1, updatedReplicas: 1, readyReplicas: 1 }), true],
  [
    "a change that its controller has not observed",
    workload("Deployment", { replicas: 1, updatedReplicas: 1, readyReplicas: 1 }, 2),
    false,
  ],
  ["a DaemonSet on its first node", workload("DaemonSet", { currentNumberScheduled: 3, updatedNumberScheduled: 1, numberReady: 3 }), true],
  [
    "a DaemonSet whose new Pod is not ready",
    workload("DaemonSet", { currentNumberScheduled: 3, updatedNumberScheduled: 1, numberReady: 2 }),
    false,
  ],
  ["no status at all", { ...workload("Deployment", {}), status: undefined }, false],
])("hasReadyNewPod is true only when at least one new Pod must be ready: %s", ([, object, want]) => {
  expect([replacesPods(object), hasReadyNewPod(object)]).toEqual([true, want]);
});
