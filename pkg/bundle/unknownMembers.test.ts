import { expect, test } from "vitest";
import { findUnknownFields } from "./unknownMembers.ts";

const CSV = "operators/v1alpha1.ClusterServiceVersion";
const CRD = "apiextensions/v1.CustomResourceDefinition";

// Source: findings in real bundles, such as miniKubeVersion in 222 bundles.
test.for<[what: string, type: string, value: unknown, unknown: [path: string, meant: string | undefined][]]>([
  ["a manifest without unknown fields", CSV, { spec: { displayName: "A", labels: { any: "thing" } } }, []],
  ["a misspelt field", CSV, { spec: { miniKubeVersion: "1.27.0" } }, [["spec.miniKubeVersion", "minKubeVersion"]]],
  ["a field in another letter case", CSV, { spec: { MinKubeVersion: "1.27.0" } }, [["spec.MinKubeVersion", "minKubeVersion"]]],
  ["fields of list items", CSV, { spec: { icon: [{ data: 1 }, null, 5] } }, [["spec.icon.0.data", undefined]]],
  ["values of a wrong type", CSV, { spec: { install: [], icon: { a: 1 } } }, []],
  [
    "schemas in schemas",
    CRD,
    {
      spec: {
        versions: [
          {
            schema: { openAPIV3Schema: { properties: { a: { items: { typ: "x" }, additionalProperties: { descripton: "" } }, typ: {} } } },
          },
        ],
      },
    },
    [
      ["spec.versions.0.schema.openAPIV3Schema.properties.a.items.typ", "type"],
      ["spec.versions.0.schema.openAPIV3Schema.properties.a.additionalProperties.descripton", "description"],
    ],
  ],
])("findUnknownFields checks %s", ([, type, value, unknown]) => {
  expect(findUnknownFields(type, value).map(({ path, meant }) => [path.join("."), meant])).toEqual(unknown);
});
