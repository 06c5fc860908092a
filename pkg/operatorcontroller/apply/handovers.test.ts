import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { Handovers } from "./handovers.ts";

const object = (name: string, namespace?: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});
const extension = (name: string, uid = name): ClusterExtension => {
  const { metadata, ...rest } = createExtension(name, { packageName: "p" });
  return { ...rest, metadata: { ...metadata, uid } };
};

/** One extension: its deployed objects, its target objects, and its progress. */
type Side = { has: readonly string[]; wants: readonly string[]; progress?: "blocked" | "ready" | "settled" | "unknown" };

/** Records the extensions. Each extension needs the objects that it wants and that another extension has. */
function given(sides: Readonly<Record<string, Side>>): Handovers {
  const handovers = new Handovers(() => Object.keys(sides).map((name) => extension(name)));
  for (const [name, { has, wants, progress = "ready" }] of Object.entries(sides)) {
    if (progress === "settled")
      handovers.settle(
        extension(name),
        has.map((one) => object(one)),
      );
    if (progress !== "blocked" && progress !== "ready") continue;
    handovers.setTarget(
      extension(name),
      wants.map((one) => object(one)),
      has.map((one) => object(one)),
    );
    const needs = wants.flatMap((wanted) =>
      Object.entries(sides).flatMap(([owner, side]) =>
        owner !== name && side.has.includes(wanted) ? [{ object: object(wanted), owner }] : [],
      ),
    );
    if (progress === "ready") handovers.ready(name, needs);
  }
  return handovers;
}

const findAgreeing = (sides: Readonly<Record<string, Side>>): string[] => {
  const handovers = given(sides);
  return Object.keys(sides).filter((name) => handovers.isAgreed(name));
};

test.for<[name: string, sides: Readonly<Record<string, Side>>, want: readonly string[]]>([
  ["two swap", { a: { has: ["x"], wants: ["y"] }, b: { has: ["y"], wants: ["x"] } }, ["a", "b"]],
  [
    "three exchange objects in a cycle",
    { a: { has: ["x"], wants: ["y"] }, b: { has: ["y"], wants: ["z"] }, c: { has: ["z"], wants: ["x"] } },
    ["a", "b", "c"],
  ],
  [
    "one of a cycle is blocked",
    { a: { has: ["x"], wants: ["y"] }, b: { has: ["y"], wants: ["z"], progress: "blocked" }, c: { has: ["z"], wants: ["x"] } },
    [],
  ],
  ["the owner keeps the object", { a: { has: [], wants: ["y"] }, b: { has: ["y"], wants: ["y", "x"] } }, ["b"]],
  ["the owner has deployed it", { a: { has: [], wants: ["y"] }, b: { has: ["y"], wants: [], progress: "settled" } }, []],
  ["the owner is unknown", { a: { has: [], wants: ["y"] }, b: { has: ["y"], wants: [], progress: "unknown" } }, []],
  ["the owner only gives up", { a: { has: [], wants: ["y"] }, b: { has: ["y"], wants: [] } }, ["a", "b"]],
  [
    "a chain ends at a blocked extension",
    { a: { has: ["x"], wants: ["y"] }, b: { has: ["y"], wants: ["z"] }, c: { has: ["z"], wants: [], progress: "blocked" } },
    [],
  ],
])("Handovers.isAgreed is true for the expected extensions when %s", ([, sides, want]) => {
  expect(findAgreeing(sides)).toEqual(want);
});

test("Handovers agrees on a group of extensions only if their objects are exchanged within the group and no object is wanted twice", () => {
  const names = ["a", "b", "c", "d"] as const;
  const objects = ["w", "x", "y", "z"] as const;
  const progress = fc.constantFrom("ready" as const, "ready" as const, "blocked" as const);
  const anySides = fc.tuple(
    fc.tuple(...objects.map(() => fc.constantFrom(...names))),
    fc.tuple(...names.map(() => fc.record({ wants: fc.subarray([...objects]), progress }))),
  );
  fc.assert(
    fc.property(anySides, ([ownerOf, aims]) => {
      const sides = Object.fromEntries(
        names.map((name, i): [string, Side] => [name, { has: objects.filter((_, at) => ownerOf[at] === name), wants: [], ...aims[i] }]),
      );
      const able = findAgreeing(sides);
      for (const name of able)
        for (const wanted of sides[name]?.wants ?? []) {
          const owner = ownerOf[objects.indexOf(wanted as (typeof objects)[number])] ?? "";
          expect(owner === name || (able.includes(owner) && !sides[owner]?.wants.includes(wanted))).toBe(true);
        }
    }),
  );
});

test("Handovers revokes an agreement when a reconcile of one of the extensions does not determine its target", () => {
  const handovers = given({ a: { has: ["x"], wants: ["y"] }, b: { has: ["y"], wants: ["x"] } });
  handovers.endReconcile(extension("b"), true, true);
  expect(handovers.isAgreed("a")).toBe(true);
  handovers.endReconcile(extension("b"), false, true);
  expect(handovers.isAgreed("a")).toBe(false);
});

test("Handovers keeps an agreement when a reconcile has the same target, and revokes the agreement when the target changes", () => {
  const handovers = given({ a: { has: ["x"], wants: ["y"] }, b: { has: ["y"], wants: ["x"] } });
  handovers.setTarget(extension("b"), [object("x")], [object("y")]);
  expect(handovers.isAgreed("a")).toBe(true);
  handovers.setTarget(extension("b"), [object("x"), object("z")], [object("y")]);
  expect(handovers.isAgreed("a")).toBe(false);
  handovers.setTarget(extension("a", "another-uid"), [object("y")], []);
  expect(handovers.isAgreed("a")).toBe(false);
});

test("Handovers.assume keeps a known target when a reconcile cannot determine the target", () => {
  const handovers = given({ a: { has: ["x"], wants: ["y"], progress: "blocked" }, b: { has: [], wants: [], progress: "unknown" } });
  handovers.assume(extension("a"), [object("x")]);
  handovers.assume(extension("b"), [object("z")]);
  expect(["x", "y", "z"].map((name) => handovers.isWanted("c", object(name)))).toEqual([true, true, true]);
  expect([handovers.excludes("a", object("x")), handovers.excludes("b", object("z"))]).toEqual([true, false]);
});

test("Handovers.isWanted is true for an object when the target or deployed release of another extension contains it", () => {
  const handovers = given({
    a: { has: ["x"], wants: [], progress: "settled" },
    b: { has: ["y"], wants: ["z"], progress: "blocked" },
  });
  expect(["w", "x", "y", "z"].map((name) => handovers.isWanted("a", object(name)))).toEqual([false, false, true, true]);
  handovers.forget("b");
  handovers.endReconcile(extension("b"), false, true);
  expect(handovers.isWanted("a", object("z"))).toBe(false);
});

test("Handovers.isWanted is true for all cluster-scoped objects, but not for namespaced objects, until the target of every extension is known", () => {
  const existing = [extension("a"), extension("b")];
  const handovers = new Handovers(() => existing);
  handovers.settle(extension("a"), []);
  expect([handovers.isWanted("a", object("x")), handovers.isWanted("a", object("x", "ns"))]).toEqual([true, false]);
  handovers.endReconcile(extension("b"), false, false);
  expect(handovers.isWanted("a", object("x"))).toBe(true);
  handovers.endReconcile(extension("b"), false, true);
  expect(handovers.isWanted("a", object("x"))).toBe(false);
  existing[1] = extension("b", "made-again");
  expect(handovers.isWanted("a", object("x"))).toBe(true);
});
