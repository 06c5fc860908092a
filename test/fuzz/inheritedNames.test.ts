import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { orderMetaMembers } from "../../pkg/authoring/render/catalogObject.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { runQuery } from "../../pkg/catalogd/graphql/runQuery.ts";
import { findCrdChanges } from "../../pkg/crdsafety/crdFindings.ts";
import { findObjectFaults } from "../../pkg/crdsafety/objectFaults.ts";
import { groupByPackage, toMeta } from "../../pkg/fbc/content.ts";
import { MetaDecoder } from "../../pkg/fbc/decode.ts";
import { buildUpdateGraph } from "../../pkg/fbc/graph/updateGraph.ts";
import { encodeCanonicalJson } from "../../pkg/golang/json.ts";
import { parseYaml, toYaml } from "../../pkg/golang/yaml.ts";
import { cleanObject, withStringData } from "../../pkg/release/cleanObject.ts";
import { findDifferences } from "../../pkg/release/diff.ts";
import { findFieldDrift, toIndexes } from "../../pkg/release/drift.ts";
import { digestObjects } from "../../pkg/release/identity.ts";
import { getValueAt, replaceAt } from "../../pkg/release/jsonPointer.ts";
import { mergeFieldTrees } from "../../pkg/release/managedFields.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { encodeRelease } from "../../pkg/release/storage/encode.ts";
import { mergeConfig } from "../../pkg/render/configSources.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { compileSelector } from "../../pkg/resolve/labelSelector.ts";
import { resolve } from "../../pkg/resolve/resolve.ts";
import { catalogsFrom } from "../support/catalogFixture.ts";
import { graphqlCatalog } from "../support/graphqlCatalog.ts";
import { decodedRecord, releaseRecord } from "../support/releases.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

/** Names that every plain JavaScript object inherits or treats specially, and one ordinary name. */
const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "", "\ud800", "ordinary"];
const WELL_FORMED = NAMES.filter((name) => name.isWellFormed());

const names = (from: readonly string[] = NAMES) => fc.uniqueArray(fc.constantFrom(...from), { minLength: 1 });
/** An object with some of the names; each value differs. */
const arbitraryMap = (from?: readonly string[]): fc.Arbitrary<Record<string, string>> =>
  names(from).map((list) => Object.fromEntries(list.map((name, i) => [name, `value ${i}`])));
const json = (value: unknown): string => encodeCanonicalJson(value);
const configMap = (members: JsonObject): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, ...members });
const files = (texts: Record<string, string>) => new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));

// Source: H-04: all members of a bundle's objects are applied to the cluster.
test("prepared objects keep labels, annotations, data, stringData and schema properties with any names", () => {
  fc.assert(
    fc.property(arbitraryMap(WELL_FORMED), arbitraryMap(WELL_FORMED), (map, other) => {
      const properties = Object.fromEntries(Object.keys(map).map((name) => [name, { type: "string" }]));
      const crd = {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: "things.example.com", annotations: map },
        spec: {
          group: "example.com",
          names: { kind: "Thing", plural: "things" },
          scope: "Namespaced",
          versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } }],
        },
      };
      const template = { metadata: { labels: { app: "tiny", ...map }, annotations: map }, spec: { containers: [], nodeSelector: map } };
      const bundle = loadBundle(
        files(
          tinyBundle("1.0.0", {
            objects: [
              configMap({ metadata: { name: "c", labels: map, annotations: other }, data: map, binaryData: other }),
              { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data: other, stringData: map },
              crd,
            ],
            deployment: { selector: { matchLabels: { app: "tiny", ...map } }, template },
          }),
        ),
      );
      const rendered = renderBundle(bundle, { installNamespace: "ns" });
      const { objects } = prepareObjects(rendered, {
        installNamespace: "ns",
        isNamespaced: ({ kind }) => kind !== "CustomResourceDefinition",
      });
      const found = (kind: string): KubeObject => objects.find((object) => object.kind === kind) ?? configMap({});
      const encoded = Object.entries(map).map(([name, value]) => [name, Buffer.from(value).toString("base64")]);
      expect(json(found("ConfigMap").metadata.labels)).toBe(json(map));
      expect(json(found("ConfigMap").metadata.annotations)).toBe(json(other));
      expect(json([found("ConfigMap")["data"], found("ConfigMap")["binaryData"]])).toBe(json([map, other]));
      expect(json(found("Secret")["data"])).toBe(json({ ...other, ...Object.fromEntries(encoded) }));
      expect(found("Secret")).not.toHaveProperty("stringData");
      const { versions } = found("CustomResourceDefinition")["spec"] as typeof crd.spec;
      expect(json(versions[0]?.schema.openAPIV3Schema.properties)).toBe(json(properties));
      expect(json(found("CustomResourceDefinition").metadata.annotations)).toBe(json(map));
      const spec = found("Deployment")["spec"] as { selector: JsonObject; template: typeof template };
      expect(json(spec.selector)).toBe(json({ matchLabels: { app: "tiny", ...map } }));
      expect(json(spec.template.spec.nodeSelector)).toBe(json(map));
      expect(json(spec.template.metadata.labels)).toBe(json({ app: "tiny", ...map }));
      expect(json({ ...spec.template.metadata.annotations, ...map })).toBe(json(spec.template.metadata.annotations));
    }),
    { numRuns: 60 },
  );
});

