import * as fc from "fast-check";
import { expect, test } from "vitest";
import { HeldRule, type PolicyRule, splitRule, toRule } from "./policyRule.ts";
import { RuleIndex } from "./ruleIndex.ts";
import { listUrlRules } from "./ruleSets.ts";

const some = (...values: string[]): fc.Arbitrary<string[]> => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const VERBS = some("get", "list", "*");
const resourceRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    apiGroups: some("", "apps", "*"),
    resources: some("pods", "pods/log", "*/log", "*/status", "*"),
    resourceNames: some("a", "b"),
    verbs: VERBS,
  },
  { requiredKeys: ["apiGroups", "resources", "verbs"] },
);
const urlRule: fc.Arbitrary<PolicyRule> = fc.record({
  nonResourceURLs: some("/a", "/a*", "/a/b", "/a/*", "/ab", "/*", "/b", "*"),
  verbs: VERBS,
});
const rules = fc.array(fc.oneof(resourceRule, urlRule), { maxLength: 5 });

/** A rule with more permissions than the index contains. */
const LARGE: PolicyRule = {
  apiGroups: ["large"],
  resources: Array.from({ length: 100 }, (_, at) => `r${at}`),
  resourceNames: Array.from({ length: 101 }, (_, at) => `n${at}`),
  nonResourceURLs: ["/large/*"],
  verbs: ["get"],
};

test("RuleIndex grants a permission if and only if one of the rules covers it", () => {
  fc.assert(
    fc.property(rules, rules, (held, needed) => {
      const index = new RuleIndex(held);
      const isCovered = (permission: PolicyRule): boolean => held.some((rule) => new HeldRule(rule).covers(permission));
      for (const grant of needed.flatMap(splitRule)) expect(index.hasGrant(grant)).toBe(isCovered(toRule(grant)));
      for (const one of needed.flatMap(listUrlRules)) {
        const {
          nonResourceURLs: [url = ""] = [],
          verbs: [verb = ""],
        } = one;
        expect(index.hasUrl(url, verb)).toBe(isCovered(one));
      }
      const permissions = needed.flatMap((rule) => [...splitRule(rule).map(toRule), ...listUrlRules(rule)]);
      expect(index.hasAll(needed)).toBe(permissions.every(isCovered));
    }),
    { numRuns: 1_000 },
  );
});

test.for<[what: string, rule: PolicyRule, granted: boolean]>([
  ["a resource and name in it", { apiGroups: ["large"], resources: ["r99"], resourceNames: ["n100"], verbs: ["get"] }, true],
  ["all names", { apiGroups: ["large"], resources: ["r99"], verbs: ["get"] }, false],
  ["another name", { apiGroups: ["large"], resources: ["r99"], resourceNames: ["n101"], verbs: ["get"] }, false],
  ["a URL in it", { nonResourceURLs: ["/large/x"], verbs: ["get"] }, true],
  ["another verb on the URL", { nonResourceURLs: ["/large/x"], verbs: ["post"] }, false],
])("RuleIndex decides about %s when a rule is too large for the index", ([, rule, granted]) => {
  expect(new RuleIndex([LARGE]).hasAll([rule])).toBe(granted);
});

test("RuleIndex finds each of 300,000 names when a rule is too large for the index", () => {
  const resourceNames = Array.from({ length: 300_000 }, (_, at) => `n${at}`);
  const rule: PolicyRule = { apiGroups: [""], resources: ["configmaps"], resourceNames, verbs: ["get"] };
  expect(new RuleIndex([rule]).hasAll([rule])).toBe(true);
});
