import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { ValuesSource } from "../api/extensionConfig.ts";
import type { JsonObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { mergeConfig, mergeValues, type ReadSource } from "./configSources.ts";

type SourceRow = ValuesSource & { text?: string; absent?: boolean; data?: JsonObject; binaryData?: JsonObject };

interface ValuesCase extends CaseHead {
  sources: SourceRow[];
  inline?: JsonObject;
  config?: JsonObject;
  /** Replaces `config` where YAML cannot express it. */
  json?: string;
  missing?: string[];
  invalid?: string[];
}

function readSource({ text, absent, data, binaryData, ...source }: SourceRow): ReadSource {
  if (absent) return { source, object: undefined };
  const encoded = text !== undefined && source.kind === "Secret" ? Buffer.from(text).toString("base64") : text;
  const given = data ?? (encoded === undefined ? {} : { "values.yaml": encoded });
  const metadata = { name: source.name, namespace: "ns" };
  return { source, object: { apiVersion: "v1", kind: source.kind, metadata, data: given, ...(binaryData ? { binaryData } : {}) } };
}

test.for(loadCases<ValuesCase>("values-from"))("$name", ({ sources, inline, config, json, missing = [], invalid = [] }) => {
  const merged = mergeConfig(sources.map(readSource), "ns", inline);
  expect(merged.missing).toEqual(missing);
  expect(merged.invalid).toEqual(invalid);
  expect(JSON.stringify([merged.missing, merged.invalid])).not.toContain("canary");
  if (json === undefined) expect(merged.config).toEqual(config);
  else expect(JSON.stringify(merged.config)).toBe(json);
});

test("mergeConfig returns the strings and numbers of all sources, including overridden and invalid values", () => {
  const rows: SourceRow[] = [
    { kind: "Secret", name: "a", text: "{a: [first, 7, true], b: null}" },
    { kind: "Secret", name: "b", text: "{a: second}" },
    { kind: "Secret", name: "c", absent: true },
  ];
  const { texts, config } = mergeConfig(rows.map(readSource), "ns", { a: "public" });
  expect([[...texts].sort(), config]).toEqual([["7", "first", "second"], undefined]);
});

test.for<[string, string, string]>([
  [
    "a text that is too large",
    `a: ${"x".repeat(262_144)}`,
    'key "values.yaml" of ConfigMap ns/a contains 262147 bytes: the maximum for all sources is 262144, and only 262144 are left',
  ],
  [
    "too many list items",
    `a: [${"1,".repeat(20_001)}]`,
    'key "values.yaml" of ConfigMap ns/a contains too many lines, list items and fields: the maximum for all sources is 20000, and only 20000 are left',
  ],
  [
    "a value that aliases make huge",
    `a: &a [${"1,".repeat(500)}]\nb: [${Array.from({ length: 50 }, () => "*a").join(", ")}]`,
    'key "values.yaml" of ConfigMap ns/a is too large: it has more than 10000 values',
  ],
  [
    "a value that is nested too deep",
    `a: ${"[".repeat(100)}${"]".repeat(100)}`,
    'key "values.yaml" of ConfigMap ns/a is too large: it is nested more than 64 levels deep',
  ],
  ["too many values", `a: [${Array.from({ length: 2_001 }, (_, i) => i).join()}]`, "the sources contain more than 2000 different values"],
])("mergeConfig rejects %s", ([, text, fault]) => {
  const { invalid } = mergeConfig([readSource({ kind: "ConfigMap", name: "a", text })], "ns", undefined);
  expect(invalid.join()).toContain(fault);
});

test("mergeConfig applies the limits to the sum of all sources", () => {
  const text = `a: ${"x".repeat(100_000)}`;
  const sources = ["a", "b", "c", "d"].map((name) => readSource({ kind: "Secret", name, text }));
  const { invalid, config } = mergeConfig(sources, "ns", undefined);
  expect(invalid).toEqual(
    ["c", "d"].map(
      (name, i) =>
        `spec.config.valuesFrom[${i + 2}]: key "values.yaml" of Secret ns/${name} contains 100003 bytes: the maximum for all sources is 262144, and only 62138 are left`,
    ),
  );
  expect(config).toBeUndefined();
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>;
const object = fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), json);

test("mergeValues is idempotent, ignores empty values and does not change its arguments", () => {
  fc.assert(
    fc.property(object, object, (under, over) => {
      const before = JSON.stringify([under, over]);
      const once = mergeValues(under, over);
      expect(mergeValues(under, {})).toEqual(under);
      expect(mergeValues(once, over)).toEqual(once);
      for (const [name, value] of Object.entries(over)) {
        if (value === null) expect(Object.hasOwn(once, name)).toBe(false);
        else if (!isObject(value)) expect(Object.entries(once).find(([key]) => key === name)?.[1]).toEqual(value);
      }
      expect(JSON.stringify([under, over])).toBe(before);
    }),
  );
});