test("a stored release keeps objects, labels and annotations with any names", () => {
  fc.assert(
    fc.property(arbitraryMap(), arbitraryMap(WELL_FORMED), (map, wellFormed) => {
      const object = configMap({ data: map, spec: { nested: [map, { deep: map }] } });
      const record = releaseRecord(1, "deployed", { labels: wellFormed, annotations: wellFormed, objects: [object] });
      const [index] = encodeRelease(record, { systemNamespace: "system", owner: { name: "x", uid: "u" } });
      const { labels, annotations, objects } = decodedRecord(index ?? object, []);
      expect(json([labels, annotations, objects])).toBe(json([wellFormed, wellFormed, [object]]));
    }),
  );
});

test("a manifest with lone surrogates results in the same objects in the bundle, the request and the stored release", () => {
  const half = fc.constantFrom("\\ud800", "\\udfff", "\\uD83D\\uDE00", "\\\\ud800", "a");
  const texts = fc.uniqueArray(
    fc.array(half, { maxLength: 4 }).map((parts) => parts.join("")),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(texts, (list) => {
      const members = list.map((text) => `"${text}":"${text}"`).join(",");
      const manifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{${members}}}`;
      const loaded = loadBundle(files({ ...tinyBundle("1.0.0"), "manifests/c.json": manifest })).others;
      const sent = JSON.parse(Buffer.from(JSON.stringify(loaded), "utf8").toString("utf8")) as KubeObject[];
      const record = releaseRecord(1, "deployed", { objects: loaded });
      const [index] = encodeRelease(record, { systemNamespace: "system", owner: { name: "x", uid: "u" } });
      expect(decodedRecord(index ?? configMap({}), []).objects).toEqual(loaded);
      expect(sent).toEqual(loaded);
      expect(
        Object.entries(loaded[0]?.["data"] as object).every(([name, text]) => name.isWellFormed() && (text as string).isWellFormed()),
      ).toBe(true);
      expect(digestObjects(sent)).toBe(digestObjects(loaded));
    }),
    { numRuns: 60 },
  );
});

test("YAML, JSON, cleanObject, mergeFieldTrees and replaceAt keep members with any names", () => {
  fc.assert(
    fc.property(arbitraryMap(WELL_FORMED), arbitraryMap(WELL_FORMED), (one, other) => {
      const both = { ...one, ...other };
      expect(json(parseYaml(JSON.stringify({ one, list: [other] })))).toBe(json({ one, list: [other] }));
      expect(json(parseYaml(toYaml({ one, list: [other] })))).toBe(json({ one, list: [other] }));
      expect(json(cleanObject(configMap({ data: one, spec: { other } })))).toBe(json(configMap({ data: one, spec: { other } })));
      expect(json(withStringData({ ...configMap({}), stringData: one })["data"])).toBe(
        json(Object.fromEntries(Object.entries(one).map(([name, value]) => [name, Buffer.from(value).toString("base64")]))),
      );
      expect(json(mergeFieldTrees({ "f:data": one }, { "f:data": other }))).toBe(json({ "f:data": both }));
      for (const name of Object.keys(both)) {
        expect(getValueAt(one, [name])).toBe(Object.hasOwn(one, name) ? one[name] : undefined);
        if (Object.hasOwn(one, name))
          expect(json(replaceAt(one, [name], "new"))).toBe(json({ ...one, ...Object.fromEntries([[name, "new"]]) }));
      }
    }),
  );
});

test("mergeConfig merges members with any names, and null removes them", () => {
  const source = (values: JsonObject, i: number) => ({
    source: { kind: "ConfigMap" as const, name: `s${i}` },
    object: { ...configMap({ data: { "values.yaml": JSON.stringify(values) } }), metadata: { name: `s${i}` } },
  });
  fc.assert(
    fc.property(arbitraryMap(WELL_FORMED), arbitraryMap(WELL_FORMED), names(WELL_FORMED), (one, other, removed) => {
      const nulls = Object.fromEntries(removed.map((name) => [name, null]));
      const { config } = mergeConfig([source({ in: one, ...one }, 0), source({ in: other }, 1)], "ns", { in: nulls });
      const left = Object.entries({ ...one, ...other }).filter(([name]) => !removed.includes(name));
      expect(json(config)).toBe(json({ ...one, in: Object.fromEntries(left) }));
    }),
  );
});

test("findDifferences and findFieldDrift compare members with any names", () => {
  fc.assert(
    fc.property(arbitraryMap(), arbitraryMap(), (before, after) => {
      const both = Object.keys({ ...before, ...after });
      const differing = both.filter((name) => getOwn(before, name) !== getOwn(after, name)).toSorted();
      const steps = (list: readonly string[]): string[] => list.map((name) => JSON.stringify(name)).sort();
      const found = (list: ReturnType<typeof findDifferences>): string[] => list.map(({ path }) => JSON.stringify(path.at(-1))).sort();
      expect(found(findDifferences(configMap({ spec: before }), configMap({ spec: after })))).toEqual(steps(differing));
      const stated = differing.filter((name) => Object.hasOwn(before, name));
      expect(
        found(findFieldDrift(configMap({ spec: before }), configMap({ spec: { ...after } }))).filter((name) =>
          steps(stated).includes(name),
        ),
      ).toEqual(steps(stated));
      for (const name of Object.keys(before)) expect(toIndexes(configMap({ spec: before }), ["spec", name])).toEqual(["spec", name]);
    }),
  );
});

function getOwn(map: Record<string, string>, name: string): string | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

test("findObjectFaults checks schema properties with any names", () => {
  fc.assert(
    fc.property(names(), names(), (stated, given) => {
      const properties = Object.fromEntries(stated.map((name) => [name, { type: "string" }]));
      const schema = { type: "object", required: stated, properties };
      const object = Object.fromEntries(given.map((name) => [name, 7]));
      const faults = findObjectFaults(schema, object, () => true);
      expect(faults.filter((fault) => fault.endsWith("is required"))).toHaveLength(stated.filter((name) => !given.includes(name)).length);
      expect(faults.filter((fault) => fault.endsWith("is not of type string"))).toHaveLength(
        stated.filter((name) => given.includes(name)).length,
      );
    }),
  );
});

test("findCrdChanges reports removed properties with any names", () => {
  const crd = (properties: readonly string[]): JsonObject => {
    const schema = { type: "object", properties: Object.fromEntries(["always", ...properties].map((name) => [name, { type: "string" }])) };
    const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    return { ...configMap({}), kind: "CustomResourceDefinition", spec: { group: "g", scope: "Namespaced", names: {}, versions } };
  };
  fc.assert(
    fc.property(names(WELL_FORMED), names(WELL_FORMED), (before, after) => {
      const removed = before.filter((name) => !after.includes(name));
      expect(findCrdChanges(crd(before), crd(after)).length > 0).toBe(removed.length > 0);
    }),
  );
});

test("a catalog keeps members, packages, channels and bundles with any names", async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryMap(WELL_FORMED), names(WELL_FORMED.filter((name) => name !== "")), async (map, packages) => {
      const blobs = packages.flatMap((name) => [
        { schema: "olm.package", name, defaultChannel: name, extra: map, ...map },
        { schema: "olm.channel", name, package: name, entries: [{ name: `${name}.v1` }, { name: `${name}.v2`, replaces: `${name}.v1` }] },
        ...["1", "2"].map((version) => ({
          schema: "olm.bundle",
          name: `${name}.v${version}`,
          package: name,
          image: "i",
          properties: [
            { type: "olm.package", value: { packageName: name, version: `${version}.0.0` } },
            { type: name, value: map },
          ],
        })),
      ]);
      const metas = [];
      const decoder = new MetaDecoder("c.json");
      for (const meta of [...decoder.push(Buffer.from(blobs.map((blob) => JSON.stringify(blob)).join("\n"))), ...decoder.end()])
        metas.push(meta);
      expect(metas.map(({ blob }) => json(blob))).toEqual(blobs.map(json));
      for (const meta of metas) expect(json(orderMetaMembers(meta).blob)).toBe(json({ ...meta.blob }));
      const contents = groupByPackage(metas);
      expect([...contents.keys()].toSorted()).toEqual(packages.toSorted());
      for (const name of packages) {
        const content = contents.get(name);
        const versions = new Map();
        const graph = buildUpdateGraph({
          package: name,
          defaultChannel: name,
          channels: content?.channels ?? [],
          versions,
          deprecations: [],
        });
        expect(graph.channels.map((channel) => [channel.name, channel.edges.length])).toEqual([[name, 1]]);
      }
      const response = await runQuery({ query: "{ olmpackages { name } }" }, () => graphqlCatalog(blobs));
      expect(JSON.parse(response ?? "")).toEqual({ data: { olmpackages: packages.map((name) => ({ name })) } });
    }),
    { numRuns: 40 },
  );
});

test.for(WELL_FORMED.filter((name) => name !== ""))(
  "resolve finds package, channel and bundle %j, and no bundle in a missing channel",
  (name) => {
    const fixture = { c: { channels: Object.fromEntries([[name, [`${name}.v1.0.0`]]]), bundles: [`${name}.v1.0.0`] } };
    const request = (channels: string[]) => ({
      source: { packageName: name, channels },
      catalogs: catalogsFrom(fixture, name),
      installed: undefined,
    });
    expect(resolve(request([name]))).toMatchObject({ bundle: { name: `${name}.v1.0.0` } });
    expect(resolve(request(["other"]))).not.toHaveProperty("bundle");
  },
);

test.for(["constructor", "toString", "hasOwnProperty", "valueOf"])(
  "compileSelector matches key %s only when the object has this label",
  (key) => {
    const exists = compileSelector({ matchExpressions: [{ key, operator: "Exists" }] });
    expect([exists.matches({}), exists.matches({ [key]: "a" })]).toEqual([false, true]);
    const absent = compileSelector({ matchExpressions: [{ key, operator: "DoesNotExist" }] });
    expect([absent.matches({}), absent.matches({ [key]: "a" })]).toEqual([true, false]);
  },
);

test("prepareObjects rejects two objects with the same name when only one of them has member __proto__", () => {
  const one = configMap({ spec: { a: 1 } });
  const other = JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"spec":{"__proto__":{}}}') as KubeObject;
  const options = { installNamespace: "ns", isNamespaced: () => true };
  expect(() => prepareObjects([one, other], options)).toThrow(/two different manifests/);
});

test("toMeta ignores the schema and name inside member __proto__ of a document", () => {
  expect(toMeta(JSON.parse('{"__proto__":{"schema":"olm.package","name":"p"}}'))).toMatchObject({ schema: "", name: "" });
});
