import { expect, test } from "vitest";
import { ANNOTATION_APPROVE, EXTENSION_PERMISSIONS } from "../../pkg/api/constants.ts";
import type { ExtensionPermissions } from "../../pkg/api/extensionPermissions.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { PermissionPolicySpec } from "../../pkg/api/permissionPolicy.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const configMap = (name: string): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } });
const clusterRole = (name: string, verbs: string[]): KubeObject => ({
  apiVersion: RBAC,
  kind: "ClusterRole",
  metadata: { name },
  rules: [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"], verbs }],
});

describeWithPrivateCluster("managed permissions", (cluster) => {
  const setPolicy = (spec: PermissionPolicySpec): Promise<KubeObject> =>
    cluster.client.apply(
      { apiVersion: EXTENSION_PERMISSIONS.apiVersion, kind: "PermissionPolicy", metadata: { name: "default" }, spec },
      { fieldManager: "test", force: true },
    );
  const create = (name: string): Promise<KubeObject> =>
    cluster.client.create({
      apiVersion: "olm.operatorframework.io/v1",
      kind: "ClusterExtension",
      metadata: { name },
      spec: {
        namespace: `${name}-system`,
        source: { sourceType: "Catalog", catalog: { packageName: "p", upgradeConstraintPolicy: "SelfCertified" } },
      },
    });
  const read = async (name: string): Promise<ExtensionPermissions> => {
    const found = await cluster.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name });
    if (!found) throw new Error(`ExtensionPermissions ${name} does not exist`);
    return found;
  };

  test("an extension without ServiceAccount is installed, upgraded and removed with exactly the permissions of its bundle", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({});
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await create("plain");
    await world.conditions("plain", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const { status } = await read("plain");
    expect(status).toMatchObject({
      state: "Granted",
      policy: "default",
      namespace: "plain-system",
      serviceAccount: "olmv1-extension-plain",
    });
    await world.serveVersions({ "1.0.0": [configMap("first")], "1.1.0": [configMap("second")] });
    await world.until("plain", ({ status: now }) => expect(now?.install?.bundle.version).toBe("1.1.0"));
    await eventually(async () => {
      const names = (await read("plain")).status?.rules?.flatMap(({ resourceNames = [] }) => resourceNames);
      expect([names?.includes("second"), names?.includes("first")]).toEqual([true, false]);
    });
    await world.remove("plain");
    await eventually(async () => {
      expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name: "plain" })).toBeUndefined();
      for (const kind of ["ClusterRole", "ClusterRoleBinding"])
        expect(await cluster.client.get({ apiVersion: RBAC, kind, name: "olmv1-extension-plain" })).toBeUndefined();
    });
  });

  test("root-equivalent permissions wait for an approval of exactly these rules", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({});
    await world.serveVersions({ "1.0.0": [clusterRole("powerful", ["escalate", "get"])] });
    await create("root");
    await world.expectProblem("root", "PermissionsPending");
    const { status } = await read("root");
    expect(status?.pending).toEqual([expect.objectContaining({ risk: "RoleEscalation", verbs: ["escalate"] })]);
    expect(await cluster.client.get({ apiVersion: RBAC, kind: "ClusterRole", name: "powerful" })).toBeUndefined();
    await cluster.client.patch(
      { ...EXTENSION_PERMISSIONS, name: "root" },
      { metadata: { annotations: { [ANNOTATION_APPROVE]: status?.pendingDigest } } },
      { type: "merge" },
    );
    await world.conditions("root", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    await world.remove("root");
  });

  test("a policy that denies a permission blocks the extension", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({ deny: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }] });
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await create("denied");
    await world.expectProblem("denied", "PermissionsDenied");
    await setPolicy({ deny: [] });
    await world.conditions("denied", { Installed: "True/Succeeded" });
    await world.remove("denied");
  });
});
