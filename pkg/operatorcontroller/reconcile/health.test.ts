import { expect, test } from "vitest";
import { MemoryReleases, refusal, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated, buildObserved } from "../../../test/support/phases.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type GroupVersionKind, type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { getObjectKey } from "../../release/identity.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { ClusterChanges } from "../state/clusterChanges.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { Phase } from "../state/phases.ts";
import type { Report } from "../state/report.ts";
import { checkHealth } from "./health.ts";

const NS = "x-system";
const START = Date.parse("2026-01-02T00:00:00Z");
const made = createExtension("x", { packageName: "p" });
const X: ClusterExtension = { ...made, metadata: { ...made.metadata, uid: "u" } };
const INSTALLED = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "i" };

const deployment = (name: string, available: number): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: NS, generation: 1 },
  spec: { replicas: 1, selector: { matchLabels: { app: name } } },
  status: {
    observedGeneration: 1,
    replicas: 1,
    updatedReplicas: 1,
    readyReplicas: available,
    availableReplicas: available,
    conditions: [{ type: "Available", status: available > 0 ? "True" : "False" }],
  },
});

const crashing: KubeObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a-1", namespace: NS },
  status: {
    phase: "Running",
    containerStatuses: [{ name: "manager", restartCount: 3, state: { waiting: { reason: "CrashLoopBackOff" } } }],
  },
};

/** An extension that is reconciled several times. Tests advance the clock. */
class Passes {
  readonly calls: string[] = [];
  readonly live = new Map<string, KubeObject | Error>();
  pods: KubeObject[] | Error = [];
  readonly memory = new ExtensionCache();
  readonly releases: MemoryReleases;
  minutes: number | undefined;
  /** Whether the watches notice all changes of the objects. */
  isWatched = true;
  /** Shortest requested delay of the last reconcile, in milliseconds. */
  requeuedAfter: number | undefined;
  now = START;

  constructor(release: ReleaseRecord) {
    this.releases = new MemoryReleases(release);
  }

  set(...objects: KubeObject[]): void {
    for (const object of objects) this.live.set(getObjectKey(object), object);
  }

  async pass(changes: ClusterChanges = {}): Promise<Report> {
    const extension = this.minutes ? { ...X, spec: { ...X.spec, progressDeadlineMinutes: this.minutes } } : X;
    const releases = { history: this.releases.now(), installed: INSTALLED };
    return this.check(buildAuthenticated(extension, { releases, client: this as unknown as Client, changes }));
  }

  async check(phase: Phase): Promise<Report> {
    this.calls.length = 0;
    this.requeuedAfter = undefined;
    const requeueAfter = (_: string, ms: number): void =>
      void (this.requeuedAfter = Math.min(this.requeuedAfter ?? Number.POSITIVE_INFINITY, ms));
    const watches = { covers: () => this.isWatched };
    const deps = { releases: this.releases, memory: this.memory, watches, now: () => this.now, requeueAfter };
    await checkHealth({ ...deps, minuteMs: 60_000, driftIntervalMs: 300_000 }, phase, stepContext());
    return phase.report;
  }

  get(ref: ObjectRef): Promise<KubeObject | undefined> {
    this.calls.push(`get ${ref.kind} ${ref.name}`);
    const found = this.live.get(getObjectKey(ref));
    return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
  }

  list({ kind }: GroupVersionKind, { labelSelector = "" }: { labelSelector?: string }): Promise<{ items: KubeObject[] }> {
    this.calls.push(`list ${kind} ${labelSelector}`);
    return this.pods instanceof Error ? Promise.reject(this.pods) : Promise.resolve({ items: this.pods });
  }
}

const RELEASE = releaseRecord(1, "deployed", {
  objects: [deployment("a", 0), configMap("c"), deployment("b", 0)],
  lastDeployed: new Date(START).toISOString(),
});

function passes(release = RELEASE): Passes {
  const all = new Passes(release);
  all.set(deployment("a", 1), deployment("b", 1));
  return all;
}

test("checkHealth reads only objects of kinds that can be unhealthy, and reads a healthy release only once", async () => {
  const all = passes();
  const report = await all.pass();
  expect(all.calls.sort()).toEqual(["get Deployment a", "get Deployment b"]);
  expect(report.availability).toEqual({ status: "True", reason: "Healthy", message: "all 2 objects with a health check are healthy" });
  expect(all.requeuedAfter).toBeUndefined();
  all.now += 86_400_000;
  expect((await all.pass()).availability?.status).toBe("True");
  expect(all.calls).toEqual([]);
});

