import { expect, test } from "vitest";
import { configMap } from "../../../test/support/releases.ts";
import type { Client } from "../../kube/client.ts";
import type { PolicyRule } from "../../rbac/policyRule.ts";
import { findKnownResource } from "../../rbac/resources.ts";
import { findWatchPermissions } from "./ownRules.ts";

const { signal } = new AbortController();
const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r" } };
const MAPS = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns" };
const ROLES = { apiVersion: ROLE.apiVersion, kind: ROLE.kind, namespace: undefined };

/** A client of an API server with these rules in namespace ns, and none for the cluster. */
function newClient(rules: PolicyRule[], incomplete = false): Pick<Client, "raw"> {
  return {
    raw: (_method, _path, body) => {
      const { spec } = body as { spec: { namespace: string } };
      return Promise.resolve({ status: { resourceRules: spec.namespace === "ns" ? rules : [], incomplete } });
    },
  };
}

const rule = (verbs: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
  apiGroups: [""],
  resources: ["configmaps"],
  verbs,
  ...more,
});

test.for<[why: string, rules: PolicyRule[], maps: boolean]>([
  ["list and watch without names", [rule(["get"]), rule(["list"]), rule(["watch"])], true],
  ["list and watch by name", [rule(["list", "watch"], { resourceNames: ["a"] })], false],
  ["only list", [rule(["list"])], false],
  ["everything in the namespace", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }], true],
])("findWatchPermissions decides which kinds may be watched by label when the rules allow %s", async ([, rules, maps]) => {
  const may = await findWatchPermissions(newClient(rules), [configMap("a", "ns"), configMap("b", "ns"), ROLE], findKnownResource, signal);
  expect([may?.(MAPS), may?.(ROLES), may?.({ ...MAPS, namespace: "other" })]).toEqual([maps, false, false]);
});

test("findWatchPermissions returns undefined when rules are incomplete or the review is denied", async () => {
  expect(await findWatchPermissions(newClient([], true), [ROLE], findKnownResource, signal)).toBeUndefined();
  expect(await findWatchPermissions({ raw: () => Promise.reject(new Error("no")) }, [ROLE], findKnownResource, signal)).toBeUndefined();
});
