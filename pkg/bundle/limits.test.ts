import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundleFiles } from "../../test/support/bundleFixture.ts";
import { findTerminalError } from "../errors/errors.ts";
import { parseYaml } from "../golang/yaml.ts";
import { countValues, forEachMember } from "../golang/yamlDocument.ts";
import { BUNDLE_LIMITS, countSeparators, isWithin } from "./limits.ts";
import { loadBundle, readManifestObjects } from "./load.ts";

const REAL_BUNDLES = join(import.meta.dirname, "../../../shared/data/bundles");

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (err) {
    return err;
  }
  throw new Error("nothing was thrown");
}

function causesOf(err: unknown): unknown[] {
  return err instanceof Error ? [err, ...causesOf(err.cause)] : [];
}

/** Returns a ConfigMap whose field `l` is a list of `count` empty maps. */
function manyMaps(count: number): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nl: [${"{},".repeat(count)}]\n`;
}

/** Reads the objects of a file; empty if it is invalid. */
function objectsIn(path: string): unknown[] {
  try {
    return readManifestObjects(path, readFileSync(path));
  } catch {
    return [];
  }
}

/** Returns a map of `count` fields. Each `of` results in different field names. */
function namesOf(of: number, count: number): string {
  return `{${Array.from({ length: count }, (_, i) => `n${of}x${i}: 1`).join(",")}}`;
}

/** Returns a ConfigMap with `count` fields in `data`. */
function manyNames(of: number, count: number): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: ${namesOf(of, count)}\n`;
}

/** Returns a ConfigMap whose field `l` is a list of `count` numbers with as many separators. */
function manyNumbers(count: number): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nl: [${"1,".repeat(count)}]\n`;
}

describe("loadBundle with bundles that exceed a limit", () => {
  test.each<[what: string, files: Record<string, string>, message: RegExp]>([
    [
      "one file contains too many maps",
      { "manifests/maps.yaml": manyMaps(300_000) },
      /^bundle is too large: file "manifests\/maps.yaml" contains 60000\d lines, list items and members, more than the 500000 allowed in one file$/,
    ],
    [
      "one JSON file contains too many lists",
      { "manifests/lists.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"l":[${"[],".repeat(300_000)}1]}` },
      /^bundle is too large: file "manifests\/lists.json" contains 60000\d lines, .*$/,
    ],
    [
      "all files together hold too many lines",
      Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [`manifests/${name}.yaml`, manyMaps(210_000)])),
      /^bundle is too large: it contains 2\d{6} lines, list items and members in the files up to "manifests\/e.yaml", more than the 2000000 allowed$/,
    ],
    [
      "one object contains too many values",
      { "manifests/a.yaml": manyNumbers(250_000) },
      /^bundle is too large: an object in file "manifests\/a.yaml" contains more than the 250000 values allowed in one object$/,
    ],
    [
      "all objects together hold too many values",
      Object.fromEntries(["a", "b", "c", "d"].map((name) => [`manifests/${name}.yaml`, manyNumbers(200_000)])),
      /^bundle is too large: it contains 8000\d\d values in the files up to "manifests\/d.yaml", more than the 750000 allowed$/,
    ],
    [
      "its YAML files hold too many names of members",
      { "manifests/a.yaml": manyNames(0, 6_000), "manifests/b.yaml": manyNames(1, 6_000), "manifests/c.yaml": manyNames(2, 240_000) },
      /^bundle is too large: it contains more than the 20000 different field names allowed, in the files up to "manifests\/c.yaml"$/,
    ],
    [
      "a JSON file contains too many names of members",
      { "manifests/a.json": JSON.stringify(parseYaml(manyNames(0, 20_000))) },
      /^bundle is too large: it contains more than the 20000 different field names allowed, in the files up to "manifests\/a.json"$/,
    ],
    [
      "a JSON file that is read as YAML, for an integer beyond 2^53, contains too many names of members",
      { "manifests/a.json": JSON.stringify(parseYaml(manyNames(0, 20_000))).replace(":1,", ":9007199254740993,") },
      /^bundle is too large: it contains more than the 20000 different field names allowed, in the files up to "manifests\/a.json"$/,
    ],
    [
      "its properties hold too many names of members",
      { "metadata/properties.yaml": `properties: [{type: a, value: ${namesOf(0, 20_000)}}]` },
      /^bundle is too large: it contains more than the 20000 different field names allowed, in the files up to "metadata\/properties.yaml"$/,
    ],
    [
      "a file of its metadata that is read for dependencies contains too many names of members",
      { "metadata/x.yaml": `dependencies: [{type: a, value: ${namesOf(0, 20_000)}}]` },
      /^bundle is too large: it contains more than the 20000 different field names allowed, in the files up to "metadata\/x.yaml"$/,
    ],
    [
      "one object contains too many names of members",
      { "manifests/a.yaml": manyNames(0, 7_000) },
      /^bundle is too large: an object in file "manifests\/a.yaml" contains 700\d different field names, more than the 6500 allowed in one object$/,
    ],
    [
      "the folder of its metadata contains too many lines",
      { "metadata/x": "\n".repeat(150_000), "metadata/y": "\n".repeat(60_000) },
      /^bundle is too large: folder "metadata" contains 2100\d\d lines, list items and members in the files up to "metadata\/y", more than the 200000 allowed for metadata$/,
    ],
    [
      "its annotations file is huge",
      { "metadata/annotations.yaml": `annotations: {a: [${"{},".repeat(20_000)}]}` },
      /^bundle is too large: file "metadata\/annotations.yaml" contains more lines and members than the 20000 allowed in this file$/,
    ],
  ])("loadBundle throws a terminal error with limit, number and file when %s", (_, files, message) => {
    const err = failureOf(() => loadBundle(bundleFiles(files)));
    expect(findTerminalError(err)).toMatchObject({ reason: "Blocked", message: expect.stringMatching(message) });
  });
});

