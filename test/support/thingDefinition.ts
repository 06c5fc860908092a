import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";

/** The CustomResourceDefinition of namespaced Things in a group, with this schema for its one version; by default it takes any members. */
export function thingDefinition(group: string, schema: JsonObject = { "x-kubernetes-preserve-unknown-fields": true }): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", ...schema } } }],
    },
  };
}
