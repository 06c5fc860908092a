import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { describeObject, getObjectKey } from "./identity.ts";
import { type CrdPolicy, planRelease } from "./plan.ts";

const object = (kind: string, name: string, apiVersion = "v1"): KubeObject => ({ apiVersion, kind, metadata: { name } });
const crd = (name: string): KubeObject => object("CustomResourceDefinition", name, "apiextensions.k8s.io/v1");
const names = (objects: readonly KubeObject[]): string[] => objects.map(describeObject);

test.for<[CrdPolicy | undefined, prune: string[], ifUnused: string[], kept: string[]]>([
  ["Delete", ["Service old", "CustomResourceDefinition a", "ConfigMap old"], [], []],
  ["DeleteIfUnused", ["Service old", "ConfigMap old"], ["CustomResourceDefinition a"], []],
  [undefined, ["Service old", "ConfigMap old"], ["CustomResourceDefinition a"], []],
  ["Retain", ["Service old", "ConfigMap old"], [], ["CustomResourceDefinition a"]],
])("planRelease returns objects to prune in reverse order when the CRD policy is %s", ([crdPolicy, prune, ifUnused, kept]) => {
  const recorded = [crd("a"), crd("b"), object("ConfigMap", "old"), object("Service", "old"), object("Service", "new")];
  const desired = [object("Service", "new"), crd("b"), object("Secret", "s")];
  const plan = planRelease({ recorded, desired, ...(crdPolicy === undefined ? {} : { crdPolicy }) });
  expect(names(plan.apply)).toEqual(["Secret s", "CustomResourceDefinition b", "Service new"]);
  expect(names(plan.prune)).toEqual(prune);
  expect(names(plan.crds.ifUnused)).toEqual(ifUnused);
  expect(names(plan.crds.kept)).toEqual(kept);
});

test("planRelease does not prune an object when only the version of its API group changes", () => {
  const plan = planRelease({
    recorded: [object("PodDisruptionBudget", "a", "policy/v1beta1")],
    desired: [object("PodDisruptionBudget", "a", "policy/v1")],
  });
  expect(plan.prune).toEqual([]);
});

test("planRelease distinguishes kinds of the same name in different groups", () => {
  const plan = planRelease({ recorded: [object("CustomResourceDefinition", "a", "example.com/v1")], desired: [], crdPolicy: "Retain" });
  expect(names(plan.prune)).toEqual(["CustomResourceDefinition a"]);
});

test("planRelease puts every recorded or desired object into exactly one list", () => {
  const some = fc.uniqueArray(
    fc.tuple(fc.constantFrom("Secret", "Service", "Role", "CustomResourceDefinition"), fc.constantFrom("a", "b", "c", "d")),
    {
      selector: (entry) => entry.join(),
    },
  );
  const policy = fc.constantFrom<CrdPolicy>("Delete", "DeleteIfUnused", "Retain");
  fc.assert(
    fc.property(some, some, policy, (before, after, crdPolicy) => {
      const build = (entries: typeof before): KubeObject[] =>
        entries.map(([kind, name]) => (kind === "CustomResourceDefinition" ? crd(name) : object(kind, name)));
      const [recorded, desired] = [build(before), build(after)];
      const { apply, prune, crds } = planRelease({ recorded, desired, crdPolicy });
      const planned = [...apply, ...prune, ...crds.ifUnused, ...crds.kept].map(getObjectKey);
      expect(planned.toSorted()).toEqual([...new Set([...recorded, ...desired].map(getObjectKey))].sort());
      expect(apply.map(getObjectKey).toSorted()).toEqual(desired.map(getObjectKey).toSorted());
    }),
  );
});
