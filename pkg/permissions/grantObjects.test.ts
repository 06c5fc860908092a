import { expect, test } from "vitest";
import type { PolicyRule } from "../rbac/policyRule.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { buildGrantObjects, readGrantedRules, selectReadRules } from "./grantObjects.ts";

const CONTROLLER = { kind: "ServiceAccount", namespace: "olmv1-system", name: "operator-controller-controller-manager" } as const;
const rule = (resource: string, ...verbs: string[]): PolicyRule => ({ apiGroups: [""], resources: [resource], verbs });
const RULES: RequiredRules = {
  clusterRules: [rule("nodes", "get"), rule("namespaces", "*")],
  namespaceRules: new Map([
    ["cars", [rule("configmaps", "get", "create", "patch")]],
    ["other", [rule("secrets", "create")]],
  ]),
  unknownKinds: [],
};
const describe = (objects: ReturnType<typeof buildGrantObjects>): string[] =>
  objects.map(({ kind, metadata: { namespace = "", name } }) => `${kind} ${namespace}/${name}`);

test("buildGrantObjects binds all rules when the extension has full access", () => {
  expect(describe(buildGrantObjects("car", "cars", { rules: RULES }, CONTROLLER))).toEqual([
    "ServiceAccount cars/olmv1-extension-car",
    "ClusterRole /olmv1-extension-car",
    "ClusterRoleBinding /olmv1-extension-car",
    "Role cars/olmv1-extension-car",
    "RoleBinding cars/olmv1-extension-car",
    "Role other/olmv1-extension-car",
    "RoleBinding other/olmv1-extension-car",
    "Role cars/olmv1-token-car",
    "RoleBinding cars/olmv1-token-car",
  ]);
});

test("buildGrantObjects keeps the roles and binds only the read rules when the extension has read access", () => {
  const objects = buildGrantObjects("car", "cars", { rules: RULES, readRules: selectReadRules(RULES) }, CONTROLLER);
  expect(describe(objects)).toEqual([
    "ServiceAccount cars/olmv1-extension-car",
    "ClusterRole /olmv1-extension-car",
    "Role cars/olmv1-extension-car",
    "Role other/olmv1-extension-car",
    "ClusterRole /olmv1-read-car",
    "ClusterRoleBinding /olmv1-read-car",
    "Role cars/olmv1-read-car",
    "RoleBinding cars/olmv1-read-car",
    "Role cars/olmv1-token-car",
    "RoleBinding cars/olmv1-token-car",
  ]);
  expect(readGrantedRules("car", objects)).toEqual(RULES);
});

test("selectReadRules keeps get, list and watch, and reduces * to them", () => {
  expect(selectReadRules(RULES)).toEqual({
    clusterRules: [rule("nodes", "get"), rule("namespaces", "get", "list", "watch")],
    namespaceRules: new Map([["cars", [rule("configmaps", "get")]]]),
    unknownKinds: [],
  });
});
