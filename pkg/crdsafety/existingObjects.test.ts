import { describe, expect, test } from "vitest";
import { hasValidationRules, listObjectChecks, listRemovedServedVersions, listStoredVersionChanges } from "./existingObjects.ts";

interface Short {
  [version: string]: { served?: boolean; storage?: boolean; type: string };
}

function crd(versions: Short, { stored = [] as string[], webhook = false } = {}): unknown {
  return {
    spec: {
      group: "g.io",
      names: { kind: "K" },
      ...(webhook ? { conversion: { strategy: "Webhook" } } : {}),
      versions: Object.entries(versions).map(([name, { served = true, storage = false, type }]) => ({
        name,
        served,
        storage,
        schema: { openAPIV3Schema: { type } },
      })),
    },
    status: { storedVersions: stored },
  };
}

const A = { type: "a" };
const B = { type: "b" };

// Source: S0-045, S2-33.
describe("listObjectChecks", () => {
  const checks = (before: unknown, after: unknown): string[] =>
    listObjectChecks(before, after).map(
      ({ apiVersion, kind, version, schema }) => `${kind} of ${apiVersion} as ${version}: ${(schema as { type: string }).type}`,
    );

  test("listObjectChecks returns a check for each changed version that both CRDs serve", () => {
    expect(checks(crd({ v1: A, v2: A, v3: A }), crd({ v1: B, v2: A, v3: { ...B, served: false } }))).toEqual(["K of g.io/v1 as v1: b"]);
  });

  test("listObjectChecks returns no checks if no schema changes", () => {
    expect(checks(crd({ v1: A }), crd({ v1: A, v2: B }))).toEqual([]);
  });

  test("listObjectChecks returns a check of the new storage version when the CRDs have no common version, unless a webhook converts objects", () => {
    const before = crd({ v1beta1: A, v1: A });
    expect(checks(before, crd({ v2: B, v3: { ...A, storage: true } }))).toEqual(["K of g.io/v1 as v3: a"]);
    expect(checks(before, crd({ v3: { ...B, storage: true } }, { webhook: true }))).toEqual([]);
  });
});

// Source: S0-047.
test("listRemovedServedVersions returns served versions that were removed, but not versions that are only no longer served", () => {
  const before = crd({ v1: A, v2: A, v3: { ...A, served: false }, v4: A });
  expect(listRemovedServedVersions(before, crd({ v2: { ...A, served: false }, v4: A }))).toEqual(["v1"]);
});

// Source: S0-048.
test("listStoredVersionChanges returns a dropped storage version separately from other dropped stored versions", () => {
  const before = crd({ v1: A, v2: { ...A, storage: true }, v3: A }, { stored: ["v1", "v2", "v3"] });
  expect(listStoredVersionChanges(before, crd({ v3: A }))).toEqual({ versions: ["v1"], writtenNow: ["v2"], unserved: [] });
  expect(listStoredVersionChanges(before, before)).toEqual({ versions: [], writtenNow: [], unserved: [] });
});

test("listStoredVersionChanges returns stored versions that the new CRD no longer serves, but not its storage version", () => {
  const hidden = { ...A, served: false };
  const before = crd({ v1: A, v2: hidden, v3: { ...A, storage: true }, v4: A }, { stored: ["v1", "v2", "v3"] });
  const after = crd({ v1: hidden, v2: hidden, v3: { ...hidden, storage: true }, v4: hidden });
  expect(listStoredVersionChanges(before, after)).toEqual({ versions: [], writtenNow: [], unserved: ["v1"] });
});

test("hasValidationRules assumes rules when the paths of a schema are too long to find them", () => {
  const property = { "x-kubernetes-validations": [{ rule: "true" }] };
  expect(hasValidationRules({ properties: { x: property } })).toBe(true);
  expect(hasValidationRules({ properties: { x: {} } })).toBe(false);
  expect(hasValidationRules({ properties: { ["x".repeat(5_000)]: property } })).toBe(true);
});
