import { expect, test } from "vitest";
import { type BundleParts, bundleOf } from "../../test/support/bundleFixture.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import type { OperatorConditionUse } from "./operatorCondition.ts";
import { renderBundle } from "./render.ts";

const VARIABLE = { name: "OPERATOR_CONDITION_NAME", value: "a.v1.0.0" };

function buildDeployment(name: string, spec: JsonObject = {}, env?: JsonObject[]): JsonObject {
  const pod = {
    containers: [{ name: "manager", ...(env ? { env } : {}) }, { name: "sidecar" }],
    initContainers: [{ name: "init" }],
    ...spec,
  };
  return { name, spec: { template: { metadata: {}, spec: pod } } };
}

function render(parts: BundleParts, operatorCondition: OperatorConditionUse | undefined, config?: JsonObject): KubeObject[] {
  return renderBundle(bundleOf(parts), { installNamespace: "ns", operatorCondition, config });
}

function findGenerated(objects: readonly KubeObject[]): KubeObject[] {
  return objects.filter(({ metadata }) => metadata.name === "a.v1.0.0");
}

// Source: D-35; operator-lifecycle-manager 992bb0977 pkg/controller/operators/operatorcondition_controller.go.
test.for<[why: string, parts: BundleParts, accounts: string[]]>([
  ["no permissions", { deployments: [buildDeployment("d")] }, ["default"]],
  [
    "permissions for two ServiceAccounts",
    {
      deployments: [buildDeployment("d", { serviceAccountName: "b" })],
      clusterPermissions: [{ serviceAccountName: "a", rules: [] }],
      permissions: [
        { serviceAccountName: "b", rules: [] },
        { serviceAccountName: "a", rules: [] },
      ],
    },
    ["a", "b"],
  ],
  ["a ServiceAccount that is a manifest", { deployments: [buildDeployment("d", { serviceAccountName: "own" })] }, ["own"]],
])("renderBundle creates the OperatorCondition and its Role and RoleBinding when the bundle has %s", ([, parts, accounts]) => {
  const metadata = { name: "a.v1.0.0", namespace: "ns" };
  expect(findGenerated(render(parts, "All"))).toEqual([
    { apiVersion: "operators.coreos.com/v2", kind: "OperatorCondition", metadata, spec: { serviceAccounts: accounts, deployments: ["d"] } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata,
      rules: [
        {
          verbs: ["get", "update", "patch"],
          apiGroups: ["operators.coreos.com"],
          resources: ["operatorconditions"],
          resourceNames: ["a.v1.0.0"],
        },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata,
      subjects: accounts.map((name) => ({ kind: "ServiceAccount", name, namespace: "ns" })),
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a.v1.0.0" },
    },
  ]);
});

const OWN = { name: "OPERATOR_CONDITION_NAME", value: "own" };
const OTHER = { name: "OTHER", value: "1" };

test.for<[why: string, use: OperatorConditionUse | undefined, env: JsonObject[], given: JsonObject[] | undefined, want: JsonObject[]]>([
  ["the use is All", "All", [OTHER], undefined, [OTHER, VARIABLE]],
  ["the use is Variable", "Variable", [OTHER], undefined, [OTHER, VARIABLE]],
  ["the use is None", "None", [OTHER], undefined, [OTHER]],
  ["the use is absent", undefined, [OTHER], undefined, [OTHER]],
  ["the configuration has variables", "All", [], [OTHER], [OTHER, VARIABLE]],
  ["the bundle has the variable", "All", [OWN, OTHER], undefined, [VARIABLE, OTHER]],
  ["the configuration has the variable", "All", [OTHER], [OWN], [OTHER, VARIABLE]],
])("renderBundle sets the expected variables of containers when %s", ([, use, env, given, want]) => {
  const config = given ? { deploymentConfig: { env: given } } : undefined;
  const objects = render({ deployments: [buildDeployment("d", {}, env)] }, use, config);
  const { spec } = objects.find(({ kind }) => kind === "Deployment") as unknown as {
    spec: { template: { spec: { containers: JsonObject[]; initContainers: JsonObject[] } } };
  };
  const { containers, initContainers } = spec.template.spec;
  expect(containers[0]?.["env"]).toEqual(want);
  expect(initContainers[0]?.["env"]).toBeUndefined();
  expect(findGenerated(objects).length).toBe(use === "All" ? 3 : 0);
});

test("renderBundle creates no OperatorCondition when the name of the ClusterServiceVersion is not a valid object name", () => {
  const parts = { name: "A_1", deployments: [buildDeployment("d")] };
  expect(render(parts, "All")).toEqual(render(parts, "None"));
});
