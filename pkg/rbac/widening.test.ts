import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import type { PolicyRule } from "./policyRule.ts";
import { widensPermissions } from "./ruleSets.ts";

const role = (rules: PolicyRule[] | null, kind = "ClusterRole", apiVersion = "rbac.authorization.k8s.io/v1"): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "x" },
  rules,
});
/** A role with 1,000,000,000 permissions. */
const endless = (): KubeObject => {
  const list = Array.from({ length: 1_000 }, (_, i) => `v${i}`);
  return role([rule(list, list, list)]);
};
const rule = (verbs: string[], resources = ["pods"], resourceNames?: string[]): PolicyRule => ({
  apiGroups: [""],
  resources,
  ...(resourceNames ? { resourceNames } : {}),
  verbs,
});

// Source: D-04: an upgrade that grants more permissions reports them.
test.for<[string, KubeObject | undefined, KubeObject, boolean]>([
  ["widensPermissions is false when the rules are the same", role([rule(["get"])]), role([rule(["get"])]), false],
  ["widensPermissions is false when there are fewer rules", role([rule(["get", "list"])]), role([rule(["get"])]), false],
  [
    "widensPermissions is false when rules are written differently",
    role([rule(["get", "list"])]),
    role([rule(["list"]), rule(["get"])]),
    false,
  ],
  ["widensPermissions is false when a wildcard covers the rule", role([rule(["*"], ["*"])]), role([rule(["delete"], ["secrets"])]), false],
  ["widensPermissions is true when a verb is added", role([rule(["get"])]), role([rule(["get", "delete"])]), true],
  ["widensPermissions is true when a resource is added", role([rule(["get"])]), role([rule(["get"]), rule(["get"], ["secrets"])]), true],
  ["widensPermissions is true when names are removed", role([rule(["get"], ["pods"], ["a"])]), role([rule(["get"])]), true],
  ["widensPermissions is true when a role is new", undefined, role([rule(["get"])], "Role"), true],
  ["widensPermissions is false when a new role has no rules", undefined, role(null), false],
  ["widensPermissions is true when a role has too many permissions", role([rule(["get"])]), endless(), true],
  ["widensPermissions is true when a role had too many permissions", endless(), role([rule(["get"])]), true],
  ["widensPermissions is false for other kinds", undefined, role([rule(["get"])], "ConfigMap", "v1"), false],
])("%s", ([, before, after, wanted]) => {
  expect(widensPermissions(before, after)).toBe(wanted);
});
