import { expect, test } from "vitest";
import type { ObjectRef } from "../../api/k8s.ts";
import { getObjectKey } from "../../release/identity.ts";
import { getStreamKey, type PlanContext, planStreams } from "./metadataStream.ts";

const map = (name: string, namespace = "ns"): ObjectRef => ({ apiVersion: "v1", kind: "ConfigMap", name, namespace });
const secret = (name: string): ObjectRef => ({ apiVersion: "v1", kind: "Secret", name, namespace: "ns" });
const role = (name: string): ObjectRef => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name });
const BY_NAME = "olm.operatorframework.io/owner-name=x";
const BY_KIND = "olm.operatorframework.io/owner-kind=ClusterExtension";

/**
 * Formats streams, such as "ConfigMap ns a" for a stream by name; one by label has the selector instead of the name.
 */
function streams(objects: readonly ObjectRef[], context: Partial<PlanContext> = {}): string[] {
  const planned = planStreams(objects, { extension: "x", isShared: false, isController: false, isRefused: () => false, ...context });
  expect([...planned.keys()].sort()).toEqual(objects.map(getObjectKey).sort());
  const specs = new Map([...planned.values()].map((spec) => [getStreamKey(spec), spec]));
  return [...specs.values()].map(({ kind, namespace, name, labelSelector }) => `${kind} ${namespace ?? "-"} ${name ?? labelSelector}`);
}

// Source: O-14.
test.for<[name: string, objects: ObjectRef[], context: Partial<PlanContext>, want: string[]]>([
  ["a single object of a kind by name", [map("a"), role("r")], {}, ["ConfigMap ns a", "ClusterRole - r"]],
  [
    "several objects of a kind by label",
    [map("a"), map("b"), role("r"), role("s")],
    {},
    [`ConfigMap ns ${BY_NAME}`, `ClusterRole - ${BY_NAME}`],
  ],
  ["objects in several namespaces separately", [map("a", "n1"), map("b", "n2")], {}, ["ConfigMap n1 a", "ConfigMap n2 b"]],
  ["Secrets by name", [secret("a"), secret("b")], {}, ["Secret ns a", "Secret ns b"]],
  [
    "objects by name when a stream by label was denied",
    [map("a"), map("b")],
    { isRefused: () => true },
    ["ConfigMap ns a", "ConfigMap ns b"],
  ],
  ["all extensions of a ServiceAccount by one label", [map("a"), map("b")], { isShared: true }, [`ConfigMap ns ${BY_KIND}`]],
  [
    "a kind in all namespaces for the controller's identity, except Secrets",
    [map("a", "n1"), map("b", "n2"), role("r"), secret("s")],
    { isController: true },
    [`ConfigMap - ${BY_KIND}`, `ClusterRole - ${BY_KIND}`, "Secret ns s"],
  ],
])("planStreams watches %s", ([, objects, context, want]) => {
  expect(streams(objects, context)).toEqual(want);
});
