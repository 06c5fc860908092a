import { expect, test } from "vitest";
import { ANNOTATION_API_KINDS } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { buildApiKindsAnnotation, listAggregatedApis } from "./apiServices.ts";

const apiService = (annotations: Record<string, string>, spec: object = { group: "g.io", version: "v1" }): KubeObject => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "v1.g.io", annotations },
  spec,
});

test("listAggregatedApis reads the annotation that buildApiKindsAnnotation writes", () => {
  const kinds = [
    { kind: "A", name: "as" },
    { kind: "B", name: "bs" },
  ];
  expect(listAggregatedApis([apiService(buildApiKindsAnnotation(kinds))])).toEqual(
    kinds.map((api) => ({ group: "g.io", version: "v1", ...api })),
  );
});

test.for<[why: string, object: KubeObject]>([
  ["no annotation", apiService({})],
  ["invalid JSON", apiService({ [ANNOTATION_API_KINDS]: "[" })],
  ["an annotation that is not a list", apiService({ [ANNOTATION_API_KINDS]: "{}" })],
  ["invalid entries in the annotation", apiService({ [ANNOTATION_API_KINDS]: '[null,{"kind":""},{"kind":"A","name":1}]' })],
  ["no group", apiService(buildApiKindsAnnotation([{ kind: "A", name: "as" }]), { version: "v1" })],
  [
    "kind APIService in another API group",
    { ...apiService(buildApiKindsAnnotation([{ kind: "A", name: "as" }])), apiVersion: "example.com/v1" },
  ],
])("listAggregatedApis returns nothing for an object with %s", ([, object]) => {
  expect(listAggregatedApis([object])).toEqual([]);
});
