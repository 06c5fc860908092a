import { expect, test } from "vitest";
import type { ObjectRef } from "../../api/k8s.ts";
import { objectKey } from "../../release/identity.ts";
import { type PlanContext, planStreams, streamKey } from "./metadataStream.ts";

const map = (name: string, namespace = "ns"): ObjectRef => ({ apiVersion: "v1", kind: "ConfigMap", name, namespace });
const secret = (name: string): ObjectRef => ({ apiVersion: "v1", kind: "Secret", name, namespace: "ns" });
const role = (name: string): ObjectRef => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name });
const BY_NAME = "olm.operatorframework.io/owner-name=x";
const BY_KIND = "olm.operatorframework.io/owner-kind=ClusterExtension";

/** Such as "ConfigMap ns a" for a stream by name, with the selector in place of the name for one by label. */
function streams(objects: readonly ObjectRef[], context: Partial<PlanContext> = {}): string[] {
  const planned = planStreams(objects, { extension: "x", isShared: false, isController: false, isRefused: () => false, ...context });
  expect([...planned.keys()].sort()).toEqual(objects.map(objectKey).sort());
  const specs = new Map([...planned.values()].map((spec) => [streamKey(spec), spec]));
  return [...specs.values()].map(({ kind, namespace, name, labelSelector }) => `${kind} ${namespace ?? "-"} ${name ?? labelSelector}`);
}

// Source: O-14.
test.for<[name: string, objects: ObjectRef[], context: Partial<PlanContext>, want: string[]]>([
  ["one object of a kind is watched by its name", [map("a"), role("r")], {}, ["ConfigMap ns a", "ClusterRole - r"]],
  [
    "several share a stream by label",
    [map("a"), map("b"), role("r"), role("s")],
    {},
    [`ConfigMap ns ${BY_NAME}`, `ClusterRole - ${BY_NAME}`],
  ],
  ["namespaces do not", [map("a", "n1"), map("b", "n2")], {}, ["ConfigMap n1 a", "ConfigMap n2 b"]],
  ["Secrets never do", [secret("a"), secret("b")], {}, ["Secret ns a", "Secret ns b"]],
  ["where that was refused each has its own", [map("a"), map("b")], { isRefused: () => true }, ["ConfigMap ns a", "ConfigMap ns b"]],
  [
    "with other extensions of the same ServiceAccount the stream is theirs too",
    [map("a"), map("b")],
    { isShared: true },
    [`ConfigMap ns ${BY_KIND}`],
  ],
  [
    "the controller itself watches a kind once, Secrets aside",
    [map("a", "n1"), map("b", "n2"), role("r"), secret("s")],
    { isController: true },
    [`ConfigMap - ${BY_KIND}`, `ClusterRole - ${BY_KIND}`, "Secret ns s"],
  ],
])("%s", ([, objects, context, want]) => {
  expect(streams(objects, context)).toEqual(want);
});
