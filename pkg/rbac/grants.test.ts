import * as fc from "fast-check";
import { expect, test } from "vitest";
import { allowsRequest, arbitraryRule, RBAC_REQUESTS } from "../../test/support/rbacAuthorizer.ts";
import { buildRules, type Grant, HeldRule, intersects, type PolicyRule, removeCovered } from "./policyRule.ts";
import type { RequiredRules } from "./requiredRules.ts";
import { compactRules, mergeRequiredRules } from "./ruleSets.ts";

const some = (values: string[]): fc.Arbitrary<string[]> => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 });
const grant: fc.Arbitrary<Grant> = fc.record(
  {
    group: fc.constantFrom("", "apps", "example.com"),
    resource: fc.constantFrom("as", "bs", "cs"),
    name: fc.constantFrom("x", "y", "z"),
    verb: fc.constantFrom("get", "list", "create", "bind"),
  },
  { requiredKeys: ["group", "resource", "verb"] },
);
const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    apiGroups: some(["", "apps"]),
    resources: some(["as", "bs", "cs/status"]),
    resourceNames: fc.uniqueArray(fc.constantFrom("x", "y")),
    verbs: some(["get", "list", "patch"]),
  },
  { requiredKeys: ["apiGroups", "resources", "verbs"] },
);

/** Returns every permission in `rules` that `grant` can request. */
function permissionsOf(rules: readonly PolicyRule[], names: readonly (string | undefined)[]): string[] {
  const permissions = ["", "apps", "example.com"].flatMap((group) =>
    ["as", "bs", "cs", "cs/status"].flatMap((resource) =>
      ["get", "list", "create", "bind", "patch"].flatMap((verb) =>
        names.map((name) => ({
          apiGroups: [group],
          resources: [resource],
          verbs: [verb],
          ...(name === undefined ? {} : { resourceNames: [name] }),
        })),
      ),
    ),
  );
  const held = rules.map((each) => new HeldRule(each));
  return permissions.filter((one) => held.some((each) => each.covers(one))).map((one) => JSON.stringify(one));
}

const NAMES = ["x", "y", "z", "other", undefined];

test("buildRules returns rules that grant exactly the given permissions, in any order", () => {
  fc.assert(
    fc.property(fc.array(grant, { maxLength: 25 }), (grants) => {
      const single = grants.map(({ group, resource, name, verb }) => ({
        apiGroups: [group],
        resources: [resource],
        verbs: [verb],
        ...(name === undefined ? {} : { resourceNames: [name] }),
      }));
      const rules = buildRules(grants);
      expect(permissionsOf(rules, NAMES)).toEqual(permissionsOf(single, NAMES));
      expect(buildRules(grants.toReversed())).toEqual(rules);
    }),
  );
});

test.for<[member: string, toGrant: (value: string) => Grant]>([
  ["verbs", (verb) => ({ group: "", resource: "as", verb })],
  ["resourceNames", (name) => ({ group: "", resource: "as", name, verb: "get" })],
  ["resources", (resource) => ({ group: "", resource, verb: "get" })],
])("buildRules returns one rule when 100,000 permissions differ only in %s", ([member, toGrant]) => {
  const values = Array.from({ length: 100_000 }, (_, i) => `v${i}`);
  const [rule, ...others] = buildRules(values.map(toGrant));
  expect(rule).toMatchObject({ [member]: values.toSorted() });
  expect(others).toEqual([]);
});

test("compact and removeCovered return rules that grant the same permissions", () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 8 }), (rules) => {
      expect(permissionsOf(compactRules(rules), NAMES)).toEqual(permissionsOf(rules, NAMES));
      expect(permissionsOf(removeCovered(rules), NAMES)).toEqual(permissionsOf(rules, NAMES));
      expect(compactRules(compactRules(rules))).toEqual(compactRules(rules));
    }),
  );
});

