import { expect, test } from "vitest";
import { thingDefinition } from "../../test/support/definitions.ts";
import { releaseRecord } from "../../test/support/releases.ts";
import type { KubeObject } from "../api/k8s.ts";
import { buildApiKindsAnnotation } from "../bundle/apiServices.ts";
import type { Property } from "../fbc/types.ts";
import { formatKeptProperties, readProvidedBundle } from "./providedBundle.ts";

const LABELS = {
  "olm.operatorframework.io/package-name": "p",
  "olm.operatorframework.io/bundle-name": "p.v1.2.0",
  "olm.operatorframework.io/bundle-version": "1.2.0",
};
const gvk = (version: string, kind = "Thing"): Property => ({ type: "olm.gvk", value: { group: "g.io", version, kind } });
const REQUIRED: Property = { type: "olm.package.required", value: { packageName: "b", versionRange: ">=1" } };

const API_SERVICE: KubeObject = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "v1.g.io", annotations: buildApiKindsAnnotation([{ kind: "Flunder", name: "flunders" }]) },
  spec: { group: "g.io", version: "v1" },
};

interface Given {
  labels?: Record<string, string>;
  /** The properties in the catalog. */
  properties?: string;
  /** Annotation of the ClusterServiceVersion. */
  annotation?: string;
  objects?: KubeObject[];
}

const provided = ({ annotation, properties, ...given }: Given) =>
  readProvidedBundle(
    releaseRecord(1, "deployed", {
      labels: LABELS,
      annotations: annotation === undefined ? {} : { "olm.properties": annotation },
      ...(properties === undefined ? {} : { properties }),
      ...given,
    }),
  );

// Source: S2-02, S2-09.
test.for<[why: string, given: Given, apis: string[], types: string[]]>([
  ["from its definitions", { objects: [thingDefinition("g.io")] }, ["g.io/v1/Thing"], []],
  ["from its API services", { objects: [API_SERVICE] }, ["g.io/v1/Flunder"], []],
  [
    "not from its catalog for kinds of its definitions",
    { objects: [thingDefinition("g.io")], properties: formatKeptProperties([gvk("v7")]) },
    ["g.io/v1/Thing"],
    ["olm.gvk"],
  ],
  [
    "from its catalog for other kinds",
    { objects: [thingDefinition("h.io")], properties: formatKeptProperties([gvk("v7"), gvk("v7")]) },
    ["h.io/v1/Thing", "g.io/v7/Thing"],
    ["olm.gvk", "olm.gvk"],
  ],
  ["from its catalog, not from its ClusterServiceVersion", { properties: "[]", annotation: formatKeptProperties([REQUIRED]) }, [], []],
  [
    "from its ClusterServiceVersion when no catalog was used",
    { annotation: formatKeptProperties([REQUIRED, gvk("v1")]) },
    ["g.io/v1/Thing"],
    ["olm.package.required", "olm.gvk"],
  ],
  [
    "from its ClusterServiceVersion when the catalog's properties are invalid",
    { properties: "[", annotation: formatKeptProperties([REQUIRED]) },
    [],
    ["olm.package.required"],
  ],
  ["none when everything is invalid", { annotation: "{}", objects: [{ ...thingDefinition("g.io"), spec: 7 }] }, [], []],
  [
    "without invalid APIs",
    {
      properties: formatKeptProperties([
        { type: "olm.gvk", value: { group: "g.io" } },
        { type: "olm.gvk", value: null },
      ]),
    },
    [],
    ["olm.gvk", "olm.gvk"],
  ],
])("readProvidedBundle returns the APIs and properties of a release %s", ([, given, apis, types]) => {
  const bundle = provided(given);
  expect(bundle.apis.map(({ group, version, kind }) => `${group}/${version}/${kind}`)).toEqual(apis);
  expect(bundle.properties.map(({ type }) => type)).toEqual(types);
  expect([bundle.packageName, bundle.name, bundle.version?.version]).toEqual([
    "p",
    "p.v1.2.0",
    { major: 1, minor: 2, patch: 0, prerelease: [], build: [] },
  ]);
});

test("readProvidedBundle ignores an invalid version or bundle release", () => {
  expect(provided({ labels: {} })).toMatchObject({ packageName: "", name: "", version: undefined });
  expect(provided({ labels: { ...LABELS, "olm.operatorframework.io/bundle-release": "01" } }).version).toBeUndefined();
  expect(provided({ labels: { ...LABELS, "olm.operatorframework.io/bundle-release": "3" } }).version?.release).toEqual(["3"]);
});

test("formatKeptProperties keeps properties that dependencies need, and other properties if they are small", () => {
  const all: Property[] = [
    { type: "olm.bundle.object", value: { data: "x" } },
    { type: "olm.csv.metadata", value: {} },
    { type: "theirs", value: { small: 4.1 } },
    { type: "theirs", value: "x".repeat(2_000) },
    REQUIRED,
  ];
  expect(formatKeptProperties(all)).toBe(
    '[{"type":"theirs","value":{"small":4.1}},{"type":"olm.package.required","value":{"packageName":"b","versionRange":"\\u003e=1"}}]',
  );
});

test("formatKeptProperties keeps properties that dependencies need first when the total size exceeds the limit", () => {
  const others = Array.from({ length: 100 }, (_, i): Property => ({ type: "theirs", value: `${i} ${"x".repeat(900)}` }));
  const text = formatKeptProperties([...others, REQUIRED]);
  expect(text.length).toBeLessThanOrEqual(32_768);
  expect(text.length).toBeGreaterThan(30_000);
  expect(text).toContain("olm.package.required");
  expect(JSON.parse(text)).toHaveLength(36);
  expect(formatKeptProperties([])).toBe("[]");
});
