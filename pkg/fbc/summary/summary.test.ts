import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import { MAX_TEXT, MAX_WORDS } from "../boundedTexts.ts";
import { findChannelHeads } from "../bundleOrder.ts";
import { toMeta } from "../content.ts";
import type { Meta } from "../types.ts";
import { summarizeCatalogBundle } from "./bundleSummary.ts";
import { CatalogData, PackageData } from "./packageData.ts";
import { summarizePackage } from "./packageSummary.ts";
import { createSearchRecord } from "./search.ts";

const HEAD = { apiVersion: "operators.coreos.com/v1alpha1", kind: "ClusterServiceVersion" };
const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "ClusterServiceVersion" } };
const CONFIG = { apiVersion: "v1", data: { text: `kind: ClusterServiceVersion ${"x".repeat(600)}` }, kind: "ConfigMap" };

type Csv = { metadata?: JsonObject; spec?: JsonObject };

const object = (text: string): JsonObject => ({ type: "olm.bundle.object", value: { data: Buffer.from(text).toString("base64") } });

/** The forms of a ClusterServiceVersion in a catalog. */
const FORMS: Readonly<Record<string, (csv: Csv) => JsonObject[]>> = {
  "olm.csv.metadata": ({ metadata = {}, spec = {} }) => {
    const { customresourcedefinitions, apiservicedefinitions, ...rest } = spec;
    const value = { ...metadata, ...rest, crdDescriptions: customresourcedefinitions, apiServiceDefinitions: apiservicedefinitions };
    return [object(JSON.stringify(CONFIG)), { type: "olm.csv.metadata", value }];
  },
  "an object in JSON": (csv) => [object(JSON.stringify(CRD)), object(JSON.stringify({ ...HEAD, ...csv }))],
  "an object in JSON with its kind at the end": (csv) => [
    object(JSON.stringify(CONFIG)),
    object(JSON.stringify({ metadata: { ...csv.metadata, padding: "x".repeat(2_000) }, spec: csv.spec, ...HEAD })),
  ],
  "an object in YAML": (csv) => [object(dump(CONFIG)), object(dump({ ...HEAD, ...csv }))],
  "an object in YAML after a comment": (csv) => [object(`# ${"y".repeat(600)}\n${dump({ ...HEAD, ...csv })}`)],
};

interface BundleCase extends CaseHead {
  csv: Csv;
  properties?: JsonObject[];
  want: JsonObject;
}

/** Converts null in `want` to absent fields. */
function toExpected(want: JsonObject): Record<string, unknown> {
  const entries = Object.entries(want).map(([key, value]): [string, unknown] => {
    if (value === null) return [key, undefined];
    return [key, isObject(value) ? expect.objectContaining(toExpected(value)) : value];
  });
  return Object.fromEntries(entries);
}

describe.each(Object.keys(FORMS))("summarizeCatalogBundle with a ClusterServiceVersion as %s", (form) => {
  test.for(loadCases<BundleCase>("fbc-summary-bundles"))("summarizeCatalogBundle: $name", ({ csv, properties = [], want }) => {
    const meta = toMeta({ schema: "olm.bundle", name: "b", package: "p", properties: [...properties, ...(FORMS[form]?.(csv) ?? [])] });
    const summary = summarizeCatalogBundle(meta);
    for (const [key, value] of Object.entries(toExpected(want))) expect(summary[key as keyof typeof summary], key).toEqual(value);
  });
});

test("summarizeCatalogBundle ignores invalid objects of a bundle", () => {
  const broken = ["", "{", "kind: ClusterServiceVersion\n\t{", '{"kind":"ClusterServiceVersion"', "ClusterServiceVersion", "[]"].map(
    object,
  );
  const odd = [
    { type: "olm.bundle.object", value: null },
    { type: "olm.bundle.object", value: { data: 1 } },
    { type: "olm.csv.metadata" },
    null,
    7,
  ];
  const meta = toMeta({ schema: "olm.bundle", name: "b", package: "p", properties: [...broken, ...odd] });
  expect(summarizeCatalogBundle(meta)).toMatchObject({
    name: "b",
    support: { architectures: ["amd64"], installModes: [] },
    apis: { provided: [] },
  });
});

