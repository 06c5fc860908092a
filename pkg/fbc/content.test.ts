import { expect, test } from "vitest";
import { parseYamlDocuments } from "../golang/yaml.ts";
import { groupByPackage, selectPackage, toMeta } from "./content.ts";

const CATALOG = `
schema: olm.package
name: foo
DefaultChannel: stable
description: Does foo
icon: {base64data: aWNvbg==, mediatype: image/png}
---
schema: olm.channel
package: foo
name: stable
entries:
- name: foo.v2
  replaces: foo.v1
  skips: [foo.v1.1]
  SKIPRANGE: ">=1.0.0 <2.0.0"
- name: foo.v1
---
schema: olm.bundle
package: foo
name: foo.v2
image: example.com/foo@sha256:abc
properties:
- type: olm.package
  value: {packageName: foo, version: 2.0.0}
- type: custom
  value: [1]
relatedImages:
- image: example.com/other:1
- {name: main, image: "example.com/main:1"}
unknown: kept in the blob only
---
schema: olm.deprecations
package: foo
entries:
- reference: {schema: olm.package}
  message: gone
- reference: {schema: olm.bundle, name: foo.v1}
  message: old
---
schema: io.example.lifecycle
package: foo
---
schema: io.example.global
---
schema: olm.package
name: bar
`;

const metas = parseYamlDocuments(CATALOG).map(toMeta);

test("groupByPackage returns the typed objects of a package in the order of the catalog", () => {
  expect(selectPackage(metas, "foo")).toEqual({
    package: { name: "foo", defaultChannel: "stable", description: "Does foo", icon: { base64data: "aWNvbg==", mediatype: "image/png" } },
    channels: [
      {
        name: "stable",
        package: "foo",
        entries: [{ name: "foo.v2", replaces: "foo.v1", skips: ["foo.v1.1"], skipRange: ">=1.0.0 <2.0.0" }, { name: "foo.v1" }],
      },
    ],
    bundles: [
      {
        name: "foo.v2",
        package: "foo",
        image: "example.com/foo@sha256:abc",
        properties: [
          { type: "olm.package", value: { packageName: "foo", version: "2.0.0" } },
          { type: "custom", value: [1] },
        ],
        relatedImages: [{ image: "example.com/other:1" }, { name: "main", image: "example.com/main:1" }],
      },
    ],
    deprecations: [
      {
        package: "foo",
        entries: [
          { reference: { schema: "olm.package" }, message: "gone" },
          { reference: { schema: "olm.bundle", name: "foo.v1" }, message: "old" },
        ],
      },
    ],
    others: 1,
  });
});

test("groupByPackage groups objects by package, and objects without a package under the empty name", () => {
  const contents = groupByPackage(metas);
  expect([...contents.keys()]).toEqual(["foo", "", "bar"]);
  expect(contents.get("")).toEqual({ channels: [], bundles: [], deprecations: [], others: 1 });
  expect(contents.get("foo")).toEqual(selectPackage(metas, "foo"));
  expect(selectPackage(metas, "absent")).toEqual({ channels: [], bundles: [], deprecations: [], others: 0 });
});

test.for([
  ["{schema: olm.bundle, package: foo, name: b, image: [x]}", 'parse bundle: "b": image: expected a string, got a list'],
  ["{schema: olm.bundle, package: foo, name: b, properties: {type: x}}", 'parse bundle: "b": properties: expected a list, got an object'],
  [
    "{schema: olm.bundle, package: foo, name: b, properties: [{type: 1}]}",
    'parse bundle: "b": properties[0].type: expected a string, got a number',
  ],
  [
    "{schema: olm.channel, package: foo, name: c, entries: [{name: a}, x]}",
    'parse channel: "c": entries[1]: expected an object, got a string',
  ],
  [
    "{schema: olm.channel, package: foo, name: c, entries: [{name: a, skips: [1]}]}",
    'parse channel: "c": entries[0].skips[0]: expected a string, got a number',
  ],
  ["{schema: olm.package, name: foo, defaultChannel: 1}", 'parse package: "foo": defaultChannel: expected a string, got a number'],
  [
    "{schema: olm.deprecations, package: foo, entries: [{reference: x}]}",
    'parse deprecation: "foo": entries[0].reference: expected an object, got a string',
  ],
  ["{package: foo, name: b}", "object 'b' is missing root schema field"],
] as const)("groupByPackage rejects %s", ([text, message]) => {
  const broken = parseYamlDocuments(text).map(toMeta);
  expect(() => groupByPackage(broken)).toThrow(message);
  expect(() => selectPackage(broken, "foo")).toThrow(message);
  expect(selectPackage(broken, "other").bundles).toEqual([]);
});
