import { array, assert, constantFrom, dictionary, jsonValue, nat, oneof, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { findChangedFields, formatDiffPath, MAX_FIELD_CHANGES, type PathStep, parseDiffPath } from "./diff.ts";

const object = (members: JsonObject = {}, metadata: JsonObject = {}, kind = "ConfigMap"): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "x", ...metadata },
  ...members,
});
const lines = (before: KubeObject | undefined, after: KubeObject): string[] =>
  findChangedFields(before, after).changes.map((change) => `${change.path}: ${change.before ?? "-"} → ${change.after ?? "-"}`);

// Source: the output of `olmv1 plan`, D-04.
describe("findChangedFields", () => {
  test.for<[string, KubeObject | undefined, KubeObject, string[]]>([
    ["findChangedFields returns nothing without a difference", object({ data: { a: "1" } }), object({ data: { a: "1" } }), []],
    [
      "findChangedFields returns paths with both values",
      object({ data: { a: "1", b: "2" } }),
      object({ data: { a: "1", b: "3", c: "4" } }),
      ['data.b: "2" → "3"', 'data.c: - → "4"'],
    ],
    [
      "findChangedFields identifies list entries by key, in any order",
      object({ spec: { containers: [{ name: "a", image: "i:1" }, { name: "b" }] } }),
      object({ spec: { containers: [{ name: "b" }, { name: "a", image: "i:2" }] } }),
      ['spec.containers[name=a].image: "i:1" → "i:2"'],
    ],
    [
      "findChangedFields identifies entries of other lists by index",
      object({ spec: { args: ["--a", "--b"] } }),
      object({ spec: { args: ["--a", "--c", "--d"] } }),
      ['spec.args[1]: "--b" → "--c"', 'spec.args[2]: - → "--d"'],
    ],
    [
      "findChangedFields quotes member names with special characters",
      object({}, { labels: { "a.b/c": "1" } }),
      object({}, { labels: { "a.b/c": "2" } }),
      ['metadata.labels["a.b/c"]: "1" → "2"'],
    ],
    [
      "findChangedFields ignores server-side fields and status",
      object({ status: { a: 1 } }, { resourceVersion: "1", uid: "u", generation: 1, managedFields: [] }),
      object({ status: { a: 2 } }, { resourceVersion: "2" }),
      [],
    ],
    [
      "findChangedFields masks values of a Secret",
      object({ data: { password: "b2xk", user: "dQ==" }, type: "Opaque" }, {}, "Secret"),
      object({ data: { password: "bmV3", user: "dQ==" }, type: "Other" }, {}, "Secret"),
      ["data.password: (secret) → (secret)", 'type: "Opaque" → "Other"'],
    ],
    [
      "findChangedFields masks values of a new Secret",
      undefined,
      object({ stringData: { p: "x" } }, {}, "Secret"),
      ['apiVersion: - → "v1"', "data: - → (secret)", 'kind: - → "Secret"', "metadata: - → (secret)"],
    ],
  ])("%s", ([, before, after, wanted]) => {
    const found = lines(before, after);
    expect(found.length).toBe(wanted.length);
    wanted.forEach((line, i) => expect(found[i]).toContain(line));
    expect(JSON.stringify(found)).not.toMatch(/b2xk|bmV3|eA==/);
  });

  test("findChangedFields truncates the list and long values", () => {
    const data = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`k${i}`, "v".repeat(1_000)]));
    const { changes, more } = findChangedFields(object({ data: {} }), object({ data }));
    expect([changes.length, more]).toEqual([MAX_FIELD_CHANGES, 80 - MAX_FIELD_CHANGES]);
    expect(Math.max(...changes.map(({ after = "" }) => after.length))).toBeLessThan(210);
  });

  test("findChangedFields returns no fields when both states are the same object, and never throws", () => {
    assert(
      property(dictionary(string(), jsonValue()), dictionary(string(), jsonValue()), (a, b) => {
        expect(findChangedFields(object({ spec: a }), object({ spec: a })).changes).toEqual([]);
        findChangedFields(object({ spec: a }), object({ spec: b }));
      }),
    );
  });
});

const step = oneof(
  string({ minLength: 1 }),
  nat().map((index): PathStep => ({ index })),
  constantFrom("manager", "a.b", "x-1").map((value): PathStep => ({ key: "name", value })),
  nat(65_535).map((value): PathStep => ({ key: "containerPort", value })),
);

test("parseDiffPath is the inverse of formatDiffPath", () => {
  assert(
    property(array(step, { minLength: 1, maxLength: 6 }), (path) => {
      expect(parseDiffPath(formatDiffPath(path))).toEqual(path);
    }),
  );
});

test.for(["a[", "a[x", "a b", "[]", "a..b"])("parseDiffPath rejects %j", (text) => {
  expect(parseDiffPath(text)).toBeUndefined();
});
