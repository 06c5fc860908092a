import { describe, expect, test } from "vitest";
import { bundleFiles } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { getErrorMessage, RetryableError } from "../errors/errors.ts";
import { encodeGoJson } from "../golang/json.ts";
import { loadBundle } from "./load.ts";
import { listSupportedInstallModes } from "./validate.ts";

interface LoadCase extends CaseHead {
  files: Record<string, string>;
  packageName?: string;
  csv?: string;
  crds?: string;
  others?: string;
  dependencies?: unknown[];
  statedVersion?: string;
  cautions?: string[];
  error?: string;
  /** Files to omit. */
  without?: string[];
}

const inGoOrder = (value: unknown) => encodeGoJson(value, { sortKeys: false });

test.for(loadCases<LoadCase>("bundle-load"))("loadBundle: $name", ({ files: given, without = [], error, ...expected }) => {
  const files = new Map([...bundleFiles(given)].filter(([path]) => !without.includes(path)));
  if (error !== undefined) {
    expect(() => loadBundle(files)).toThrow(new RetryableError("Retrying", error));
    return;
  }
  const bundle = loadBundle(files);
  expect(bundle.packageName).toBe(expected.packageName ?? "p");
  if (expected.csv !== undefined) expect(inGoOrder(bundle.csv)).toBe(expected.csv);
  expect(inGoOrder(bundle.crds)).toBe(expected.crds ?? "[]");
  expect(inGoOrder(bundle.others)).toBe(expected.others ?? "[]");
  if (expected.dependencies) expect(bundle.dependencies).toEqual({ properties: expected.dependencies, faults: [] });
  if (expected.statedVersion !== undefined) expect(bundle.statedVersion).toBe(expected.statedVersion);
  if (expected.cautions) expect(bundle.cautions).toEqual(expected.cautions);
});

function failureOf(fn: () => unknown): unknown {
  try {
    return fn();
  } catch (err) {
    return err;
  }
}

describe("loadBundle with invalid bundles", () => {
  test("loadBundle reports file, line and reason of invalid YAML without quoting it", () => {
    const broken = bundleFiles({ "manifests/b.yaml": "kind: A\nsecret: [x\n  y: z\n" });
    expect(() => loadBundle(broken)).toThrow(
      /^error parsing objects in "manifests\/b.yaml": error parsing manifests\/b.yaml: error converting YAML to JSON: yaml: line \d: [^\n]+$/,
    );
  });

  test("loadBundle truncates the message about a huge object without a kind to the size limit of a condition", () => {
    const huge = bundleFiles({ "manifests/b.yaml": `metadata: {name: "${"x".repeat(1_000_000)}"}` });
    const message = getErrorMessage(failureOf(() => loadBundle(huge)));
    expect(message).toMatch(
      /^error parsing objects in "manifests\/b.yaml": unable to decode "manifests\/b.yaml": Object 'Kind' is missing in /,
    );
    expect(message).toHaveLength(32_768);
  });

  test("loadBundle rejects a bundle with more than 2,000 files or 72 MiB", () => {
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`manifests/${index}.yaml`, "kind: A\n"]));
    expect(() => loadBundle(bundleFiles(many))).toThrow("bundle is too large: it contains 2002 files, more than the 2000 allowed");
    const large = new Map(bundleFiles({})).set("manifests/z.yaml", new Uint8Array(72 * 1024 * 1024));
    expect(() => loadBundle(large)).toThrow(/^bundle is too large: it contains \d+ bytes, more than the 75497472 allowed$/);
  });

  test("loadBundle rejects a bundle with more than 2,000 objects, including the objects that its ClusterServiceVersion declares", () => {
    const documents = (count: number): string => Array.from({ length: count }, () => "kind: A\n").join("---\n");
    const rights = `permissions: [${Array.from({ length: 1_000 }, () => "{serviceAccountName: a}").join(", ")}]`;
    const csv = `kind: ClusterServiceVersion\nspec: {install: {spec: {${rights}}}}\n`;
    const files = (count: number) => bundleFiles({ "manifests/a.yaml": documents(count), "manifests/csv.yaml": csv });
    expect(loadBundle(files(999)).others).toHaveLength(999);
    expect(() => loadBundle(files(1_000))).toThrow("bundle is too large: it contains 2001 objects, more than the 2000 allowed");
  });

  test("loadBundle rejects a small text whose aliases expand to a huge value", () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `l${level + 1}: &l${level + 1} [${Array.from({ length: 10 }, () => `*l${level}`).join(", ")}]`,
    );
    const bomb = bundleFiles({ "manifests/b.yaml": ["kind: A", "l0: &l0 x", ...levels, ""].join("\n") });
    expect(() => loadBundle(bomb)).toThrow("document contains excessive aliasing");
  });

  test("loadBundle rejects JSON that is nested deeper than the stack", () => {
    const deep = bundleFiles({ "manifests/b.yaml": `{"kind":"A","a":${"[".repeat(200_000)}${"]".repeat(200_000)}}` });
    expect(() => loadBundle(deep)).toThrow('error parsing objects in "manifests/b.yaml": its content is nested too deeply');
  });
});

test("loadBundle reads files in the order of their names", () => {
  const others = { "manifests/z.txt": "kind: Z\n", "manifests/b": "kind: B\n", "manifests/a.yaml": "kind: A1\n---\nkind: A2\n" };
  expect(loadBundle(bundleFiles(others)).others.map(({ kind }) => kind)).toEqual(["A1", "A2", "B", "Z"]);
});

test("loadBundle keeps a field named __proto__", () => {
  const { others } = loadBundle(bundleFiles({ "manifests/a.yaml": '{"kind":"A","data":{"__proto__":{"polluted":true}}}' }));
  expect(encodeGoJson(others)).toBe('[{"data":{"__proto__":{"polluted":true}},"kind":"A"}]');
});

test("loadBundle appends the properties in metadata/properties.yaml to the properties in annotation olm.properties", () => {
  const { csv } = loadBundle(
    bundleFiles({
      "manifests/csv.yaml": `kind: ClusterServiceVersion\nmetadata: {annotations: {olm.properties: '[{"type":"olm.maxOpenShiftVersion","value":"4.18"}]'}}\n`,
      "metadata/properties.yaml": "properties:\n- {type: color, value: {name: <red>}}\n",
    }),
  );
  expect(csv.metadata.annotations?.["olm.properties"]).toBe(
    '[{"type":"olm.maxOpenShiftVersion","value":"4.18"},{"type":"color","value":{"name":"\\u003cred\\u003e"}}]',
  );
});

test("listSupportedInstallModes returns supported install modes, including misspelt ones", () => {
  const modes =
    "[{type: AllNamespaces, supported: false}, {type: OwnNamespacejl, supported: true}, {type: SingleNamespace, supported: true}]";
  const { csv } = loadBundle(bundleFiles({ "manifests/csv.yaml": `kind: ClusterServiceVersion\nspec: {installModes: ${modes}}\n` }));
  expect([...listSupportedInstallModes(csv)]).toEqual(["OwnNamespacejl", "SingleNamespace"]);
});