test("checkHealth reads a healthy release again after a drift interval when its objects are not watched", async () => {
  const all = passes();
  all.isWatched = false;
  await all.pass();
  all.set(deployment("a", 0));
  all.now += 299_999;
  expect((await all.pass()).availability?.status).toBe("True");
  expect(all.calls).toEqual([]);
  all.now += 1;
  expect((await all.pass()).availability?.status).toBe("False");
});

test("checkHealth records a release as rolled out when it is healthy for the first time", async () => {
  const all = passes();
  const changes: ClusterChanges = {};
  await all.pass(changes);
  const { deployed } = changes;
  expect(deployed?.rolledOutAt).toBe("2026-01-02T00:00:00.000Z");
  expect(all.releases.records.get(1)).toEqual(deployed);
  await all.pass();
  expect(all.releases.calls).toEqual(["update v1 deployed"]);
});

test("checkHealth reports health and retries when the rollout cannot be recorded", async () => {
  const all = passes();
  all.releases.failures.update = new Error("connection refused");
  expect((await all.pass()).availability?.status).toBe("True");
  delete all.releases.failures.update;
  await all.pass();
  expect(all.releases.records.get(1)?.rolledOutAt).toBeDefined();
});

test("checkHealth reads an unhealthy release again after one second, with a delay that doubles up to fifteen seconds", async () => {
  const all = passes();
  all.set(deployment("b", 0));
  const pauses: (number | undefined)[] = [];
  for (let i = 0; i < 7; i++) {
    const report = await all.pass();
    expect(report.availability).toMatchObject({ status: "False", reason: "RollingOut" });
    expect(all.calls).toHaveLength(3);
    pauses.push(all.requeuedAfter);
    all.now += (all.requeuedAfter ?? 0) - 1;
    await all.pass();
    expect([all.calls, all.requeuedAfter]).toEqual([[], 1]);
    all.now += 1;
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  all.set(deployment("b", 1));
  expect((await all.pass()).availability?.status).toBe("True");
});

test("checkHealth still reads a release after a change when the clock was set back", async () => {
  const all = passes();
  await all.pass();
  all.now -= 86_400_000;
  all.set(deployment("b", 0));
  expect(all.memory.healthChanged("x", all.now)).toBe(5_000);
  all.now += 5_000;
  expect((await all.pass()).availability?.status).toBe("False");
  all.now -= 86_400_000;
  await all.pass();
  expect(all.calls).not.toEqual([]);
});

test("checkHealth reports object, Pod and container, and lists Pods only for unhealthy workloads", async () => {
  const all = passes();
  all.set(deployment("a", 0));
  all.pods = [crashing];
  const { availability } = await all.pass();
  expect(all.calls.sort()).toEqual(["get Deployment a", "get Deployment b", "list Pod app=a"]);
  const message = '0 of 1 replicas are available; Pod a-1: container "manager" is in CrashLoopBackOff, restarted 3 times';
  expect(availability).toEqual({
    status: "False",
    reason: "Unhealthy",
    message: `Deployment ${NS}/a: ${message}`,
    unhealthy: [{ ref: toObjectRef(deployment("a", 0)), health: expect.objectContaining({ state: "failed", message }) as unknown }],
  });
});

test.for<[when: string, pod: KubeObject, want: string]>([
  [
    "only a Pod of the earlier release fails during a rollout",
    { ...crashing, metadata: { ...crashing.metadata, creationTimestamp: "2026-01-01T00:00:00Z" } },
    '1 of 2 replicas are updated; Pod a-1, which the rollout replaces: container "manager" is in CrashLoopBackOff, restarted 3 times',
  ],
  ["only an evicted Pod has failed", { ...crashing, status: { phase: "Failed", reason: "Evicted" } }, "1 of 2 replicas are updated"],
])("checkHealth reports RollingOut when %s", async ([, pod, message]) => {
  const all = passes();
  const { status, ...rest } = deployment("a", 1);
  all.set({ ...rest, spec: { ...(rest["spec"] as object), replicas: 2 }, status: { ...(status as object), replicas: 2 } });
  all.pods = [pod];
  const { availability } = await all.pass();
  expect(availability).toEqual({ status: "False", reason: "RollingOut", message: `Deployment ${NS}/a: ${message}` });
});

test("checkHealth uses the workload's own status when listing Pods is forbidden", async () => {
  const all = passes();
  all.set(deployment("a", 0));
  all.pods = refusal(403, "Forbidden");
  expect((await all.pass()).availability?.message).toBe(`Deployment ${NS}/a: 0 of 1 replicas are available`);
});

test.for<[why: string, answer: KubeObject | Error | undefined, want: object]>([
  [
    "must not be read",
    refusal(403, "Forbidden", "no"),
    { status: "Unknown", reason: "Unknown", message: `Deployment ${NS}/a: reading it is forbidden: no` },
  ],
  ["cannot be read", new Error("reset"), { status: "Unknown", reason: "Unknown", message: `Deployment ${NS}/a: cannot read it: reset` }],
  ["does not exist", undefined, { status: "False", reason: "Unhealthy", message: `Deployment ${NS}/a: it does not exist` }],
  ["has a kind that is no longer served", new KindNotServed("apps/v1", "Deployment"), { status: "False", reason: "Unhealthy" }],
])("checkHealth does not fail when an object %s", async ([, answer, want]) => {
  const all = passes();
  const key = getObjectKey(deployment("a", 0));
  if (answer) all.live.set(key, answer);
  else all.live.delete(key);
  expect((await all.pass()).availability).toMatchObject(want);
  expect(all.requeuedAfter).toBe(1_000);
});

test("checkHealth does not read objects that the reconcile has compared, nor Pods of a release that the reconcile has applied", async () => {
  const all = passes();
  all.set(deployment("a", 0));
  await all.pass();
  const live = new Map([deployment("a", 1), deployment("b", 1)].map((object) => [getObjectKey(object), object]));
  const { availability } = await all.pass({ live });
  expect([all.calls, availability?.status]).toEqual([[], "True"]);
  const applied = new Map([deployment("a", 0), deployment("b", 1)].map((object) => [getObjectKey(object), object]));
  const next = await all.pass({ live: applied, deployed: { ...RELEASE, version: 2 } });
  expect([all.calls, next.availability?.reason, all.requeuedAfter]).toEqual([[], "RollingOut", 1_000]);
});

test("checkHealth reads objects again after a reported change and after a failed release", async () => {
  const all = passes();
  await all.pass();
  expect(all.memory.healthChanged("x", all.now)).toBe(5_000);
  await all.pass();
  expect([all.calls, all.requeuedAfter]).toEqual([[], 5_000]);
  all.now += 5_000;
  await all.pass();
  expect(all.calls).toHaveLength(2);
  await all.pass({ failed: { release: RELEASE, applied: new Map(), actions: [] } });
  expect(all.calls).toHaveLength(2);
  all.now += 60_000;
  expect([all.memory.healthChanged("x", all.now), all.memory.healthChanged("y", all.now)]).toEqual([0, 0]);
  await all.pass();
  expect(all.calls).toHaveLength(2);
  await all.pass();
  expect(all.calls).toEqual([]);
});

test("checkHealth reports Unhealthy when a release that was rolled out is no longer healthy", async () => {
  const all = passes({ ...RELEASE, rolledOutAt: "2026-01-01T00:00:00Z" });
  all.set(deployment("a", 0));
  expect((await all.pass()).availability?.reason).toBe("Unhealthy");
});

test.for<[why: string, phase: Phase]>([
  ["no client is available", buildObserved(X)],
  ["it is being uninstalled", { ...buildObserved(X), phase: "deleting", progress: "uninstalling" }],
])("checkHealth reads nothing when %s", async ([, phase]) => {
  const all = passes();
  expect((await all.check(phase)).availability).toBeUndefined();
  expect(all.calls).toEqual([]);
});

// Source: I-23, progress deadline.
test("checkHealth reports an overdue rollout until the rollout succeeds", async () => {
  const all = passes();
  all.minutes = 10;
  all.set(deployment("a", 0));
  all.now = START + 10 * 60_000 - 500;
  const early = await all.pass();
  expect([early.overdue, all.requeuedAfter]).toEqual([undefined, 500]);
  all.now += 500;
  const { overdue } = await all.pass();
  expect(overdue).toBe(
    `Revision has not rolled out for 10 minute(s). Last status: Revision 1.0.0 is rolling out.; Deployment ${NS}/a: 0 of 1 replicas are available`,
  );
  all.now += 60_000;
  all.set(deployment("a", 1));
  expect((await all.pass()).overdue).toBeUndefined();
  all.set(deployment("a", 0));
  all.now += 60_000;
  all.memory.healthChanged("x", all.now);
  const later = await all.pass();
  expect([later.availability?.reason, later.overdue]).toEqual(["Unhealthy", undefined]);
});

test("checkHealth reports no overdue rollout without a deadline or while health is unknown", async () => {
  const all = passes();
  all.now = START + 86_400_000;
  all.set(deployment("a", 0));
  expect((await all.pass()).overdue).toBeUndefined();
  all.minutes = 10;
  all.live.set(getObjectKey(deployment("a", 0)), refusal(403, "Forbidden"));
  all.now += 60_000;
  all.memory.healthChanged("x", all.now);
  expect((await all.pass()).overdue).toBeUndefined();
});
