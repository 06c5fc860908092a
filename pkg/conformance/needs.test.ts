import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { KindNotServed } from "../kube/errors.ts";
import type { ListResult } from "../kube/request.ts";
import { ClusterNeeds } from "./needs.ts";

/** Serves Nodes, without objects, and a definition with field spec.suspend. */
class FakeCluster {
  list<T extends KubeObject>({ apiVersion, kind }: { apiVersion: string; kind: string }): Promise<ListResult<T>> {
    return kind === "Node" ? Promise.resolve({ items: [], resourceVersion: "1" }) : Promise.reject(new KindNotServed(apiVersion, kind));
  }

  get<T extends KubeObject>(): Promise<T | undefined> {
    const openAPIV3Schema = { properties: { spec: { properties: { suspend: {} } } } };
    const crd = { apiVersion: "x", kind: "x", metadata: { name: "x" }, spec: { versions: [{ schema: { openAPIV3Schema } }] } };
    return Promise.resolve(crd as KubeObject as T);
  }
}

test.for<[need: string, missing: string[]]>([
  ["kind v1 Node", []],
  ["kind example.com/v1 Thing", ["the API server does not serve example.com/v1 Thing"]],
  ["field ClusterExtension.spec.suspend", []],
  ["field ClusterExtension.spec.drift", ["ClusterExtension has no field spec.drift"]],
  ["nodes", ["the cluster has no nodes"]],
  ["kind example.com/v1 Thing | field ClusterExtension.spec.suspend", []],
  ["kind example.com/v1 Thing | nodes", ["the API server does not serve example.com/v1 Thing, and the cluster has no nodes"]],
])("findMissing returns the reasons for need %s", async ([need, missing]) => {
  expect(await new ClusterNeeds(new FakeCluster(), new AbortController().signal).findMissing([need])).toEqual(missing);
});

test("findMissing rejects an unknown need", async () => {
  await expect(new ClusterNeeds(new FakeCluster(), new AbortController().signal).findMissing(["money"])).rejects.toThrow(
    'unknown need "money"',
  );
});
