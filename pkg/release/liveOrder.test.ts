import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { comparePods, sortLikeLive } from "./liveOrder.ts";

function deployment(pod: JsonObject, annotations: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "a", namespace: "ns" },
    spec: { replicas: 1, template: { metadata: { annotations }, spec: pod } },
  };
}
const named = (...names: string[]): JsonObject[] => names.map((name) => ({ name }));

test("sortLikeLive sorts lists of a Pod like the live object, with new entries last", () => {
  const live = deployment({ volumes: named("c", "x", "a"), containers: [{ name: "m", env: named("B", "OTHER", "A") }] });
  const wanted = deployment({ volumes: named("a", "b", "c"), containers: [{ name: "m", env: named("A", "B"), args: ["2", "1"] }] });
  expect(sortLikeLive(wanted, live)).toEqual(
    deployment({ volumes: named("c", "a", "b"), containers: [{ name: "m", env: named("B", "A"), args: ["2", "1"] }] }),
  );
});

test("sortLikeLive identifies entries as the API server does", () => {
  const mounts = (...paths: string[]): JsonObject => ({
    containers: [{ name: "m", volumeMounts: paths.map((mountPath) => ({ name: "v", mountPath })) }],
  });
  expect(sortLikeLive(deployment(mounts("/a", "/b")), deployment(mounts("/b", "/a")))).toEqual(deployment(mounts("/b", "/a")));
});

test("sortLikeLive changes nothing when there is no live object or no Pod", () => {
  const wanted = deployment({ volumes: named("a") });
  const service: KubeObject = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a" },
    spec: { ports: [{ name: "b" }, { name: "a" }] },
  };
  expect(sortLikeLive(wanted, undefined)).toBe(wanted);
  expect(sortLikeLive(service, service)).toBe(service);
});

test.for<[string, KubeObject, KubeObject, "none" | "annotations" | "other"]>([
  ["equal Pods", deployment({ volumes: named("a") }), deployment({ volumes: named("a") }), "none"],
  ["another order", deployment({ volumes: named("a", "b") }), deployment({ volumes: named("b", "a") }), "other"],
  ["an annotation", deployment({ volumes: [] }), deployment({ volumes: [] }, { a: "b" }), "annotations"],
  ["an annotation and a field", deployment({ volumes: [] }), deployment({ volumes: named("a") }, { a: "b" }), "other"],
])("comparePods reports %s", ([, before, after, want]) => {
  expect(comparePods(before, after)).toBe(want);
});
