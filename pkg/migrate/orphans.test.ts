import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { listOrphans } from "./orphans.ts";
import { isOrphan, parseSubscription } from "./subscription.ts";

const PROPERTIES = JSON.stringify({ properties: [{ type: "olm.package", value: { packageName: "p", version: "1.0.0" } }] });

function csv(name: string, metadata: JsonObject = {}, spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name, namespace: "n", annotations: { "operatorframework.io/properties": PROPERTIES }, ...metadata },
    spec,
  };
}

function subscription(name: string, status: JsonObject): KubeObject {
  const spec = { name: "p" };
  return { apiVersion: "operators.coreos.com/v1alpha1", kind: "Subscription", metadata: { name, namespace: "n" }, spec, status };
}

test.for<[string, KubeObject[], KubeObject[], string[]]>([
  ["nothing for a ClusterServiceVersion that a Subscription installed", [csv("p.v1")], [subscription("p", { installedCSV: "p.v1" })], []],
  ["nothing for an upgrade that a Subscription is installing", [csv("p.v1")], [subscription("p", { currentCSV: "p.v1" })], []],
  ["only the newer version during an upgrade", [csv("p.v1"), csv("p.v2", {}, { replaces: "p.v1" })], [], ["p"]],
  ["nothing for a ClusterServiceVersion that is being deleted", [csv("p.v1", { deletionTimestamp: "2026-01-01T00:00:00Z" })], [], []],
  ["nothing for the server of OLM v0", [csv("packageserver")], [], []],
  ["a Subscription named like the package", [csv("p.v1")], [], ["p"]],
  ["a Subscription named like the ClusterServiceVersion if the name is taken", [csv("p.v1")], [subscription("p", {})], ["p.v1"]],
  ["a Subscription without a package if no property contains it", [csv("p.v1", { annotations: {} })], [], ["p.v1: no package"]],
])("listOrphans returns %s", ([, csvs, subscriptions, want]) => {
  const found = listOrphans({ csvs }, subscriptions.map(parseSubscription));
  expect(found.every(isOrphan)).toBe(true);
  const texts = found.map((object) => {
    try {
      return parseSubscription(object).name;
    } catch {
      return `${object.metadata.name}: no package`;
    }
  });
  expect(texts).toEqual(want);
});
