import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import type { Property } from "../../fbc/types.ts";
import { parseRange } from "../../version/blang.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { CelRules } from "../cel/celRules.ts";
import type { BundleConstraint, Gvk } from "../constraint/constraint.ts";
import { isSatisfied } from "../constraint/evaluate.ts";
import { parseConstraints } from "../constraint/parse.ts";
import { findDependents, type InstalledMember } from "./dependents.ts";

interface Stated {
  version?: string;
  apis?: string[];
  properties?: Property[];
  requires?: Property[];
}

interface DependentsCase extends CaseHead {
  installed: Record<string, Stated>;
  served?: string[];
  going: string[];
  held: Record<string, Record<string, string[]>>;
}

const cel = new CelRules();

function gvkOf(text: string): Gvk {
  const [group = "", version = "", kind = ""] = text.split("/");
  return { group, version, kind };
}

function memberFrom(extension: string, { version = "1.0.0", apis = [], properties = [], requires = [] }: Stated): InstalledMember {
  const provider = { packageName: extension, version: parseVersionRelease(version), apis: apis.map(gvkOf), properties };
  const declared = parseConstraints({ name: `${extension}.v${version}`, properties: requires }, cel);
  expect(declared.faults).toEqual([]);
  return { extension, bundle: `${extension}.v${version}`, provider, declared };
}

/** Returns which members block others when all are removed at once. */
function heldAmong(installed: readonly InstalledMember[], names: readonly string[], served: readonly Gvk[]) {
  const all = names.map((leaving) => {
    const dependents = findDependents({ leaving, going: new Set(names.filter((name) => name !== leaving)), installed, served });
    return [leaving, Object.fromEntries(dependents.map(({ extension, needs }) => [extension, needs]))] as const;
  });
  return Object.fromEntries(all.filter(([, dependents]) => Object.keys(dependents).length > 0));
}

test.for(loadCases<DependentsCase>("dependents"))("$source: $name", ({ installed, served = [], going, held }) => {
  const members = Object.entries(installed).map(([name, stated]) => memberFrom(name, stated));
  expect(heldAmong(members, going, served.map(gvkOf))).toEqual(held);
});

const NAMES = ["a", "b", "c", "d", "e"];
const KINDS = ["K", "L", "M"];
const anyGvk: fc.Arbitrary<Gvk> = fc.constantFrom(...KINDS).map((kind) => ({ group: "g.io", version: "v1", kind }));
const range = { text: "1.0.0", versions: parseRange("1.0.0") };
const leaf: fc.Arbitrary<BundleConstraint> = fc.oneof(
  fc.constantFrom(...NAMES).map((packageName): BundleConstraint => ({ kind: "package", packageName, range })),
  anyGvk.map((gvk): BundleConstraint => ({ kind: "gvk", gvk })),
);
const positive = fc.letrec<{ constraint: BundleConstraint }>((tie) => ({
  constraint: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc
      .record({ kind: fc.constantFrom("all", "any"), constraints: fc.array(tie("constraint"), { minLength: 1, maxLength: 3 }) })
      .map((compound): BundleConstraint => compound),
  ),
})).constraint;
const version = parseVersionRelease("1.0.0");
const members: fc.Arbitrary<InstalledMember[]> = fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1 }).chain((names) =>
  fc.tuple(
    ...names.map((extension) =>
      fc.record({ apis: fc.array(anyGvk, { maxLength: 2 }), constraints: fc.array(positive, { maxLength: 3 }) }).map(
        ({ apis, constraints }): InstalledMember => ({
          extension,
          bundle: `${extension}.v1.0.0`,
          provider: { packageName: extension, version, apis, properties: [] },
          declared: { constraints },
        }),
      ),
    ),
  ),
);
const served = fc.array(anyGvk, { maxLength: 2 });
const some = fc.subarray(NAMES, { minLength: 1 });

/** Returns the constraints of `member` that `present` satisfies; the APIs of all installed members belong to their providers. */
function holding(
  member: InstalledMember,
  all: readonly InstalledMember[],
  present: readonly InstalledMember[],
  apis: readonly Gvk[],
): boolean[] {
  const ofNobody = apis.filter((gvk) => !all.some(({ provider }) => provider.apis.some(({ kind }) => kind === gvk.kind)));
  return member.declared.constraints.map((constraint) =>
    isSatisfied(
      constraint,
      present.map(({ provider }) => provider),
      ofNobody,
    ),
  );
}

test("findDependents returns exactly the extensions that break when another extension is removed", () => {
  fc.assert(
    fc.property(members, served, fc.constantFrom(...NAMES), (installed, apis, leaving) => {
      const rest = installed.filter(({ extension }) => extension !== leaving);
      const broken = rest.filter((member) => {
        const after = holding(member, installed, rest, apis);
        return holding(member, installed, installed, apis).some((before, i) => before && !after[i]);
      });
      const found = findDependents({ leaving, installed, served: apis }).map(({ extension }) => extension);
      expect(found).toEqual(broken.map(({ extension }) => extension).sort());
    }),
  );
});

test("findDependents never permits the removal of a dependency of a remaining extension, and permits the removal of all extensions at once", () => {
  fc.assert(
    fc.property(members, served, some, (installed, apis, going) => {
      const held = Object.keys(heldAmong(installed, going, apis));
      const present = installed.filter(({ extension }) => !going.includes(extension) || held.includes(extension));
      for (const member of installed.filter(({ extension }) => !going.includes(extension))) {
        const after = holding(member, installed, present, apis);
        for (const [i, before] of holding(member, installed, installed, apis).entries()) if (before) expect(after[i]).toBe(true);
      }
      expect(
        heldAmong(
          installed,
          installed.map(({ extension }) => extension),
          apis,
        ),
      ).toEqual({});
    }),
  );
});

test("findDependents does not depend on the order of installed members", () => {
  fc.assert(
    fc.property(members, served, some, (installed, apis, going) => {
      expect(heldAmong(installed.toReversed(), going, apis)).toEqual(heldAmong(installed, going, apis));
    }),
  );
});
