import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import type { PolicyRule } from "./policyRule.ts";
import { computeRequiredRules, type RuleOptions } from "./requiredRules.ts";

interface RulesCase extends CaseHead {
  given: Omit<RuleOptions, "installNamespace" | "resourceOf"> & { objects: KubeObject[] };
  want: { clusterRules?: PolicyRule[]; namespaceRules?: Record<string, PolicyRule[]>; unknownKinds?: GroupVersionKind[] };
}

test.for(loadCases<RulesCase>("rbac"))("$name", ({ given: { objects, ...options }, want }) => {
  const rules = computeRequiredRules(objects, { ...options, installNamespace: "ns" });
  expect(rules.clusterRules).toEqual(want.clusterRules ?? []);
  expect(Object.fromEntries(rules.namespaceRules)).toEqual(want.namespaceRules ?? {});
  expect(rules.unknownKinds).toEqual(want.unknownKinds ?? []);
  expect(computeRequiredRules(objects.toReversed(), { ...options, installNamespace: "ns" }).clusterRules).toEqual(rules.clusterRules);
});

test("computeRequiredRules uses the resource from the cluster's discovery", () => {
  const object: KubeObject = { apiVersion: "example.com/v1", kind: "B", metadata: { name: "two" } };
  const resourceOf = (): { group: string; resource: string; namespaced: boolean } => ({
    group: "example.com",
    resource: "bees",
    namespaced: true,
  });
  const { namespaceRules, unknownKinds } = computeRequiredRules([object], { installNamespace: "ns", resourceOf });
  expect(unknownKinds).toEqual([]);
  expect(namespaceRules.get("ns")).toMatchObject([
    { apiGroups: [""], resources: ["resourcequotas"], verbs: ["list"] },
    { apiGroups: ["example.com"], resources: ["bees"], resourceNames: ["two"] },
  ]);
});
