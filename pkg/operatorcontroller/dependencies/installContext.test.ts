import { expect, test } from "vitest";
import { extensionNamed } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Property } from "../../fbc/types.ts";
import { parseVersionRelease } from "../../version/version.ts";
import type { InstalledProvider } from "../releases/installedReleases.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";
import { Dependents } from "./installContext.ts";

interface Given {
  /** Properties of what each extension has installed. */
  installed: Record<string, Property[]>;
  deleted?: string[];
  ignoring?: string[];
  uninstalling?: string[];
  unread?: string[];
}

const needs = (...packages: string[]): Property[] =>
  packages.map((packageName) => ({ type: "olm.package.required", value: { packageName, versionRange: ">=1.0.0" } }));
const ANY: Property = {
  type: "olm.constraint",
  value: { any: { constraints: ["a", "b"].map((packageName) => ({ package: { packageName, versionRange: ">=1.0.0" } })) } },
};
const CEL: Property = { type: "olm.constraint", value: { cel: { rule: 'properties.exists(p, p.type == "certified")' } } };

function extension(name: string, { deleted = [], ignoring = [] }: Given): ClusterExtension {
  const made = extensionNamed(name, { packageName: name });
  const metadata = deleted.includes(name) ? { ...made.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } : made.metadata;
  return { ...made, metadata, spec: ignoring.includes(name) ? { ...made.spec, dependencies: { policy: "Ignore" } } : made.spec };
}

/** Who depends on `a`, and how often the API server was asked. */
async function dependentsOnA(given: Given): Promise<{ found: string[] | undefined; asked: number }> {
  const version = parseVersionRelease("1.0.0");
  const list = Object.entries(given.installed).map(
    ([name, properties]): InstalledProvider => ({
      extension: name,
      packageName: name,
      name: `${name}.v1.0.0`,
      version,
      apis: [],
      properties,
    }),
  );
  let asked = 0;
  const dependents = new Dependents({
    extensions: { get: (name) => extension(name, given) },
    installed: { list: () => list, unread: () => given.unread ?? [] },
    apis: {
      resources: () => {
        asked++;
        return Promise.resolve([]);
      },
    },
    constraints: new ConstraintCache(loadCelRules),
    memory: { isUninstalling: (name) => given.uninstalling?.includes(name) ?? false },
  });
  return { found: (await dependents.of("a"))?.map((dependent) => dependent.extension), asked };
}

// Source: H-14.
test.for<[why: string, given: Given, found: string[] | undefined, asked: number]>([
  ["whatever needs it", { installed: { a: [], b: needs("a"), c: [], d: needs("c") } }, ["b"], 1],
  ["what asks for a property of it", { installed: { a: [{ type: "certified", value: "" }], b: [CEL] } }, ["b"], 1],
  ["nothing that goes as well", { installed: { a: [], b: needs("a") }, deleted: ["a", "b"] }, [], 1],
  ["nothing that ignores dependencies, and then nobody is asked", { installed: { a: [], b: needs("a") }, ignoring: ["b"] }, [], 0],
  ["nothing, where nothing needs anything", { installed: { a: needs("b"), b: [] } }, [], 0],
  ["what could do with another one, which stays", { installed: { a: [], b: [], c: [ANY] } }, [], 1],
  [
    "the same, while that one is being uninstalled",
    { installed: { a: [], b: [], c: [ANY] }, deleted: ["b"], uninstalling: ["b"] },
    ["c"],
    1,
  ],
  ["nobody knows who, while releases are read", { installed: { a: [] }, unread: ["b"] }, undefined, 0],
  ["whose own release need not be known", { installed: { b: needs("a") }, unread: ["a"] }, [], 1],
])("on an extension depends %s", async ([, given, found, asked]) => {
  expect(await dependentsOnA(given)).toEqual({ found, asked });
});
