import { describe, expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { buildPodStatus, POD_OUTCOME_ANNOTATION, type PodOutcome, readPodOutcome } from "./podSimulation.ts";

const NOW = "2026-11-21T10:00:00Z";

function pod(spec: object = {}, status: object = {}): KubeObject {
  const containers = [{ name: "main", image: "example.com/a:1" }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "a", namespace: "ns" }, spec: { containers, ...spec }, status };
}

function annotated(kind: string, outcome: string): KubeObject {
  return { apiVersion: "v1", kind, metadata: { name: "a", annotations: { [POD_OUTCOME_ANNOTATION]: outcome } } };
}

interface Status {
  phase: string;
  conditions: { type: string; status: string }[];
  containerStatuses: { ready: boolean; state: object }[];
}

describe("buildPodStatus", () => {
  test.for<[PodOutcome, string, string, string, string]>([
    ["Ready", "Always", "Running", "True", "running"],
    ["NotReady", "Always", "Running", "False", "running"],
    ["CrashLoop", "Always", "Running", "False", "waiting"],
    ["Ready", "Never", "Succeeded", "False", "terminated"],
    ["NotReady", "Never", "Running", "False", "running"],
  ])(
    "buildPodStatus for outcome %s and restartPolicy %s sets phase %s, Ready=%s and container state %s",
    ([outcome, restartPolicy, phase, ready, state]) => {
      const status = buildPodStatus(pod({ restartPolicy }), outcome, NOW) as Status;
      expect(status.phase).toBe(phase);
      expect(status.conditions.find(({ type }) => type === "Ready")?.status).toBe(ready);
      expect(status.containerStatuses.map((container) => Object.keys(container.state))).toEqual([[state]]);
      expect(status.containerStatuses[0]?.ready).toBe(ready === "True");
    },
  );

  test.for<PodOutcome>(["Ready", "NotReady", "CrashLoop"])(
    "buildPodStatus returns undefined when the Pod already has the status for outcome %s",
    (outcome) => {
      expect(buildPodStatus(pod({}, buildPodStatus(pod(), outcome, NOW)), outcome, NOW)).toBeUndefined();
    },
  );

  test("buildPodStatus can change the status of every outcome to the status of every other outcome", () => {
    const outcomes: PodOutcome[] = ["Ready", "NotReady", "CrashLoop"];
    for (const from of outcomes) {
      for (const to of outcomes.filter((outcome) => outcome !== from)) {
        expect(buildPodStatus(pod({}, buildPodStatus(pod(), from, NOW)), to, NOW), `${from} to ${to}`).toBeDefined();
      }
    }
  });

  test("buildPodStatus keeps the status of a Pod that stays Pending or has ended", () => {
    expect(buildPodStatus(pod(), "Pending", NOW)).toBeUndefined();
    expect(buildPodStatus(pod({}, { phase: "Failed" }), "Ready", NOW)).toBeUndefined();
    expect(buildPodStatus(pod({}, { phase: "Succeeded" }), "NotReady", NOW)).toBeUndefined();
  });
});

describe("readPodOutcome", () => {
  test("readPodOutcome prefers the Pod's annotation over the Namespace's and ignores an unknown value", () => {
    expect(readPodOutcome(pod(), undefined)).toBeUndefined();
    expect(readPodOutcome(pod(), annotated("Namespace", "NotReady"))).toBe("NotReady");
    expect(readPodOutcome(annotated("Pod", "CrashLoop"), annotated("Namespace", "NotReady"))).toBe("CrashLoop");
    expect(readPodOutcome(annotated("Pod", "ready"), annotated("Namespace", "Pending"))).toBe("Pending");
  });
});