test("summarizeCatalogBundle truncates texts and lists", () => {
  const keywords = Array.from({ length: 1_000 }, (_, i) => `${i}${"k".repeat(1_000)}`);
  const value = { displayName: "😀".repeat(100_000), description: "d".repeat(1_000_000), keywords };
  const { description } = summarizeCatalogBundle(
    toMeta({ schema: "olm.bundle", name: "b", properties: [{ type: "olm.csv.metadata", value }] }),
  );
  expect(description.displayName?.length).toBeLessThanOrEqual(256);
  expect(description.displayName?.isWellFormed()).toBe(true);
  expect(description.description).toHaveLength(MAX_TEXT);
  expect(description.keywords).toHaveLength(MAX_WORDS);
  expect(JSON.stringify(description).length).toBeLessThan(16_384);
});

interface HeadsCase extends CaseHead {
  channel: [name: string, replaces?: string, skips?: string[]][];
  heads: string[];
}

test.for(loadCases<HeadsCase>("fbc-summary-heads"))("findChannelHeads finds the heads of $name", ({ channel, heads }) => {
  expect(findChannelHeads(channel.map(([name, replaces, skips = []]) => ({ name, replaces, skips })))).toEqual(heads);
});

interface PackageCase extends CaseHead {
  metas: (JsonObject & { bundle?: string; metadata?: JsonObject })[];
  want: JsonObject;
}

function metaOf(object: PackageCase["metas"][number]): Meta {
  if (object.bundle === undefined) return toMeta(object);
  const properties = [
    { type: "olm.package", value: { packageName: "p", version: object.bundle } },
    ...(object.metadata ? [{ type: "olm.csv.metadata", value: object.metadata }] : []),
  ];
  return toMeta({ schema: "olm.bundle", package: "p", name: object["name"], image: "r.io/b", properties });
}

const sha256 = (meta: Meta): Buffer => createHash("sha256").update(encodeCanonicalJson(meta.blob)).digest();

function collect(metas: readonly Meta[]): PackageData {
  const facts = new PackageData("p");
  for (const meta of metas) facts.add(meta, sha256(meta));
  return facts;
}

