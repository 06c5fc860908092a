import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { API_VERSION } from "../api/constants.ts";
import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { withoutOwner } from "./labels.ts";
import { type PrepareOptions, prepareObjects } from "./prepare.ts";

interface PrepareCase extends CaseHead {
  given: KubeObject[];
  want: { objects?: KubeObject[]; notes?: string[]; error?: string };
}

const CLUSTER_SCOPED = ["CustomResourceDefinition", "ClusterRole"];
const OPTIONS: PrepareOptions = {
  owner: { apiVersion: API_VERSION, kind: "ClusterExtension", name: "hello", uid: "1234" },
  installNamespace: "ns",
  isNamespaced: ({ kind }: GroupVersionKind) => (kind === "Zebra" ? undefined : !CLUSTER_SCOPED.includes(kind)),
};

test.for(loadCases<PrepareCase>("release-prepare"))("$name", ({ given, want }) => {
  const before = structuredClone(given);
  if (want.error !== undefined) {
    expect(() => prepareObjects(given, OPTIONS)).toThrow(want.error);
    return;
  }
  const { objects, notes } = prepareObjects(given, OPTIONS);
  expect(objects.map(withoutOwner)).toEqual(want.objects);
  expect(notes).toEqual(want.notes ?? []);
  expect(prepareObjects(objects, OPTIONS).objects).toEqual(objects);
  expect(given).toEqual(before);
});

test("prepareObjects adds the owner's labels to every object, and an ownerReference to every object except CRDs", () => {
  const crd: KubeObject = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "as.example.com" } };
  const { objects } = prepareObjects([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }, crd], OPTIONS);
  const labels = { "olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "hello" };
  expect(objects.map(({ metadata }) => metadata)).toEqual([
    {
      name: "a",
      namespace: "ns",
      labels,
      ownerReferences: [
        { apiVersion: API_VERSION, kind: "ClusterExtension", name: "hello", uid: "1234", controller: true, blockOwnerDeletion: false },
      ],
    },
    { name: "as.example.com", labels, annotations: { "olm.operatorframework.io/owner-uid": "1234" } },
  ]);
});

const name = fc.constantFrom("a", "b", "c");
const container = fc.record({
  name,
  env: fc.array(fc.record({ name, value: fc.option(name, { nil: null }) }), { maxLength: 4 }),
  ports: fc.array(fc.record({ containerPort: fc.constantFrom(80, 81), name, protocol: fc.constantFrom("TCP", "UDP") }), { maxLength: 4 }),
});
const anyObject = fc
  .record({
    kind: fc.constantFrom("Deployment", "Secret", "ServiceAccount", "CustomResourceDefinition", "Zebra"),
    name: fc.uuid(),
    labels: fc.option(fc.dictionary(name, fc.option(name, { nil: null })), { nil: null }),
    spec: fc.record({
      replicas: fc.nat(3),
      template: fc.record({ spec: fc.record({ containers: fc.array(container, { maxLength: 2 }) }) }),
    }),
    stringData: fc.dictionary(name, name),
    status: fc.jsonValue(),
  })
  .map(
    ({ kind, name, labels, ...rest }) =>
      ({ apiVersion: kind === "Deployment" ? "apps/v1" : "v1", kind, metadata: { name, labels }, ...rest }) as KubeObject,
  );

test("prepareObjects neither changes nor reports anything when the objects are already prepared", () => {
  fc.assert(
    fc.property(fc.array(anyObject, { maxLength: 5 }), (given) => {
      const { objects } = prepareObjects(given, OPTIONS);
      expect(prepareObjects(objects, OPTIONS)).toEqual({ objects, notes: [] });
    }),
  );
});
