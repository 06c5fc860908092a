import { expect, test } from "vitest";
import { bundleFiles } from "../../test/support/bundleFixture.ts";
import { loadBundle } from "./load.ts";

function annotationOf(annotation: string | undefined, file?: string): string | undefined {
  const annotations = annotation === undefined ? {} : { "olm.properties": annotation };
  const { csv } = loadBundle(
    bundleFiles({
      "manifests/csv.yaml": JSON.stringify({ kind: "ClusterServiceVersion", metadata: { annotations } }),
      ...(file === undefined ? {} : { "metadata/properties.yaml": file }),
    }),
  );
  return csv.metadata.annotations?.["olm.properties"];
}

const MAX = "olm.maxOpenShiftVersion";

test("addProperties keeps the digits of numbers in the annotation", () => {
  const written = `[ {"value": 4.10, "type": "${MAX}"} ]`;
  expect(annotationOf(written)).toBe(written);
  expect(annotationOf(written, "properties: [{type: a, value: b}]")).toBe(`[{"type":"${MAX}","value":4.10},{"type":"a","value":"b"}]`);
});

test("addProperties converts unquoted numbers in the file to floating-point numbers", () => {
  const file = `properties: [{type: ${MAX}, value: 4.10}, {type: ${MAX}, value: 5.0}, {type: ${MAX}, value: '4.10'}]`;
  expect(annotationOf(undefined, file)).toBe(
    `[{"type":"${MAX}","value":4.1},{"type":"${MAX}","value":5},{"type":"${MAX}","value":"4.10"}]`,
  );
});

test("addProperties unwraps items of the file that are nested in a field named property", () => {
  const gvk = "{group: olm.coreos.io, version: v1alpha1, kind: myresource}";
  const file = `properties:
- property: {type: color, value: red}
- {type: shape, value: square}
- property: {type: olm.gvk, value: ${gvk}}
- {type: odd, value: 1, property: {type: color, value: blue}}
`;
  expect(JSON.parse(annotationOf(undefined, file) ?? "")).toEqual([
    { type: "color", value: "red" },
    { type: "shape", value: "square" },
    { type: "olm.gvk", value: { group: "olm.coreos.io", kind: "myresource", version: "v1alpha1" } },
    { type: "odd", value: 1 },
  ]);
});

test("addProperties keeps properties of unknown types", () => {
  const file = 'properties:\n- type: olm.kubeversion\n  value:\n    version: "1.16.0"\n';
  expect(annotationOf(undefined, file)).toBe('[{"type":"olm.kubeversion","value":{"version":"1.16.0"}}]');
});

test("addProperties formats property values of the annotation like json.RawMessage in Go", () => {
  const written = '[{"type":"<a>","value": { "b" : [1 , 1e2, "\\u0041 & \\" ]"], "a": {} }}, {"type": "none"}, null]';
  expect(annotationOf(written, "properties: []")).toBe(
    '[{"type":"\\u003ca\\u003e","value":{"b":[1,1e2,"\\u0041 \\u0026 \\" ]"],"a":{}}},{"type":"none","value":null},{"type":"","value":null}]',
  );
});

test("addProperties uses the last of several keys that differ only in letter case", () => {
  const written = '[{"Type":"a","TYPE":"b","type":null,"value":1,"VALUE":2.0}]';
  expect(annotationOf(written, "properties: []")).toBe('[{"type":"b","value":2.0}]');
});

test.for([
  ["", "unexpected end of JSON input"],
  ["abcd", "invalid character 'a' looking for beginning of value"],
  ["{}", "json: cannot unmarshal object into Go value of type []property.Property"],
  ["[1]", "json: cannot unmarshal number into Go value of type property.Property"],
  ['[{"type":1}]', "json: cannot unmarshal number into Go struct field Property.type of type string"],
] as const)("addProperties rejects annotation %j with %s", ([annotation, error]) => {
  expect(() => annotationOf(annotation)).toThrow(`failed to unmarshal csv.metadata.annotations['olm.properties']: ${error}`);
});
