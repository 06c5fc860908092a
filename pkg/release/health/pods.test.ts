import { expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { computeAvailability, type ObjectHealth, withPodProblem } from "./availability.ts";
import { createHealth, HEALTHY, type HealthState } from "./healthState.ts";
import { findPodProblem, findWorstPod, getPodSelector } from "./pods.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");

const pod = (status: object, name = "p"): KubeObject => ({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "ns" }, status });
const waiting = (reason: string, more: object = {}, message?: string): object => ({
  name: "manager",
  state: { waiting: { reason, ...(message ? { message } : {}) } },
  ...more,
});
const oom = { lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } };
const ready = [{ type: "Ready", status: "True" }];

test.for<[why: string, status: object, text: string | undefined, isFailing?: boolean]>([
  ["a ready Pod", { phase: "Running", conditions: ready }, undefined],
  ["a Pod that has ended", { phase: "Succeeded" }, undefined],
  [
    "an image that cannot be pulled",
    { phase: "Pending", containerStatuses: [waiting("ImagePullBackOff", {}, 'Back-off pulling image "x"')] },
    'container "manager" is in ImagePullBackOff: Back-off pulling image "x"',
    true,
  ],
  [
    "a crash loop, with its count and what ended it",
    { phase: "Running", containerStatuses: [waiting("CrashLoopBackOff", { restartCount: 5, ...oom })] },
    'container "manager" is in CrashLoopBackOff, restarted 5 times, last exit code 137 (OOMKilled)',
    true,
  ],
  [
    "an init container, before the containers that wait for it",
    {
      phase: "Pending",
      initContainerStatuses: [{ ...waiting("CrashLoopBackOff", { restartCount: 1 }), name: "setup" }],
      containerStatuses: [waiting("PodInitializing")],
    },
    'init container "setup" is in CrashLoopBackOff, restarted 1 time',
    true,
  ],
  ["a container that is being created", { phase: "Pending", containerStatuses: [waiting("ContainerCreating")] }, "it is pending", false],
  [
    "a missing Secret",
    { phase: "Pending", containerStatuses: [waiting("CreateContainerConfigError", {}, 'secret "s" not found')] },
    'container "manager" is in CreateContainerConfigError: secret "s" not found',
    true,
  ],
  [
    "a container that ended just now",
    {
      phase: "Running",
      containerStatuses: [{ name: "manager", restartCount: 1, state: { terminated: { exitCode: 2, reason: "Error" } } }],
    },
    'container "manager" exited with code 2 (Error), restarted 1 time',
    true,
  ],
  [
    "a probe that fails",
    { phase: "Running", containerStatuses: [{ name: "manager", ready: false, restartCount: 0, state: { running: {} } }] },
    'container "manager" is running but not ready',
    false,
  ],
  [
    "an eviction",
    { phase: "Failed", reason: "Evicted", message: "The node was low on memory." },
    "it failed (Evicted: The node was low on memory.)",
    true,
  ],
  [
    "a Pod that cannot be scheduled",
    { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" }] },
    "it cannot be scheduled: 0/1 nodes",
    true,
  ],
  ["a Pod that no kubelet has reported", {}, "no kubelet has reported its status yet", false],
])("findPodProblem describes a Pod: %s", ([, status, text, isFailing]) => {
  const problem = findPodProblem(pod(status), NOW);
  expect([problem?.text, problem?.isFailing]).toEqual([text, isFailing]);
});

const workload = (kind: string, status: object, generation = 1): KubeObject => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name: "w", generation },
  status: { observedGeneration: 1, ...status },
});
const ROLLED_OUT = { workload: workload("Deployment", { replicas: 1, updatedReplicas: 1 }), releasedAt: NOW, now: NOW };

test("findWorstPod returns the Pod problem that explains most, and the number of other Pods", () => {
  const pods = [
    pod({ phase: "Running" }, "a"),
    pod({ phase: "Running", containerStatuses: [waiting("CrashLoopBackOff")] }, "c"),
    pod({ phase: "Running", containerStatuses: [waiting("CrashLoopBackOff")] }, "b"),
    pod({ phase: "Running", conditions: ready }, "d"),
  ];
  expect(findWorstPod(pods, ROLLED_OUT)).toMatchObject({
    pod: "b",
    text: 'Pod b: container "manager" is in CrashLoopBackOff, and 2 more Pods are not ready',
  });
  expect(findWorstPod(pods.slice(3), ROLLED_OUT)).toBeUndefined();
  const leaving = pod({ phase: "Running" });
  leaving.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  expect(findWorstPod([leaving], ROLLED_OUT)).toBeUndefined();
});

const createdAt = (second: number, status: object, name = "p"): KubeObject => {
  const { metadata, ...rest } = pod(status, name);
  return { ...rest, metadata: { ...metadata, creationTimestamp: new Date(NOW + second * 1000).toISOString() } };
};
const crash = { phase: "Running", containerStatuses: [waiting("CrashLoopBackOff")] };
const rolling = { replicas: 2, updatedReplicas: 1 };

