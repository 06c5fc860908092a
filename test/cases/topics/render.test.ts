import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { bundleFiles } from "../../support/bundleFixture.ts";
import { compareRender, type RenderCase, type Rendered, rendered } from "./render.ts";

const object = (kind: string, name: string, more = {}): KubeObject => ({ apiVersion: "v1", kind, metadata: { name }, ...more });
const crd = object("CustomResourceDefinition", "as.b", { spec: { z: 1, a: 2 } });
const digest = createHash("sha256")
  .update('{"apiVersion":"v1","kind":"CustomResourceDefinition","metadata":{"name":"as.b"},"spec":{"a":2,"z":1}}')
  .digest("hex");
const fault = (error: string, terminal = false): Rendered => ({ error, terminal });
const objects = (...given: KubeObject[]): Rendered => ({ objects: given });

test.for<[name: string, expected: Partial<RenderCase>, actual: Rendered, lines: string[]]>([
  ["equal in another order", { objects: [object("A", "a"), object("B", "b")] }, objects(object("B", "b"), object("A", "a")), []],
  ["a missing object", { objects: [object("A", "a"), object("B", "b")] }, objects(object("A", "a")), ["missing: v1 B b"]],
  ["an unexpected object", { objects: [object("A", "a")] }, objects(object("A", "a"), object("A", "a")), ["unexpected: v1 A a"]],
  [
    "a different object",
    { objects: [object("A", "a", { x: 1 })] },
    objects(object("A", "a", { x: 2 })),
    [
      "differs: v1 A a",
      '  want …{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"x":1}',
      '  got  …{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"x":2}',
    ],
  ],
  ["an object by digest", { objects: [{ ...object("CustomResourceDefinition", "as.b"), sha256: digest }] }, objects(crd), []],
  ["CRDs that are not looked at", { objectsExceptCRDs: [object("A", "a")] }, objects(crd, object("A", "a")), []],
  ["the start of an error", { error: "no such thing" }, fault("no such thing; try another"), []],
  ["a terminal error", { error: "terminal error: bad" }, fault("bad", true), []],
  ["an error that is not terminal", { error: "terminal error: bad" }, fault("bad"), ["want error: terminal error: bad", "got error:  bad"]],
  ["an unexpected terminal error", { error: "bad" }, fault("bad", true), ["want error: bad", "got error:  terminal error: bad"]],
  ["another error", { error: "bad" }, fault("worse"), ["want error: bad", "got error:  worse"]],
  ["an error instead of objects", { objects: [] }, fault("bad"), ["want 0 objects", "got error: bad"]],
  ["objects instead of an error", { error: "bad" }, objects(), ["want error: bad", "got 0 objects"]],
])("%s", ([, expected, actual, lines]) => {
  expect(compareRender({ bundle: "b", namespace: "ns", ...expected }, actual)).toEqual(lines);
});

test("compareRender reports an object whose digest differs from the expected digest", () => {
  const expectedObject = { ...object("CustomResourceDefinition", "as.b"), sha256: digest.replace(/^./, "x") };
  expect(compareRender({ bundle: "b", namespace: "ns", objects: [expectedObject] }, objects(crd))[0]).toBe(
    "differs: v1 CustomResourceDefinition as.b",
  );
});

test("rendered uses the configuration and the certificate provider of the case", () => {
  const files = bundleFiles({});
  expect(rendered({ bundle: "b", namespace: "ns", config: null, certProvider: null }, files)).toEqual({ objects: [] });
  expect(rendered({ bundle: "b", namespace: "ns", config: { nope: 1 } }, files)).toEqual(
    fault('invalid ClusterExtension configuration: invalid configuration: unknown field "nope"', true),
  );
  expect(() => rendered({ bundle: "b", namespace: "ns", certProvider: "own" }, files)).toThrow("unknown certificate provider own");
});
