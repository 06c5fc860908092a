import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { Property } from "../../fbc/types.ts";
import { parseVersionRelease } from "../../version/version.ts";
import type { InstalledProvider } from "../releases/installedReleases.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";
import { Dependents } from "./installContext.ts";

interface Given {
  /** Properties of the installed bundle of each extension. */
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
  const base = createExtension(name, { packageName: name });
  const metadata = deleted.includes(name) ? { ...base.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } : base.metadata;
  return { ...base, metadata, spec: ignoring.includes(name) ? { ...base.spec, dependencies: { policy: "Ignore" } } : base.spec };
}

/** Returns the dependents of `a`, and the number of requests to the API server. */
async function dependentsOnA(given: Given): Promise<{ found: string[] | undefined; requests: number }> {
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
  let requests = 0;
  const dependents = new Dependents({
    extensions: { get: (name) => extension(name, given) },
    installed: { list: () => list, unread: () => given.unread ?? [] },
    apis: {
      resources: () => {
        requests++;
        return Promise.resolve([]);
      },
    },
    constraints: new ConstraintCache(loadCelRules),
    memory: { isUninstalling: (name) => given.uninstalling?.includes(name) ?? false },
  });
  return { found: (await dependents.of("a"))?.map((dependent) => dependent.extension), requests };
}

// Source: H-14.
test.for<[why: string, given: Given, found: string[] | undefined, requests: number]>([
  ["extensions whose bundle requires the package", { installed: { a: [], b: needs("a"), c: [], d: needs("c") } }, ["b"], 1],
  ["extensions whose bundle requires one of its properties", { installed: { a: [{ type: "certified", value: "" }], b: [CEL] } }, ["b"], 1],
  ["no extension that is being deleted", { installed: { a: [], b: needs("a") }, deleted: ["a", "b"] }, [], 1],
  ["no extension that ignores dependencies, without a request", { installed: { a: [], b: needs("a") }, ignoring: ["b"] }, [], 0],
  ["nothing when no bundle requires another one", { installed: { a: needs("b"), b: [] } }, [], 0],
  ["no extension that another installed bundle also satisfies", { installed: { a: [], b: [], c: [ANY] } }, [], 1],
  [
    "an extension when the other bundle is being uninstalled",
    { installed: { a: [], b: [], c: [ANY] }, deleted: ["b"], uninstalling: ["b"] },
    ["c"],
    1,
  ],
  ["undefined while releases of other extensions are being read", { installed: { a: [] }, unread: ["b"] }, undefined, 0],
  ["a list while only its own release is being read", { installed: { b: needs("a") }, unread: ["a"] }, [], 1],
])("Dependents returns %s", async ([, given, found, requests]) => {
  expect(await dependentsOnA(given)).toEqual({ found, requests });
});