test.for<[when: string, workload: KubeObject, pods: KubeObject[], want: [pod: string, isFailing: boolean] | undefined]>([
  ["a Pod of the release fails", workload("Deployment", rolling), [createdAt(1, crash)], ["p", true]],
  ["a Pod was created in the second of the release", workload("Deployment", rolling), [createdAt(0, crash)], ["p", true]],
  ["an earlier Pod fails during a rollout", workload("Deployment", rolling), [createdAt(-1, crash)], ["p", false]],
  [
    "an earlier Pod of a StatefulSet fails during a rollout",
    workload("StatefulSet", { replicas: 1 }),
    [createdAt(-1, crash)],
    ["p", false],
  ],
  [
    "an earlier Pod of a DaemonSet fails during a rollout",
    workload("DaemonSet", { currentNumberScheduled: 2, updatedNumberScheduled: 1 }),
    [createdAt(-1, crash)],
    ["p", false],
  ],
  [
    "an earlier Pod fails before the rollout has started",
    workload("Deployment", { replicas: 1, updatedReplicas: 1 }, 2),
    [createdAt(-1, crash)],
    ["p", false],
  ],
  ["an earlier Pod fails after the rollout", ROLLED_OUT.workload, [createdAt(-1, crash)], ["p", true]],
  [
    "an earlier Pod fails and a Pod of the release is slow",
    workload("Deployment", rolling),
    [createdAt(-1, crash, "a"), createdAt(1, { phase: "Pending" }, "b")],
    ["b", false],
  ],
  ["a Deployment has an evicted Pod", ROLLED_OUT.workload, [createdAt(1, { phase: "Failed", reason: "Evicted" })], undefined],
  ["a Job has a failed Pod", { ...workload("Job", {}), apiVersion: "batch/v1" }, [createdAt(-1, { phase: "Failed" })], ["p", true]],
])("findWorstPod counts Pods of the release as failing when %s", ([, of, pods, want]) => {
  const worst = findWorstPod(pods, { workload: of, releasedAt: NOW + 400, now: NOW });
  expect(worst && [worst.pod, worst.isFailing]).toEqual(want);
});

test("findWorstPod describes a Pod that a rollout replaces", () => {
  const options = { workload: workload("Deployment", rolling), releasedAt: NOW, now: NOW };
  expect(findWorstPod([createdAt(-1, crash)], options)?.text).toBe(
    'Pod p, which the rollout replaces: container "manager" is in CrashLoopBackOff',
  );
});

test("withPodProblem marks a workload as failed when its Pods fail, but not when they are slow", () => {
  const waits = createHealth("progressing", "LessAvailable", "0 of 1 replicas are available");
  const problem = { pod: "a", text: "Pod a: crash", isFailing: true, rank: 3 };
  expect(withPodProblem(waits, problem)).toEqual({ ...waits, state: "failed", message: "0 of 1 replicas are available; Pod a: crash" });
  expect(withPodProblem(waits, { ...problem, isFailing: false }).state).toBe("progressing");
  expect(withPodProblem(waits, undefined)).toBe(waits);
});

test.for<[spec: object, want: string | undefined]>([
  [{ selector: { matchLabels: { app: "a", tier: "b" } } }, "app=a,tier=b"],
  [{ selector: { matchExpressions: [{ key: "app", operator: "In", values: ["a", "b"] }] } }, "app in (a,b)"],
  [{ selector: { matchExpressions: [{ key: "app", operator: "NotIn", values: ["a"] }] } }, "app notin (a)"],
  [
    {
      selector: {
        matchExpressions: [
          { key: "app", operator: "Exists" },
          { key: "x", operator: "DoesNotExist" },
        ],
      },
    },
    "app,!x",
  ],
  [{ selector: {} }, undefined],
  [{}, undefined],
])("getPodSelector returns the selector of a workload: %j", ([spec, want]) => {
  expect(getPodSelector({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec })).toBe(want);
  expect(getPodSelector({ apiVersion: "example.com/v1", kind: "Other", metadata: { name: "a" }, spec })).toBeUndefined();
});

const at = (name: string, state: HealthState): ObjectHealth => ({
  ref: { apiVersion: "apps/v1", kind: "Deployment", namespace: "ns", name },
  health: state === "healthy" ? HEALTHY : createHealth(state, "Because", `it is ${state}`),
});

test.for<[states: HealthState[], rolledOut: boolean, want: [string, string, string]]>([
  [[], false, ["True", "Healthy", "all objects exist; there are no health checks for their kinds"]],
  [["healthy"], false, ["True", "Healthy", "the only object with a health check is healthy"]],
  [["healthy", "healthy"], true, ["True", "Healthy", "all 2 objects with a health check are healthy"]],
  [["healthy", "progressing"], false, ["False", "RollingOut", "Deployment ns/b: it is progressing"]],
  [["healthy", "progressing"], true, ["False", "Unhealthy", "Deployment ns/b: it is progressing"]],
  [["progressing", "failed"], false, ["False", "Unhealthy", "Deployment ns/b: it is failed; 1 more object is not healthy"]],
  [["unknown", "healthy"], true, ["Unknown", "Unknown", "Deployment ns/a: it is unknown"]],
  [
    ["unknown", "progressing", "unknown"],
    false,
    ["False", "RollingOut", "Deployment ns/b: it is progressing; 2 more objects are not healthy"],
  ],
])("computeAvailability summarizes objects with health %j of a release that was rolled out before: %s", ([states, rolledOut, want]) => {
  const { status, reason, message } = computeAvailability(
    states.map((state, i) => at("abc"[i] ?? "", state)),
    { rolledOut },
  );
  expect([status, reason, message]).toEqual(want);
});