test.for(loadCases<PackageCase>("fbc-summary-packages"))("summarizePackage summarizes $name", ({ metas, want }) => {
  const facts = collect(metas.map(metaOf));
  const summary = summarizePackage(facts);
  const plain = JSON.parse(JSON.stringify(summary)) as Record<string, unknown>;
  for (const [key, value] of Object.entries(toExpected(want))) expect(plain[key], key).toEqual(value);
  expect(createSearchRecord(facts).versions.map(([name]) => name)).toHaveLength(facts.bundles.length);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

describe("digest of summarizePackage", () => {
  const metas = [
    toMeta({ schema: "olm.package", name: "p" }),
    toMeta({ schema: "olm.bundle", package: "p", name: "b", image: "r.io/b:1" }),
    toMeta({ schema: "x.unknown", package: "p", value: 1 }),
  ];
  const digest = summarizePackage(collect(metas)).digest;

  test("summarizePackage returns the same digest for any order of files", () => {
    expect(summarizePackage(collect(metas.toReversed())).digest).toBe(digest);
    expect(digest).toMatch(/^sha256:[\da-f]{64}$/);
  });

  test("summarizePackage returns another digest when any object changes, is added or removed", () => {
    const others = [
      metas.slice(1),
      [...metas, metas[0]!],
      [...metas.slice(0, 2), toMeta({ schema: "x.unknown", package: "p", value: 2 })],
      [metas[0]!, toMeta({ schema: "olm.bundle", package: "p", name: "b", image: "r.io/b:2" }), metas[2]!],
    ];
    const digests = others.map((other) => summarizePackage(collect(other)).digest);
    expect(new Set([digest, ...digests]).size).toBe(5);
  });
});

test("summarizePackage omits items above the limits and sets incomplete", () => {
  const facts = new PackageData("p", { bundles: 2, channels: 1, entries: 2, heads: 10, deprecations: 1, apis: 100 });
  const entries = ["a", "b", "c"].map((name) => ({ name }));
  const deprecated = ["a", "b"].map((name) => ({ reference: { schema: "olm.bundle", name }, message: "m" }));
  const metas = [
    ...["a", "b", "c", "x".repeat(600)].map((name) => toMeta({ schema: "olm.bundle", package: "p", name })),
    ...["one", "two"].map((name) => toMeta({ schema: "olm.channel", package: "p", name, entries })),
    toMeta({ schema: "olm.deprecations", package: "p", entries: deprecated }),
  ];
  for (const meta of metas) facts.add(meta, sha256(meta));
  expect(summarizePackage(facts)).toMatchObject({
    bundles: 4,
    channels: [{ name: "one", entries: 2 }],
    deprecatedBundles: [{ bundle: "a" }],
    incomplete: true,
  });
  expect(createSearchRecord(facts).versions).toHaveLength(2);
});

test("summarizePackage does not throw and returns a bounded summary for any objects", () => {
  const keys = [
    "annotations",
    "labels",
    "spec",
    "metadata",
    "kind",
    "type",
    "value",
    "data",
    "installModes",
    "keywords",
    "provider",
    "name",
    "entries",
  ];
  const more = [
    "replaces",
    "skips",
    "reference",
    "schema",
    "icon",
    "description",
    "owned",
    "crdDescriptions",
    "properties",
    "__proto__",
    "version",
  ];
  const { member } = fc.letrec<{ member: unknown }>((tie) => ({
    member: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom<unknown>(null, true, 1, 1e21, "", "olm.csv.metadata", "olm.bundle.object", "olm.package", "1.0.0", "true", "e30="),
      fc.string(),
      fc.array(tie("member"), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom(...keys, ...more), tie("member"), { maxKeys: 6 }),
    ),
  }));
  const blob = fc.dictionary(fc.constantFrom("image", "icon", "entries", "properties", "relatedImages", "defaultChannel"), member);
  const schema = fc.constantFrom("olm.package", "olm.channel", "olm.bundle", "olm.deprecations", "other");
  const meta = fc
    .record({ schema, package: fc.constant("p"), name: fc.string(), blob })
    .map((one): Meta => ({ ...one, blob: one.blob as JsonObject }));
  const property = fc.property(fc.array(meta, { maxLength: 6 }), (metas) => {
    const facts = collect(metas);
    expect(encodeCanonicalJson(summarizePackage(facts)).length).toBeLessThan(100_000);
    expect(summarizePackage(facts).bundles).toBe(metas.filter((one) => one.schema === "olm.bundle").length);
    expect(createSearchRecord(facts).versions.length).toBeLessThanOrEqual(metas.length);
  });
  fc.assert(property, { numRuns: 300 });
});

test("CatalogData returns packages sorted by name and ignores objects without a package", () => {
  const facts = new CatalogData();
  const metas = [
    toMeta({ schema: "olm.package", name: "zeta" }),
    toMeta({ schema: "olm.bundle", package: "alpha", name: "b" }),
    toMeta({ schema: "olm.package", name: "__proto__" }),
    toMeta({ schema: "olm.bundle", name: "nobody's" }),
    toMeta({ orphan: true }),
    toMeta({ schema: "olm.package", name: "x".repeat(600) }),
  ];
  for (const meta of metas) facts.add(meta, sha256(meta));
  expect(facts.packages.map(({ name }) => name)).toEqual(["__proto__", "alpha", "zeta"]);
});
