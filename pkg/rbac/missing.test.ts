import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { HeldRule, type PolicyRule } from "./policyRule.ts";
import type { RequiredRules } from "./requiredRules.ts";
import {
  findMissingPolicyRules,
  findMissingRules,
  formatRuleLines,
  type GrantedRules,
  intersectRules,
  isEmptyRules,
  mergeRequiredRules,
} from "./ruleSets.ts";

type ByScope = Record<string, PolicyRule[]>;

interface MissingCase extends CaseHead {
  given: { needed: ByScope; held: ByScope };
  want: ByScope;
}

interface LinesCase extends CaseHead {
  given: { rules: ByScope; maxBytes: number };
  want: string[];
}

function rulesOf({ "": clusterRules = [], ...namespaces }: ByScope): RequiredRules {
  return { clusterRules, namespaceRules: new Map(Object.entries(namespaces)), unknownKinds: [] };
}

function byScope({ clusterRules, namespaceRules }: RequiredRules): ByScope {
  return { ...(clusterRules.length > 0 ? { "": clusterRules } : {}), ...Object.fromEntries(namespaceRules) };
}

test.for(loadCases<MissingCase>("rbac-missing"))("$name", ({ given: { needed, held }, want }) => {
  const missing = findMissingRules(rulesOf(needed), rulesOf(held));
  expect(byScope(missing)).toEqual(want);
  expect(isEmptyRules(missing)).toBe(Object.keys(want).length === 0);
});

test.for(loadCases<LinesCase>("rbac-lines"))("$name", ({ given: { rules, maxBytes }, want }) => {
  expect(formatRuleLines(rulesOf(rules), maxBytes)).toEqual(want);
});

const some = (...values: string[]): fc.Arbitrary<string[]> => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const resourceRule = (wild: string[]): fc.Arbitrary<PolicyRule> =>
  fc.record(
    {
      apiGroups: some("", "apps", ...wild),
      resources: some("as", "bs", "as/status", ...wild),
      resourceNames: fc.uniqueArray(fc.constantFrom("x", "y"), { maxLength: 2 }),
      verbs: some("get", "patch", "escalate", ...wild),
    },
    { requiredKeys: ["apiGroups", "resources", "verbs"] },
  );
const urlRule: fc.Arbitrary<PolicyRule> = fc.record({ nonResourceURLs: some("/a", "/a/b", "/*"), verbs: some("get", "post") });
const list = (...wild: string[]): fc.Arbitrary<PolicyRule[]> =>
  fc.array(fc.oneof({ weight: 4, arbitrary: resourceRule(wild) }, urlRule), { maxLength: 4 });
const scopes = (...wild: string[]): fc.Arbitrary<RequiredRules> =>
  fc.record({ "": list(...wild), ns: list(...wild), other: list(...wild) }).map(rulesOf);

/** Returns the rules of a subject with both `a` and `b`. */
function both(a: GrantedRules, b: RequiredRules): GrantedRules {
  const names = [...new Set([...a.namespaceRules.keys(), ...b.namespaceRules.keys()])];
  return {
    clusterRules: [...a.clusterRules, ...b.clusterRules],
    namespaceRules: new Map(names.map((name) => [name, [...(a.namespaceRules.get(name) ?? []), ...(b.namespaceRules.get(name) ?? [])]])),
  };
}

test("findMissingRules returns no rules when the rules that it returned before are granted", () => {
  fc.assert(
    fc.property(scopes("*"), scopes("*"), (needed, held) => {
      expect(isEmptyRules(findMissingRules(needed, both(held, findMissingRules(needed, held))))).toBe(true);
    }),
  );
});

test("findMissingRules returns only permissions that are needed and not granted", () => {
  fc.assert(
    fc.property(list("*"), list("*"), (needed, held) => {
      for (const rule of findMissingPolicyRules(needed, held)) {
        expect(findMissingPolicyRules([rule], needed)).toEqual([]);
        expect(findMissingPolicyRules([rule], held)).toEqual([rule]);
      }
    }),
  );
});

test("findMissingRules returns all needed rules when no rules are granted, and never more rules when more are granted", () => {
  fc.assert(
    fc.property(scopes(), scopes("*"), scopes("*"), (needed, held, more) => {
      const missing = findMissingRules(needed, held);
      expect(byScope(findMissingRules(needed, { clusterRules: [], namespaceRules: new Map() }))).toEqual(
        byScope(findMissingRules(mergeRequiredRules([needed]), { clusterRules: [], namespaceRules: new Map() })),
      );
      expect(isEmptyRules(findMissingRules(findMissingRules(needed, both(held, more)), both(missing, needed)))).toBe(true);
      const reversed = { clusterRules: held.clusterRules.toReversed(), namespaceRules: new Map([...held.namespaceRules].reverse()) };
      expect(findMissingRules(needed, reversed)).toEqual(missing);
    }),
  );
});

test("intersectRules returns permissions that are in both sets, and that findMissingRules does not return", () => {
  fc.assert(
    fc.property(scopes(), scopes(), (some, others) => {
      const common = intersectRules(some, others);
      expect(isEmptyRules(findMissingRules(common, some)) && isEmptyRules(findMissingRules(common, others))).toBe(true);
      expect(isEmptyRules(intersectRules(findMissingRules(some, others), others))).toBe(true);
    }),
  );
});

test("findMissingRules never returns a rule that a granted rule covers", () => {
  fc.assert(
    fc.property(resourceRule(["*"]), resourceRule([]), (held, needed) => {
      if (new HeldRule(held).covers(needed)) expect(findMissingPolicyRules([needed], [held])).toEqual([]);
    }),
  );
});

test("formatRuleLines stays within its byte limit when many rules are omitted", () => {
  fc.assert(
    fc.property(scopes("*"), fc.integer({ min: 60, max: 2_000 }), (rules, maxBytes) => {
      expect(Buffer.byteLength(formatRuleLines(rules, maxBytes).join("\n  "))).toBeLessThanOrEqual(maxBytes);
    }),
  );
});
