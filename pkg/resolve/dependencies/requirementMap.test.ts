import { expect, test } from "vitest";
import type { Property } from "../../fbc/types.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { CelRules } from "../cel/celRules.ts";
import type { Gvk } from "../constraint/constraint.ts";
import { parseConstraints } from "../constraint/parse.ts";
import type { InstalledMember } from "./dependents.ts";
import { listInstalledRequirements } from "./requirementMap.ts";

const cel = new CelRules();
const board: Gvk = { group: "example.com", version: "v1", kind: "Board" };

function memberFrom(extension: string, { apis = [], requires = [] }: { apis?: Gvk[]; requires?: Property[] }): InstalledMember {
  const provider = { packageName: extension, version: parseVersionRelease("1.0.0"), apis, properties: [] };
  return { extension, bundle: `${extension}.v1.0.0`, provider, declared: parseConstraints({ name: extension, properties: requires }, cel) };
}

const needsApi: Property = { type: "olm.gvk.required", value: board };
const needsPackage = (packageName: string, versionRange: string): Property => ({
  type: "olm.package.required",
  value: { packageName, versionRange },
});
const needsAny: Property = {
  type: "olm.constraint",
  value: { any: { constraints: [{ gvk: board }, { package: { packageName: "c", versionRange: ">=1.0.0" } }] } },
};

test.for<[string, InstalledMember[], Gvk[], object]>([
  [
    "another extension meets it",
    [memberFrom("a", { requires: [needsPackage("b", ">=1.0.0")] }), memberFrom("b", {})],
    [],
    { text: 'package "b" >=1.0.0', isMet: true, unmet: [], providers: ["b"], isServed: false, needed: ["b"] },
  ],
  [
    "no extension meets it",
    [memberFrom("a", { requires: [needsPackage("b", ">=2.0.0")] }), memberFrom("b", {})],
    [],
    { isMet: false, unmet: ['package "b" >=2.0.0'], providers: [], needed: [] },
  ],
  [
    "the cluster serves the API and no extension provides it",
    [memberFrom("a", { requires: [needsApi] })],
    [board],
    { isMet: true, providers: [], isServed: true, needed: [] },
  ],
  [
    "the cluster serves the API of an extension",
    [memberFrom("a", { requires: [needsApi] }), memberFrom("b", { apis: [board] })],
    [board],
    { isMet: true, providers: ["b"], isServed: false, needed: ["b"] },
  ],
  [
    "each of two extensions meets it",
    [memberFrom("a", { requires: [needsAny] }), memberFrom("b", { apis: [board] }), memberFrom("c", {})],
    [board],
    { isMet: true, providers: ["b", "c"], needed: [] },
  ],
  [
    "the bundle itself meets it",
    [memberFrom("a", { apis: [board], requires: [needsApi] })],
    [board],
    { isMet: true, providers: [], isServed: false, needed: [] },
  ],
])("listInstalledRequirements reports what meets a requirement when %s", ([, installed, served, want]) => {
  expect(listInstalledRequirements({ installed, served })).toEqual([
    expect.objectContaining({ extension: "a", bundle: "a.v1.0.0", ...want }),
  ]);
});
