import { expect, test } from "vitest";
import { ANNOTATION_API_KINDS } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { apiKindsAnnotation, listAggregatedApis } from "./apiServices.ts";

const apiService = (annotations: Record<string, string>, spec: object = { group: "g.io", version: "v1" }): KubeObject => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "v1.g.io", annotations },
  spec,
});

test("what is noted on an APIService is read back", () => {
  const kinds = [
    { kind: "A", name: "as" },
    { kind: "B", name: "bs" },
  ];
  expect(listAggregatedApis([apiService(apiKindsAnnotation(kinds))])).toEqual(
    kinds.map((api) => ({ group: "g.io", version: "v1", ...api })),
  );
});

test.for<[why: string, object: KubeObject]>([
  ["nothing noted", apiService({})],
  ["no JSON", apiService({ [ANNOTATION_API_KINDS]: "[" })],
  ["no list", apiService({ [ANNOTATION_API_KINDS]: "{}" })],
  ["entries of another form", apiService({ [ANNOTATION_API_KINDS]: '[null,{"kind":""},{"kind":"A","name":1}]' })],
  ["no group", apiService(apiKindsAnnotation([{ kind: "A", name: "as" }]), { version: "v1" })],
  ["another kind of that name", { ...apiService(apiKindsAnnotation([{ kind: "A", name: "as" }])), apiVersion: "example.com/v1" }],
])("%s tells of no API", ([, object]) => {
  expect(listAggregatedApis([object])).toEqual([]);
});
