import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../api/k8s.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { selectPackage, toMeta } from "./content.ts";
import { LIFECYCLE_LIMITS, LIFECYCLE_SCHEMA, readLifecycle } from "./lifecycleDocument.ts";
import { explainMissingSupport, findNextSupportChange, findVersionSupport, formatSupport, isSupported } from "./versionSupport.ts";

/** The example of the enhancement, shortened. */
const DOCUMENT = {
  schema: LIFECYCLE_SCHEMA,
  package: "efs",
  versions: [
    {
      name: "4.12",
      phases: [
        { name: "Full support", startDate: "2023-01-17", endDate: "2023-08-17" },
        { name: "Maintenance support", startDate: "2023-08-18", endDate: "2024-07-17" },
      ],
      platformCompatibility: [{ name: "openshift", versions: ["4.12", "4.23"] }],
    },
    { name: "4.17", phases: [{ name: "Full support", startDate: "2024-10-01", endDate: "2025-05-25" }] },
  ],
};
const { lifecycle: LIFECYCLE } = readLifecycle(DOCUMENT);
const known = (major: number, minor: number): ClusterVersion => ({ kind: "known", text: `${major}.${minor}.0`, minor: { major, minor } });

test("readLifecycle reads the example of the enhancement without faults", () => {
  expect(readLifecycle(DOCUMENT)).toEqual({ lifecycle: { versions: DOCUMENT.versions }, faults: [] });
});

describe("readLifecycle omits invalid parts", () => {
  const phase = { name: "Full support", startDate: "2025-01-01", endDate: "2025-12-31" };
  const version = (change: object): JsonObject => ({ versions: [{ name: "1.2", phases: [phase], ...change }] });
  test.each([
    ["versions missing", {}, ["versions: expected a list, got null", "versions: expected at least one valid version"]],
    [
      "versions not a list",
      { versions: "x" },
      ["versions: expected a list, got a string", "versions: expected at least one valid version"],
    ],
    [
      "version not an object",
      { versions: [7] },
      ["versions[0]: expected an object, got a number: 7", "versions: expected at least one valid version"],
    ],
    [
      "an unquoted number as version",
      version({ name: 4.1 }),
      [
        expect.stringContaining("versions[0].name: expected a string, got a number: 4.1; put the value in quotes"),
        "versions: expected at least one valid version",
      ],
    ],
    [
      "a version of one number",
      version({ name: "4" }),
      ['versions[0].name: "4" is not in the form MAJOR.MINOR', "versions: expected at least one valid version"],
    ],
    ["no phases", version({ phases: [] }), ["versions[0].phases: expected at least one valid phase"]],
    [
      "an impossible day",
      version({ phases: [{ ...phase, endDate: "2025-02-30" }] }),
      [
        'versions[0].phases[0].endDate: "2025-02-30" is not a day in the form YYYY-MM-DD',
        "versions[0].phases: expected at least one valid phase",
      ],
    ],
    [
      "a phase that ends before it starts",
      version({ phases: [{ ...phase, endDate: "2024-12-31" }] }),
      ["versions[0].phases[0]: endDate 2024-12-31 is before startDate 2025-01-01", "versions[0].phases: expected at least one valid phase"],
    ],
    [
      "a gap",
      version({ phases: [phase, { name: "Late", startDate: "2026-02-01", endDate: "2026-03-01" }] }),
      ['versions[0]: phase "Late" does not start on the day after phase "Full support"'],
    ],
    [
      "platforms without versions",
      version({ platformCompatibility: [{ name: "openshift", versions: [] }] }),
      ["versions[0].platformCompatibility[0].versions: expected at least one valid version"],
    ],
    [
      "a version twice",
      {
        versions: [
          { name: "1.2", phases: [phase] },
          { name: "v1.2.0", phases: [phase] },
        ],
      },
      ["versions[1]: version 1.2 occurs more than once"],
    ],
  ])("%s", (_, blob, faults) => {
    expect(readLifecycle(blob).faults).toEqual(faults);
  });

  test("and parts beyond the limits", () => {
    const many = Array.from({ length: LIFECYCLE_LIMITS.versions + 1 }, (_, i) => ({ name: `1.${i}`, phases: [phase] }));
    const { lifecycle, faults } = readLifecycle({ versions: many });
    expect(lifecycle.versions).toHaveLength(LIFECYCLE_LIMITS.versions);
    expect(faults).toEqual([`versions: ${many.length} items, only the first ${LIFECYCLE_LIMITS.versions} count`]);
    const broken = readLifecycle({ versions: Array.from({ length: 400 }, () => null) });
    expect(broken.faults).toHaveLength(LIFECYCLE_LIMITS.faults);
  });

  test("of any JSON without an error, and reads its own result without faults in dates and names", () => {
    const part = fc.jsonValue({ maxDepth: 4 });
    const near = fc.record({
      versions: fc.array(
        fc.record({
          name: fc.oneof(part, fc.constantFrom("1.2", "4.10", "v3.1.2")),
          phases: fc.oneof(
            part,
            fc.array(
              fc.record({
                name: fc.oneof(part, fc.string()),
                startDate: fc.oneof(part, fc.constant("2025-01-01")),
                endDate: fc.constantFrom("2025-06-01", "2024-02-31", 5),
              }),
            ),
          ),
          platformCompatibility: fc.oneof(
            part,
            fc.array(fc.record({ name: fc.string(), versions: fc.array(fc.constantFrom("4.1", 4.1, "x")) })),
          ),
        }),
      ),
    });
    fc.assert(
      fc.property(fc.oneof(near, fc.dictionary(fc.string(), part)), (blob) => {
        const { lifecycle } = readLifecycle(blob);
        expect(readLifecycle({ ...lifecycle }).lifecycle).toEqual(lifecycle);
      }),
    );
  });
});

