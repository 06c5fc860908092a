import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../api/k8s.ts";
import { toMeta } from "../content.ts";
import { CatalogCheck } from "./catalogCheck.ts";
import type { RuleCode } from "./rules.ts";

const version = fc.tuple(fc.nat(20), fc.nat(20), fc.nat(20)).map((numbers) => numbers.join("."));
const channelName = fc.constantFrom("alpha", "stable", "v1", "1.0", "candidate");

/**
 * Generates a valid package. Each channel contains some of the versions as a replaces chain, and its head skips some of them. The last entry may
 * replace a bundle that is not in the catalog.
 */
const soundPackage = (name: string): fc.Arbitrary<JsonObject[]> =>
  fc
    .record({
      versions: fc.uniqueArray(version, { minLength: 1, maxLength: 8 }),
      channels: fc.uniqueArray(fc.record({ name: channelName, skipped: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }) }), {
        selector: ({ name: channel }) => channel,
        minLength: 1,
        maxLength: 3,
      }),
      virtual: fc.boolean(),
      deprecated: fc.boolean(),
    })
    .map(({ versions, channels, virtual, deprecated }) => {
      const bundles = versions.map((one) => ({
        schema: "olm.bundle",
        package: name,
        name: `${name}.v${one}`,
        image: `quay.io/example/${name}:v${one}`,
        properties: [{ type: "olm.package", value: { packageName: name, version: one } }],
      }));
      const names = bundles.map((bundle) => bundle.name);
      return [
        { schema: "olm.package", name, defaultChannel: channels[0]!.name },
        ...channels.map((channel) => ({
          schema: "olm.channel",
          package: name,
          name: channel.name,
          entries: entriesOf(names, channel.skipped, virtual),
        })),
        ...bundles,
        ...(deprecated
          ? [{ schema: "olm.deprecations", package: name, entries: [{ reference: { schema: "olm.package" }, message: "x" }] }]
          : []),
      ];
    });

/**
 * Returns the entries of a channel. The first entry is the head. Every other entry is replaced by its predecessor in the chain or skipped by the
 * head.
 */
function entriesOf(names: readonly string[], skipped: readonly boolean[], virtual: boolean): JsonObject[] {
  const chain = names.filter((_, i) => i === 0 || !skipped[i]);
  const off = names.filter((name) => !chain.includes(name));
  return names.map((name) => {
    const next = chain[chain.indexOf(name) + 1] ?? (virtual ? "gone.v0.0.0" : undefined);
    const replaces = chain.includes(name) && next !== undefined ? { replaces: next } : {};
    return { name, ...replaces, ...(name === names[0] && off.length > 0 ? { skips: off } : {}) };
  });
}

/** Generates two packages whose objects are in random order. */
const soundCatalog = fc
  .tuple(soundPackage("foo"), soundPackage("bar"))
  .map((packages) => packages.flat())
  .chain((objects) => fc.shuffledSubarray(objects, { minLength: objects.length, maxLength: objects.length }));

function rulesOf(objects: readonly JsonObject[]): RuleCode[] {
  const check = new CatalogCheck();
  objects.forEach((object, i) => check.add({ ...toMeta(object), place: { file: "catalog.json", document: i + 1 } }));
  return [...new Set(check.end().findings.map(({ rule }) => rule))];
}

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

/** Changes that each make a valid catalog break exactly one rule. `at` is the changed object. */
const MUTATIONS: readonly { rule: RuleCode; schema: string; change: (at: JsonObject) => JsonObject[] }[] = [
  { rule: "schema-missing", schema: "olm.deprecations", change: (at) => [without(at, "schema")] },
  { rule: "duplicate-package", schema: "olm.package", change: (at) => [at, at] },
  { rule: "duplicate-bundle", schema: "olm.bundle", change: (at) => [at, at] },
  { rule: "duplicate-channel", schema: "olm.channel", change: (at) => [at, at] },
  { rule: "duplicate-deprecations", schema: "olm.deprecations", change: (at) => [at, at] },
  { rule: "entry-without-bundle", schema: "olm.bundle", change: () => [] },
  { rule: "bundle-image-missing", schema: "olm.bundle", change: (at) => [without(at, "image")] },
  { rule: "image-invalid", schema: "olm.bundle", change: (at) => [{ ...at, image: "quay.io/UPPER" }] },
  { rule: "package-property-count", schema: "olm.bundle", change: (at) => [{ ...at, properties: [] }] },
  { rule: "default-channel-missing", schema: "olm.package", change: (at) => [without(at, "defaultChannel")] },
  { rule: "default-channel-unknown", schema: "olm.package", change: (at) => [{ ...at, defaultChannel: "none" }] },
  { rule: "channel-empty", schema: "olm.channel", change: (at) => [at, { ...at, name: "more", entries: [] }] },
  { rule: "channel-package-unknown", schema: "olm.channel", change: (at) => [at, { ...at, package: "none" }] },
  { rule: "channel-name-missing", schema: "olm.channel", change: (at) => [at, without(at, "name")] },
  { rule: "deprecation-package-unknown", schema: "olm.deprecations", change: (at) => [{ ...at, package: "none" }] },
  { rule: "deprecations-named", schema: "olm.deprecations", change: (at) => [{ ...at, name: "x" }] },
];

test("CatalogCheck finds nothing in a valid catalog with objects in any order", () => {
  fc.assert(
    fc.property(soundCatalog, (objects) => {
      expect(rulesOf(objects)).toEqual([]);
    }),
  );
});

test.for(MUTATIONS)("CatalogCheck finds only $rule after one change", ({ rule, schema, change }) => {
  let broken = 0;
  fc.assert(
    fc.property(soundCatalog, fc.nat(), (objects, seed) => {
      const candidates = objects.filter((object) => object["schema"] === schema);
      const at = candidates[seed % candidates.length];
      if (!at) return;
      broken++;
      expect(rulesOf(objects.flatMap((object) => (object === at ? change(object) : [object])))).toEqual([rule]);
    }),
  );
  expect(broken).toBeGreaterThan(0);
});
