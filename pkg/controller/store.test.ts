import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { Backoff } from "../async/backoff.ts";
import { getStoreKey, Store } from "./informer.ts";

const pod = (name: string, resourceVersion: string, more: { uid?: string; node?: string } = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "ns", uid: more.uid ?? name, resourceVersion },
  spec: { nodeName: more.node ?? "n1" },
});
const nodeOf = (object: KubeObject): string[] => [(object["spec"] as { nodeName: string }).nodeName];
const names = (objects: readonly KubeObject[]): string[] => objects.map(({ metadata }) => metadata.name).sort();
const describe = (events: readonly { type: string; object: KubeObject }[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name}`);

test("Store returns an event for each change, and no event when nothing changed", () => {
  const store = new Store();
  expect(describe(store.put(pod("a", "1")))).toEqual(["add a"]);
  expect(store.put(pod("a", "1"))).toEqual([]);
  expect(store.put(pod("a", "2"))).toMatchObject([{ type: "update", old: { metadata: { resourceVersion: "1" } } }]);
  expect(store.delete("ns/a")).toMatchObject({ type: "delete", object: { metadata: { resourceVersion: "2" } } });
  expect(store.delete("ns/a")).toBeUndefined();
});

test("Store.put returns a delete and an add when an object was recreated", () => {
  const store = new Store();
  store.put(pod("a", "1", { uid: "first" }));
  expect(describe(store.put(pod("a", "2", { uid: "second" })))).toEqual(["delete a", "add a"]);
});

test("Store.replace returns the differences", () => {
  const store = new Store();
  store.replace([pod("a", "1"), pod("b", "1"), pod("c", "1")]);
  expect(describe(store.replace([pod("b", "1"), pod("c", "2"), pod("d", "1")]))).toEqual(["delete a", "update c", "add d"]);
  expect(names(store.list())).toEqual(["b", "c", "d"]);
});

test("Store indexes existing objects and updates indexes", () => {
  const store = new Store();
  store.put(pod("a", "1"));
  store.addIndex("node", nodeOf);
  store.put(pod("b", "1"));
  expect(names(store.byIndex("node", "n1"))).toEqual(["a", "b"]);
  store.put(pod("a", "2", { node: "n2" }));
  store.delete("ns/b");
  expect([names(store.byIndex("node", "n1")), names(store.byIndex("node", "n2"))]).toEqual([[], ["a"]]);
  expect(() => store.byIndex("zone", "x")).toThrow('index "zone" does not exist');
});

test("getStoreKey contains the namespace if the object has one", () => {
  expect(getStoreKey(pod("a", "1"))).toBe("ns/a");
  expect(getStoreKey({ apiVersion: "v1", kind: "Node", metadata: { name: "n" } })).toBe("n");
});

test.for<[number, number[]]>([
  [0, [50, 100, 200, 400, 500, 500]],
  [1, [100, 200, 400, 800, 1_000, 1_000]],
])("Backoff doubles delays up to the maximum (random value %s, delays %j)", ([luck, want]) => {
  const backoff = new Backoff(100, 1_000, () => luck);
  expect(want.map(() => backoff.next())).toEqual(want);
  backoff.reset();
  expect([backoff.attempts, backoff.next()]).toEqual([0, want[0]]);
});
