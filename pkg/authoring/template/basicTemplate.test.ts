import { describe, expect, test } from "vitest";
import { toMeta } from "../../fbc/content.ts";
import { readBasicTemplate, toBasicTemplate } from "./basicTemplate.ts";
import { detectTemplateType, drawTemplateGraph, parseTemplateType } from "./templateType.ts";

describe("basic templates", () => {
  test("readBasicTemplate returns the images of bundles and all other objects", () => {
    const { metas, images } = readBasicTemplate(`schema: olm.template.basic
entries:
- {schema: olm.package, name: a, defaultChannel: stable}
- {schema: olm.bundle, image: quay.io/a/bundle:v1}
- {schema: example.com.note, note: x}
- {schema: olm.bundle, image: quay.io/a/bundle:v2}
`);
    expect(metas.map(({ schema }) => schema)).toEqual(["olm.package", "example.com.note"]);
    expect(images).toEqual(["quay.io/a/bundle:v1", "quay.io/a/bundle:v2"]);
  });

  test.for<[string, string, string]>([
    ["another schema", "schema: olm.semver\n", 'template has unknown schema ("olm.semver"), should be "olm.template.basic"'],
    ["a list", "[]\n", "decoding template input: expected an object, got a list"],
    [
      "a bundle with properties",
      "schema: olm.template.basic\nentries: [{schema: olm.bundle, image: a, properties: [{type: b, value: c}]}]\n",
      "unexpected fields present in basic template bundle",
    ],
    [
      "a bundle with a package",
      "schema: olm.template.basic\nentries: [{schema: olm.bundle, image: a, package: b}]\n",
      "unexpected fields present in basic template bundle",
    ],
    [
      "a bundle without an image",
      "schema: olm.template.basic\nentries: [{schema: olm.bundle}]\n",
      "unexpected fields present in basic template bundle",
    ],
    [
      "an entry that is not an object",
      "schema: olm.template.basic\nentries: [a]\n",
      "unmarshalling template: entries[0]: expected an object, got a string",
    ],
    ["an entry without a schema", "schema: olm.template.basic\nentries: [{name: a}]\n", "object 'a' is missing root schema field"],
  ])("readBasicTemplate rejects %s", ([, text, error]) => {
    expect(() => readBasicTemplate(text)).toThrow(new Error(error));
  });

  test("toBasicTemplate keeps only the image of each bundle", () => {
    const metas = [
      { schema: "olm.package", name: "a", defaultChannel: "stable" },
      { schema: "olm.bundle", name: "a.v1", package: "a", image: "quay.io/a/bundle:v1", properties: [] },
    ].map(toMeta);
    expect(toBasicTemplate(metas)).toEqual({
      schema: "olm.template.basic",
      entries: [
        { schema: "olm.package", name: "a", defaultChannel: "stable" },
        { schema: "olm.bundle", image: "quay.io/a/bundle:v1" },
      ],
    });
  });
});

describe("template types", () => {
  test("detectTemplateType reads the schema", () => {
    expect(detectTemplateType("schema: olm.template.basic\n")).toBe("basic");
    expect(detectTemplateType("# mine\nschema: olm.semver\nstable: {}\n")).toBe("semver");
  });

  test.for([
    ["a: b\n", "template input missing required 'schema' field"],
    ["schema: olm.other\n", "unknown template schema: olm.other"],
  ])("detectTemplateType rejects %j", ([text = "", error = ""]) => {
    expect(() => detectTemplateType(text)).toThrow(new Error(error));
  });

  test("parseTemplateType rejects an unknown type", () => {
    expect(parseTemplateType("semver")).toBe("semver");
    expect(() => parseTemplateType("other")).toThrow(
      new Error('invalid template type "other", must be one of: [basic semver substitutes]'),
    );
  });
});

test("drawTemplateGraph draws a red line for an upgrade that OLM v0 does not use", () => {
  const properties = (version: string) => [{ type: "olm.package", value: { packageName: "a", version } }];
  const metas = [
    { schema: "olm.package", name: "a", defaultChannel: "stable" },
    {
      schema: "olm.channel",
      name: "stable",
      package: "a",
      entries: [{ name: "a.v3", replaces: "a.v1", skips: ["a.v2"] }, { name: "a.v2", replaces: "a.v1" }, { name: "a.v1" }],
    },
    ...["1", "2", "3"].map((n) => ({ schema: "olm.bundle", name: `a.v${n}`, package: "a", properties: properties(`${n}.0.0`) })),
  ].map(toMeta);
  expect(drawTemplateGraph(metas)).toContain("linkStyle 2 stroke:#FF0000");
});