test("selectPackage has the support phases of the package, and none if several objects contain them", () => {
  const other = toMeta({ ...DOCUMENT, package: "other" });
  expect(selectPackage([toMeta(DOCUMENT), other], "efs").lifecycle).toEqual(LIFECYCLE);
  expect(selectPackage([toMeta(DOCUMENT), toMeta(DOCUMENT)], "efs").lifecycle).toEqual({ versions: [] });
  expect(selectPackage([toMeta({ schema: "olm.package", name: "efs" })], "efs").lifecycle).toBeUndefined();
});

test.each([
  ["on the first day", "4.12", "2023-01-17", "Full support until 2023-08-17, support ends on 2024-07-17", true],
  ["on the last day of a phase", "4.12", "2023-08-17", "Full support until 2023-08-17, support ends on 2024-07-17", true],
  ["on the next day", "4.12", "2023-08-18", "Maintenance support until 2024-07-17", true],
  ["after the last day", "4.12", "2024-07-18", "support ended on 2024-07-17", false],
  ["before the first day", "4.12", "2023-01-16", "not supported before 2023-01-17 (Full support)", false],
  ["without data of the version", "4.13", "2023-08-18", "unknown", false],
  ["without a time", "4.12", undefined, "unknown", false],
])("findVersionSupport finds the phase %s", (_, name, today, text, supported) => {
  const [major = 0, minor = 0] = name.split(".").map(Number);
  const { platformVersions: _versions, ...support } = findVersionSupport(LIFECYCLE, { major, minor }, { today, cluster: { kind: "none" } });
  expect(formatSupport(support)).toBe(text);
  expect(isSupported(support)).toBe(supported);
});

test.each([
  ["Compatible", known(4, 12), undefined],
  ["Compatible", known(5, 0), undefined],
  ["Incompatible", known(4, 13), "it supports OpenShift 4.12, 4.23, but the cluster has 4.13"],
  ["Unknown", { kind: "none" }, undefined],
  ["Unknown", { kind: "unknown", reason: "x" }, undefined],
] as const)("findVersionSupport reports platform %s for cluster %j", (platform, cluster, why) => {
  const support = findVersionSupport(LIFECYCLE, { major: 4, minor: 12 }, { today: "2023-02-01", cluster });
  expect(support).toMatchObject({ state: "Supported", platform, platformVersions: ["4.12", "4.23"] });
  expect(explainMissingSupport(support, cluster)).toBe(why);
  expect(isSupported(support)).toBe(why === undefined);
});

test("findVersionSupport does not count a version without data as supported", () => {
  const none = findVersionSupport(undefined, { major: 1, minor: 0 }, { today: "2023-02-01", cluster: known(4, 12) });
  expect(none).toEqual({ state: "Unknown", platform: "Unknown" });
  expect(isSupported(none)).toBe(false);
  expect(explainMissingSupport(none, known(4, 12))).toContain("unknown does not count as supported");
});

test.each([
  ["before all phases", "2022-12-31T12:00:00Z", "2023-01-17T00:00:00Z"],
  ["in a phase", "2023-08-17T23:59:59Z", "2023-08-18T00:00:00Z"],
  ["between versions", "2024-08-01T00:00:00Z", "2024-10-01T00:00:00Z"],
  ["after all phases", "2025-05-26T00:00:00Z", undefined],
])("findNextSupportChange finds the next start or end %s", (_, now, next) => {
  const found = findNextSupportChange(LIFECYCLE, Date.parse(now));
  expect(found).toBe(next === undefined ? undefined : Date.parse(next));
});
