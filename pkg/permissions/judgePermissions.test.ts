import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { allowsRequest, arbitraryRule, RBAC_REQUESTS } from "../../test/support/rbacAuthorizer.ts";
import { PermissionPolicySpec, type PolicyEntry } from "../api/permissionPolicy.ts";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { type GrantPolicy, judgePermissions, type PermissionOutcome } from "./judgePermissions.ts";
import type { RiskSubject } from "./riskSubject.ts";

type ByScope = Record<string, PolicyRule[]>;

interface PolicyCase extends CaseHead {
  given: { policy: PermissionPolicySpec; rules: ByScope; own?: Record<string, string[]>; ownGroups?: string[] };
  want: { outcome: PermissionOutcome; field: string; risk?: string; namespace?: string; rule: PolicyRule }[];
}

function toRequired({ "": clusterRules = [], ...namespaces }: ByScope): RequiredRules {
  return { clusterRules, namespaceRules: new Map(Object.entries(namespaces)), unknownKinds: [] };
}

function newSubject(own: Record<string, string[]> = {}, ownGroups: string[] = []): RiskSubject {
  return {
    installNamespace: "hello",
    systemNamespace: "olmv1-system",
    ownNames: new Map(Object.entries(own).map(([resource, names]) => [resource, new Set(names)])),
    ownGroups: new Set(ownGroups),
  };
}

test.for(loadCases<PolicyCase>("permission-policy"))("$name", ({ given: { policy, rules, own, ownGroups }, want }) => {
  const spec = PermissionPolicySpec.parse(policy);
  const judged = judgePermissions(toRequired(rules), spec, newSubject(own, ownGroups));
  const shown = judged.map(({ risk, namespace, ...rest }) => ({
    ...rest,
    ...(risk && { risk: risk.name }),
    ...(namespace && { namespace }),
  }));
  expect(shown).toEqual(want);
});

const entry: fc.Arbitrary<PolicyEntry> = fc
  .tuple(arbitraryRule, fc.constantFrom(undefined, "Cluster" as const, "Namespace" as const))
  .map(([rule, scope]) => (scope ? { ...rule, scope } : rule));
const rules = fc.array(arbitraryRule, { maxLength: 4 });
const policies: fc.Arbitrary<GrantPolicy> = fc.record({
  grant: fc.constantFrom("Automatic" as const, "Manual" as const),
  allow: fc.array(entry, { maxLength: 3 }),
  deny: fc.array(entry, { maxLength: 2 }),
});

test("judgePermissions grants only requests that are required and not denied, and keeps every required one", () => {
  const scope = fc.constantFrom("", "hello");
  fc.assert(
    fc.property(rules, policies, scope, (required, policy, namespace) => {
      const judged = judgePermissions(toRequired({ [namespace]: required }), policy, newSubject());
      const pick = (outcome: PermissionOutcome): PolicyRule[] => judged.filter((each) => each.outcome === outcome).map(({ rule }) => rule);
      const applies = (each: PolicyEntry): boolean => !each.scope || (each.scope === "Cluster") === (namespace === "");
      for (const request of RBAC_REQUESTS) {
        const has = (list: readonly PolicyRule[]): boolean => list.some((rule) => allowsRequest(rule, request));
        expect(has(judged.map(({ rule }) => rule))).toBe(has(required));
        if (has(pick("Granted"))) {
          expect(has((policy.deny ?? []).filter(applies))).toBe(false);
          if (policy.grant === "Manual") expect(has((policy.allow ?? []).filter(applies))).toBe(true);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});
