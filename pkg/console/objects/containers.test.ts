import { expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { listContainers } from "./containers.ts";

function createPod(status: object): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "x" },
    spec: {
      initContainers: [
        { name: "setup", image: "setup:v1" },
        { name: "proxy", image: "proxy:v1", restartPolicy: "Always" },
      ],
      containers: [{ name: "manager", image: "manager:v1" }],
    },
    status,
  };
}

test("listContainers lists all containers when the Pod has no status", () => {
  const states = listContainers(createPod({})).map(({ name, kind, state }) => [name, kind, state.text]);
  expect(states).toEqual([
    ["manager", "container", "waiting"],
    ["setup", "init", "waiting"],
    ["proxy", "sidecar", "waiting"],
  ]);
});

test.for([
  [{ state: { running: {} }, ready: true }, "running", "good", ""],
  [{ state: { running: {} }, ready: false }, "running, not ready", "warning", ""],
  [{ state: { terminated: { exitCode: 0, reason: "Completed" } } }, "completed", "good", "exit code 0 (Completed)"],
  [{ state: { terminated: { exitCode: 1, reason: "Error", message: "boom" } } }, "failed", "bad", "exit code 1 (Error): boom"],
  [{ state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } }, "ImagePullBackOff", "bad", "no such image"],
  [{ state: { waiting: { reason: "ContainerCreating" } } }, "ContainerCreating", "warning", ""],
  [
    { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated: { exitCode: 2, reason: "Error" } } },
    "CrashLoopBackOff",
    "bad",
    "exit code 2 (Error)",
  ],
] as const)("listContainers describes the status %j", ([status, text, mood, message]) => {
  const [row] = listContainers(createPod({ containerStatuses: [{ name: "manager", restartCount: 3, ...status }] })).filter(
    ({ name }) => name === "manager",
  );
  expect(row).toMatchObject({ state: { text, mood }, message, restarts: 3, hasPrevious: "lastState" in status });
});

test("listContainers lists containers that do not work first", () => {
  const pod = createPod({
    containerStatuses: [{ name: "manager", state: { running: {} }, ready: true }],
    initContainerStatuses: [{ name: "proxy", state: { waiting: { reason: "CrashLoopBackOff" } } }],
  });
  expect(listContainers(pod).map(({ name }) => name)).toEqual(["proxy", "setup", "manager"]);
});
