import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** What needs no case of its own, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  "H-09": "about objects on a cluster, see test/integration/configData.test.ts",
  "H-20":
    "about what several passes do, see pkg/operatorcontroller/reconcile/pinInstalledImage.test.ts and test/integration/resolution.test.ts",
  "X-15": "about what catalogd serves after a fault, see test/integration/catalogd.test.ts and registryFaults.test.ts",
  "S1-21": "decided otherwise: a bundle's own namespace is overwritten by the install namespace",
  "S1-27": "says what a user has to have before forcing an update",
  "S2-33": "about custom resources that exist, see pkg/crdsafety/existingObjects.test.ts",
  "S2-41": "about namespaces of the classic API: resolution is for the whole cluster here",
};

const numbered = (prefix: string, from: number, to: number, width = 2): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `${prefix}${String(from + i).padStart(width, "0")}`);

/** The sources of all cases, those of single rows included. */
function sources(): string {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".yaml"));
  return files.map((file) => readFileSync(join(import.meta.dirname, file), "utf8")).join("\n");
}

test.for([
  ["update paths, ranges and targets", [...numbered("S1-", 1, 36), ...numbered("S1-Y", 1, 7, 1)]],
  [
    "dependencies and preferences",
    [...numbered("S2-", 1, 44), ...numbered("S2-Y", 2, 10, 1), "S2-Y12", ...numbered("S3-", 32, 36), "H-14"],
  ],
  ["package manifests", ["S0-006", "S0-007", "S0-008", "S4-13", "S4-14", "S4-Y2", "X-05"]],
  ["catalogs that change", ["S3-39", "S3-40", "S0-085", "S0-091", "S0-092"]],
  [
    "install modes and configuration",
    ["S0-051", "S0-052", "S0-053", "S0-054", "S0-058", "S0-064", "S0-090", "H-05", "H-06", "H-07", "H-17", "X-12"],
  ],
  ["API services", ["S0-139", "S0-140", "S0-141", "S0-142", "H-11", "H-12"]],
  ["the upgrade graph", ["S4-03", "S4-04", "S4-06", ...numbered("S4-", 8, 14), ...numbered("S4-", 16, 19)]],
  ["what installing a bundle must honour", numbered("H-", 1, 25)],
  ["contradictions", numbered("X-", 1, 21)],
] as const)("every requirement on %s has a case", ([, ids]) => {
  const found = new Set(sources().match(/\b(?:S\d|X|H)-Y?\d+\b/g));
  expect(ids.filter((id) => !found.has(id) && WITHOUT[id] === undefined)).toEqual([]);
});

test("what is said to need no case has none, and the tests that stand in for one exist", () => {
  const found = new Set(sources().match(/\b(?:S\d|X|H)-Y?\d+\b/g));
  const decided = new Set(["S1-21"]);
  expect(Object.keys(WITHOUT).filter((id) => found.has(id) && !decided.has(id))).toEqual([]);
  const named = Object.values(WITHOUT).flatMap((why) => why.match(/\b(?:pkg|test|docs)\/[\w/.-]+\.(?:ts|md)/g) ?? []);
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((file) => !existsSync(join(import.meta.dirname, "../..", file)))).toEqual([]);
});
