import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { array, assert, constantFrom, dictionary, jsonValue, letrec, oneof, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { type CrdUpgradeCase, compareCrdUpgrade } from "../../test/cases/topics/crdUpgrade.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import { findCrdChanges, formatFindings } from "./crdFindings.ts";

/** A short form of a CRD. */
interface ShortCrd {
  scope?: string;
  conversion?: { strategy: string };
  stored?: string[];
  versions: Record<string, { served?: boolean; x: unknown }>;
}

interface Case extends CaseHead {
  before?: unknown;
  after?: unknown;
  old?: ShortCrd;
  new?: ShortCrd;
  ignore?: string[];
  /** If set, only findings of these checks are compared. */
  checks?: string[];
  findings?: string[];
  begins?: string[];
}

const HERE = "v1: ^.spec.x: ";

function crd({ scope = "Namespaced", conversion, stored = [], versions }: ShortCrd): unknown {
  return {
    spec: {
      scope,
      ...(conversion ? { conversion } : {}),
      versions: Object.entries(versions).map(([name, { served = true, x }]) => ({
        name,
        served,
        ...(x === null ? {} : { schema: { openAPIV3Schema: { properties: { spec: { properties: { x } } } } } }),
      })),
    },
    status: { storedVersions: stored },
  };
}

function withSchema(openAPIV3Schema: unknown): unknown {
  return { spec: { versions: [{ name: "v1", served: true, schema: { openAPIV3Schema } }] } };
}

test.for(loadCases<Case>("crd-safety"))("findCrdChanges: $name", ({ before, after, old, new: now, ignore, checks, findings, begins }) => {
  const [one, other] = [crd(old ?? { versions: { v1: { x: before } } }), crd(now ?? { versions: { v1: { x: after } } })];
  const found = findCrdChanges(one, other, new Set(ignore)).filter(({ check }) => checks?.includes(check) ?? true);
  const texts = found.map(({ text }) => (old === undefined && text.startsWith(HERE) ? text.slice(HERE.length) : text));
  if (findings) expect(texts.sort()).toEqual(findings.sort());
  else expect(texts.map((text, index) => text.slice(0, begins?.[index]?.length))).toEqual(begins);
});

describe("findings", () => {
  const before = withSchema({ properties: { b: { type: "string", maxLength: 2, nullable: true }, a: { type: "string" } } });
  const after = withSchema({ properties: { b: { type: "integer", maxLength: 1 }, a: { type: "integer" } } });

  test("findCrdChanges sorts findings by path and check for any order of members", () => {
    const expected = ["a: type", "b: type", "b: maxLength", "b: nullable"];
    const places = (texts: { text: string }[]) => texts.map(({ text }) => /\^\.(\w: \w+)/.exec(text)?.[1]);
    expect(places(findCrdChanges(before, after))).toEqual(expected);
    const reversed = withSchema({ properties: { a: { type: "string" }, b: { nullable: true, maxLength: 2, type: "string" } } });
    expect(findCrdChanges(reversed, after)).toEqual(findCrdChanges(before, after));
  });

  test("formatFindings returns one line for each finding after the name of the CRD", () => {
    expect(formatFindings('a"b', [{ text: "scope: x" }, { text: "v1: ^: y" }])).toBe(
      'validating upgrade for CRD "a\\"b": scope: x\nv1: ^: y',
    );
  });

  test("findCrdChanges limits the number and length of findings", () => {
    const fields = (type: string) =>
      Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`f${index}`, { type, nullable: type === "a" }]));
    expect(findCrdChanges(withSchema({ properties: fields("a") }), withSchema({ properties: fields("b") }))).toHaveLength(10_000);
    const oneOf = Array.from({ length: 100 }, (_, index) => ({ required: [`r${index}`] }));
    const [finding] = findCrdChanges(withSchema({}), withSchema({ oneOf }));
    expect(finding?.text).toMatch(/^v1: \^: oneOf: .*…$/s);
    expect(finding?.text.length).toBeLessThan(33_000);
  });

  test("findCrdChanges returns no findings for the same CRD", () => {
    expect(findCrdChanges(before, before)).toEqual([]);
  });
});