test.for<[count: number, left: number]>([
  [999, 1],
  [1_000, 1_001],
])("removeCovered removes %i covered rules, or none when there are more than 1,000 rules: %i", ([count, left]) => {
  const everything: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
  const others = Array.from({ length: count }, (_, i): PolicyRule => ({ apiGroups: [""], resources: ["pods"], verbs: [`v${i}`] }));
  expect(removeCovered([everything, ...others])).toHaveLength(left);
});

test("removeCovered removes no rules when they are too large to compare", () => {
  const verbs = Array.from({ length: 1_000 }, (_, i) => `v${i}`);
  const rules = Array.from({ length: 900 }, (_, i): PolicyRule => ({ apiGroups: [""], resources: [`r${i}`], verbs }));
  const covered: PolicyRule = { apiGroups: [""], resources: ["r0"], verbs: ["v0"] };
  expect(removeCovered([...rules, covered])).toHaveLength(901);
});

test("mergeRequiredRules returns exactly the permissions of all versions", () => {
  const required = fc.record({ clusterRules: fc.array(rule, { maxLength: 3 }), ns: fc.array(rule, { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(required, { maxLength: 3 }), (versions) => {
      const all = versions.map(
        ({ clusterRules, ns }): RequiredRules => ({ clusterRules, namespaceRules: new Map([["ns", ns]]), unknownKinds: [] }),
      );
      const union = mergeRequiredRules(all);
      expect(permissionsOf(union.clusterRules, NAMES)).toEqual(
        permissionsOf(
          versions.flatMap(({ clusterRules }) => clusterRules),
          NAMES,
        ),
      );
      expect(permissionsOf(union.namespaceRules.get("ns") ?? [], NAMES)).toEqual(
        permissionsOf(
          versions.flatMap(({ ns }) => ns),
          NAMES,
        ),
      );
    }),
  );
});

test.for<[name: string, holder: PolicyRule, requested: PolicyRule, covered: boolean]>([
  ["everything", { apiGroups: ["*"], resources: ["*"], verbs: ["*"] }, { apiGroups: ["a"], resources: ["b/c"], verbs: ["d"] }, true],
  [
    "a wildcard covers its subresource",
    { apiGroups: ["a"], resources: ["*/scale"], verbs: ["get"] },
    { apiGroups: ["a"], resources: ["b/scale"], verbs: ["get"] },
    true,
  ],
  [
    "a resource does not cover its subresource",
    { apiGroups: ["a"], resources: ["b"], verbs: ["get"] },
    { apiGroups: ["a"], resources: ["b/scale"], verbs: ["get"] },
    false,
  ],
  [
    "some names do not cover all names",
    { apiGroups: ["a"], resources: ["b"], resourceNames: ["x"], verbs: ["get"] },
    { apiGroups: ["a"], resources: ["b"], verbs: ["get"] },
    false,
  ],
  [
    "a wildcard covers URLs below it",
    { nonResourceURLs: ["/metrics/*"], verbs: ["get"] },
    { nonResourceURLs: ["/metrics/a"], verbs: ["get"] },
    true,
  ],
  [
    "resources do not cover URLs",
    { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
    { nonResourceURLs: ["/metrics"], verbs: ["get"] },
    false,
  ],
])("%s", ([, holder, requested, covered]) => {
  expect(new HeldRule(holder).covers(requested)).toBe(covered);
});

test("intersects is true exactly if one request is allowed by both rules", () => {
  fc.assert(
    fc.property(arbitraryRule, arbitraryRule, (a, b) => {
      const shared = RBAC_REQUESTS.some((request) => allowsRequest(a, request) && allowsRequest(b, request));
      expect([intersects(a, b), intersects(b, a)]).toEqual([shared, shared]);
    }),
    { numRuns: 2_000 },
  );
});

test("HeldRule covers a rule only if each request that the rule allows is allowed by the held rule", () => {
  fc.assert(
    fc.property(arbitraryRule, arbitraryRule, (holder, rule) => {
      const isSubset = RBAC_REQUESTS.every((request) => !allowsRequest(rule, request) || allowsRequest(holder, request));
      if (new HeldRule(holder).covers(rule)) expect(isSubset).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
