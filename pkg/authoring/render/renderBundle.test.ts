import { expect, test } from "vitest";
import { bundleFiles } from "../../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Property } from "../../fbc/types.ts";
import { encodeGoJson } from "../../golang/json.ts";
import { renderCatalogBundle } from "./renderBundle.ts";

interface RenderCase extends CaseHead {
  files: Record<string, string>;
  /** Files to omit. */
  without?: string[];
  image?: string;
  bundle?: string;
  package?: string;
  /** Properties of types other than olm.bundle.object. */
  properties?: Property[];
  /** A part of the serialized properties. */
  text?: string;
  /** Kind and name of each manifest. */
  objects?: string[];
  relatedImages?: unknown[];
  warnings?: string[];
  error?: string;
}

const IMAGE = "registry.example.com/p/bundle:v1";

test.for(loadCases<RenderCase>("fbc-render"))(
  "renderCatalogBundle: $name",
  ({ files: given, without = [], image = IMAGE, error, ...expected }) => {
    const files = new Map([...bundleFiles(given)].filter(([path]) => !without.includes(path)));
    const render = () => renderCatalogBundle(files, () => image);
    if (error !== undefined) {
      expect(() => render()).toThrow(new Error(error));
      return;
    }
    const { meta, warnings } = render();
    const { properties, relatedImages = [] } = meta.blob as { properties: Property[]; relatedImages?: unknown[] };
    const stated = properties.filter(({ type }) => type !== "olm.bundle.object");
    if (expected.properties) expect(encodeGoJson(stated, { sortKeys: false })).toBe(encodeGoJson(expected.properties, { sortKeys: false }));
    if (expected.text !== undefined) expect(encodeGoJson(properties)).toContain(expected.text);
    if (expected.objects) expect(properties.slice(stated.length).map(objectName).sort()).toEqual(expected.objects);
    if (expected.relatedImages) expect(relatedImages).toEqual(expected.relatedImages);
    if (expected.bundle !== undefined) expect(meta.name).toBe(expected.bundle);
    if (expected.package !== undefined) expect(meta.package).toBe(expected.package);
    expect(warnings).toEqual(expected.warnings ?? []);
  },
);

test("renderCatalogBundle passes package, name and version of the bundle to imageOf", () => {
  const { meta } = renderCatalogBundle(
    bundleFiles({}),
    ({ packageName, name, version }) => `example.com/${packageName}/${name}:${version}`,
  );
  expect(Object.entries(meta.blob).slice(0, 4)).toEqual([
    ["schema", "olm.bundle"],
    ["name", "a.v1.0.0"],
    ["package", "p"],
    ["image", "example.com/p/a.v1.0.0:1.0.0"],
  ]);
});

function objectName({ value }: Property): string {
  const { data } = value as { data: string };
  const { kind, metadata } = JSON.parse(Buffer.from(data, "base64").toString()) as KubeObject;
  return `${kind} ${metadata.name}`;
}