describe("unusual schemas", () => {
  function nested(levels: number): unknown {
    let schema: unknown = { type: "string" };
    for (let level = 0; level < levels; level++) schema = { properties: { x: schema } };
    return schema;
  }

  test("findCrdChanges compares all levels of schemas that are nested 150 levels deep", () => {
    const [path] = findCrdChanges(withSchema(nested(150)), withSchema(nested(149))).map(({ text }) => text);
    expect(path).toContain(`^${".x".repeat(150)}`);
  });

  test.for([
    ["deeper than an API server accepts", () => nested(5_000), "it is nested deeper than 400 levels"],
    [
      "that contains itself",
      () => {
        const schema: Record<string, unknown> = { type: "object" };
        schema["properties"] = { again: schema };
        return schema;
      },
      "it is nested deeper than 400 levels",
    ],
    [
      "that expands exponentially",
      () => {
        let schema: unknown = { type: "string" };
        for (let level = 0; level < 40; level++) schema = { properties: { a: schema, b: schema } };
        return schema;
      },
      "it has more than 500000 parts",
    ],
    [
      "with a path of more characters than V8 hashes",
      () => {
        const leaves = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, { type: "string" }]));
        return { properties: { ["x".repeat(20_000)]: { properties: leaves } } };
      },
      "the paths of its fields are too long",
    ],
    [
      "with paths of many characters",
      () => {
        const leaves = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, { type: "string" }]));
        return { properties: { ["x".repeat(2_000)]: { properties: leaves } } };
      },
      "the paths of its fields are too long",
    ],
  ] as const)("findCrdChanges reports a schema %s as too large", ([, make, reason]) => {
    const finding = { check: "unhandled", text: `v1: ^: unhandled: the schema cannot be compared: ${reason}` };
    expect(findCrdChanges(withSchema(make()), withSchema({ type: "object" }))).toEqual([finding]);
    expect(findCrdChanges(withSchema({ type: "object" }), withSchema(make()))).toEqual([finding]);
  });

  test("findCrdChanges compares no pairs of versions when more than 100 are served", () => {
    const serving = (count: number): unknown => {
      const version = (_: unknown, index: number) => ({
        name: `v${index + 1}`,
        served: true,
        schema: { openAPIV3Schema: { properties: { [`f${index}`]: { type: "string" } } } },
      });
      return { spec: { versions: Array.from({ length: count }, version) } };
    };
    const finding = { check: "unhandled", text: "unhandled: more than 100 served versions cannot be compared" };
    expect(findCrdChanges(serving(2_700), serving(2_700))).toEqual([finding]);
    expect(findCrdChanges(serving(2_700), serving(2_700), new Set(["unhandled"]))).toEqual([]);
    expect(findCrdChanges(serving(100), serving(100))).toEqual([]);
    expect(findCrdChanges(serving(0), serving(100))).toHaveLength(4_950);
  });

  test("findCrdChanges prints the exact digits of integers beyond 2^53", () => {
    const [large, larger] = [9007199254740993n, 9223372036854775807n];
    const texts = findCrdChanges(withSchema({ maxLength: larger, default: larger }), withSchema({ maxLength: large, default: large }));
    expect(texts.map(({ text }) => text)).toEqual([
      'v1: ^: default: default value changed : "9223372036854775807" -> "9007199254740993"',
      "v1: ^: maxLength: maximum decreased : 9223372036854775807 -> 9007199254740993",
    ]);
  });

  test("findCrdChanges ignores members of a wrong type", () => {
    const odd = { type: ["string"], required: "a", maxLength: "3", enum: {}, properties: [], items: true, nullable: 1, oneOf: { a: 1 } };
    expect(findCrdChanges(withSchema(odd), withSchema({}))).toEqual([]);
    expect(findCrdChanges(withSchema({ type: "string" }), withSchema(odd)).map(({ text }) => text)).toEqual([
      'v1: ^: type: type changed : "string" -> ""',
    ]);
  });

  test("findCrdChanges does not throw for any schemas", () => {
    const keyword = constantFrom("type", "properties", "items", "enum", "default", "oneOf", "not", "required", "maximum", "maxLength");
    const more = constantFrom("additionalProperties", "x-kubernetes-validations", "example", "dependencies", "title", "externalDocs");
    const { schema } = letrec<{ schema: unknown }>((tie) => ({
      schema: oneof(
        { depthSize: "small" },
        jsonValue(),
        dictionary(oneof(keyword, more), tie("schema")),
        array(tie("schema"), { maxLength: 3 }),
      ),
    }));
    assert(
      property(schema, schema, (a, b) => {
        for (const [one, other] of [
          [a, b],
          [withSchema(a), withSchema(b)],
          [withSchema(a), b],
        ]) {
          const texts = findCrdChanges(one, other).map(({ text }) => text);
          expect(texts.every((text) => text.includes(": "))).toBe(true);
          expect(findCrdChanges(one, one)).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });
});

// Source: findings of the Go operator-controller for these upgrades.
describeWithData("real upgrades", (folder) => {
  test("findCrdChanges returns the same findings as the Go operator-controller for all real upgrades", { timeout: 120_000 }, () => {
    const differing: string[] = [];
    for (const file of readdirSync(join(folder, "crd-upgrade"))) {
      const upgrade = JSON.parse(readFileSync(join(folder, "crd-upgrade", file), "utf8")) as CrdUpgradeCase;
      const lines = compareCrdUpgrade(upgrade);
      if (lines.length > 0) differing.push(`${file}: ${lines.join("\n  ")}`);
    }
    expect(differing).toEqual([]);
  });
});
