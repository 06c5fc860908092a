import { expect, test } from "vitest";
import { buildInstallerManifests, buildTokenManifests } from "./installerManifests.ts";
import type { RequiredRules } from "./requiredRules.ts";

const RULE = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"], verbs: ["get"] };
const RULES: RequiredRules = {
  clusterRules: [RULE],
  namespaceRules: new Map([
    ["ns", [RULE]],
    ["watched", [RULE]],
  ]),
  unknownKinds: [],
};
const CONTROLLER = { kind: "ServiceAccount", namespace: "olmv1-system", name: "operator-controller" } as const;
const INSTALLER = { namespace: "ns", name: "installer" };

test("buildInstallerManifests returns a ServiceAccount with a role in each scope, and lets the controller request its tokens", () => {
  const objects = buildInstallerManifests(INSTALLER, RULES, CONTROLLER);
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`)).toEqual([
    "ServiceAccount ns/installer",
    "ClusterRole /ns-installer",
    "ClusterRoleBinding /ns-installer",
    "Role ns/installer",
    "RoleBinding ns/installer",
    "Role watched/ns-installer",
    "RoleBinding watched/ns-installer",
    "Role ns/installer-token",
    "RoleBinding ns/installer-token",
  ]);
  const bindings = objects.filter(({ kind }) => kind.endsWith("Binding")).slice(0, 3);
  for (const binding of bindings) expect(binding["subjects"]).toEqual([{ kind: "ServiceAccount", namespace: "ns", name: "installer" }]);
});

test("buildInstallerManifests returns no role when a scope has no rules", () => {
  const objects = buildInstallerManifests(
    INSTALLER,
    { clusterRules: [], namespaceRules: new Map([["ns", []]]), unknownKinds: [] },
    CONTROLLER,
  );
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "ServiceAccount installer",
    "Role installer-token",
    "RoleBinding installer-token",
  ]);
});

test("buildTokenManifests grants tokens for one ServiceAccount only, and binds a user with the API group", () => {
  const [role, binding] = buildTokenManifests(INSTALLER, { kind: "User", name: "controller" });
  expect(role?.["rules"]).toEqual([
    { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: ["installer"], verbs: ["create"] },
  ]);
  expect(binding?.["roleRef"]).toEqual({ apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "installer-token" });
  expect(binding?.["subjects"]).toEqual([{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "controller" }]);
});
