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
const rule = (verbs: string[], resources = ["pods"], resourceNames?: string[]): PolicyRule => ({
  apiGroups: [""],
  resources,
  ...(resourceNames ? { resourceNames } : {}),
  verbs,
});

// Source: D-04: an upgrade that asks for more says so.
test.for<[string, KubeObject | undefined, KubeObject, boolean]>([
  ["the same rules do not widen", role([rule(["get"])]), role([rule(["get"])]), false],
  ["fewer rules do not widen", role([rule(["get", "list"])]), role([rule(["get"])]), false],
  ["rules that are written in another way do not widen", role([rule(["get", "list"])]), role([rule(["list"]), rule(["get"])]), false],
  ["what a wildcard covers does not widen", role([rule(["*"], ["*"])]), role([rule(["delete"], ["secrets"])]), false],
  ["another verb widens", role([rule(["get"])]), role([rule(["get", "delete"])]), true],
  ["another resource widens", role([rule(["get"])]), role([rule(["get"]), rule(["get"], ["secrets"])]), true],
  ["leaving out the names widens", role([rule(["get"], ["pods"], ["a"])]), role([rule(["get"])]), true],
  ["a new role widens", undefined, role([rule(["get"])], "Role"), true],
  ["a role without rules does not", undefined, role(null), false],
  ["other kinds do not", undefined, role([rule(["get"])], "ConfigMap", "v1"), false],
])("%s", ([, before, after, wanted]) => {
  expect(widensPermissions(before, after)).toBe(wanted);
});