test("readManifestObjects calls onMember for each field before it reads the next field, and stops when onMember throws", () => {
  for (const text of [manyNames(0, 1_000), JSON.stringify(parseYaml(manyNames(0, 1_000)))]) {
    const names: string[] = [];
    const stop = new Error("enough");
    const err = failureOf(() =>
      readManifestObjects("m", Buffer.from(text), (name) => {
        names.push(name);
        if (names.length === 10) throw stop;
      }),
    );
    expect(causesOf(err)).toContain(stop);
    expect(names).toHaveLength(10);
  }
});

test("countSeparators counts at least one separator for each value in every style", () => {
  for (const text of ["[1,2,3]", "{a: {b: {c: 1}}}", "- - - a\n", "a:\n  b:\n  - c\n", '{"a":[[[]]],"b":null}', "a: 1\r\nb: 2\rc: 3"]) {
    const [object] = readManifestObjects(
      "m",
      Buffer.from(`kind: A\nx: ${text.startsWith("-") || text.startsWith("a:") ? `\n${text.replaceAll(/^/gm, " ")}` : text}\n`),
    );
    expect(countSeparators(Buffer.from(`\n\n${text}\n`)), text).toBeGreaterThanOrEqual(countValues(object?.["x"], 0) - 1);
  }
});

test("isWithin returns false when files exceed a limit, and does not read files with too many bytes", () => {
  const files = new Map([["a", Buffer.from("\n\n\n")]]);
  expect(isWithin(files, { bytes: 3, separators: 3 })).toBe(true);
  expect(isWithin(files, { bytes: 3, separators: 2 })).toBe(false);
  const unread = new Proxy(Buffer.from("\n\n\n"), {
    get: (target, key) => {
      if (key === "byteLength") return target.byteLength;
      throw new Error("it was read");
    },
  });
  expect(isWithin(new Map([["a", unread]]), { bytes: 2, separators: 9 })).toBe(false);
});

test.skipIf(!existsSync(REAL_BUNDLES))("BUNDLE_LIMITS are at least ten times the size of the largest real bundle", () => {
  const found = { files: 0, bytes: 0, separators: 0, fileSeparators: 0, memberNames: 0, objectMemberNames: 0 };
  for (const name of readdirSync(REAL_BUNDLES))
    for (const version of readdirSync(join(REAL_BUNDLES, name))) {
      const folder = join(REAL_BUNDLES, name, version);
      if (!statSync(folder).isDirectory()) continue;
      const contents = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
      const separators = contents.map((content) => countSeparators(content));
      const names = new Set<string>();
      for (const file of readdirSync(join(folder, "manifests")))
        for (const object of objectsIn(join(folder, "manifests", file))) {
          const own = new Set<string>();
          forEachMember(object, (member) => own.add(member));
          found.objectMemberNames = Math.max(found.objectMemberNames, own.size);
          for (const member of own) names.add(member);
        }
      found.memberNames = Math.max(found.memberNames, names.size);
      found.files = Math.max(found.files, contents.length);
      found.bytes = Math.max(
        found.bytes,
        contents.reduce((sum, { byteLength }) => sum + byteLength, 0),
      );
      found.fileSeparators = Math.max(found.fileSeparators, ...separators);
      found.separators = Math.max(
        found.separators,
        separators.reduce((sum, count) => sum + count, 0),
      );
    }
  expect(found.bytes).toBeGreaterThan(1_000_000);
  for (const [limit, most] of Object.entries(found) as [keyof typeof found, number][])
    expect(BUNDLE_LIMITS[limit], limit).toBeGreaterThanOrEqual(10 * most);
});
