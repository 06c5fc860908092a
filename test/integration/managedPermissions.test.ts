import { expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
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
  const create = (name: string, spec: object = { namespace: `${name}-system` }): Promise<KubeObject> =>
    cluster.client.create({
      apiVersion: "olm.operatorframework.io/v1",
      kind: "ClusterExtension",
      metadata: { name },
      spec: { source: { sourceType: "Catalog", catalog: { packageName: "p", upgradeConstraintPolicy: "SelfCertified" } }, ...spec },
    });
  const read = async (name: string): Promise<ExtensionPermissions> => {
    const found = await cluster.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name });
    if (!found) throw new Error(`ExtensionPermissions ${name} does not exist`);
    return found;
  };

  // Source: O-17, D-34.
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

  test("an upgrade keeps the permissions to delete an object that it leaves, until the object is deleted", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client, slowReconcileMs: 300 });
    await setPolicy({});
    await world.serveVersions({ "1.0.0": [clusterRole("first", ["get"])] });
    await create("leaving");
    await world.conditions("leaving", { Installed: "True/Succeeded", Ready: "True/Succeeded" });
    // After a restart, cluster-scoped objects stay until it is known that no other extension needs them.
    const end = world.hang("q");
    await create("unknown", { namespace: "unknown-system", source: { sourceType: "Catalog", catalog: { packageName: "q" } } });
    await world.restart();
    await world.serveVersions({ "1.0.0": [clusterRole("first", ["get"])], "1.1.0": [clusterRole("second", ["get"])] });
    await world.until("leaving", ({ status }) => expect(status?.install?.bundle.version).toBe("1.1.0"));
    await world.conditions("leaving", { Ready: "True/Succeeded", Progressing: "True/Succeeded" });
    const listNames = async (): Promise<string[]> =>
      (await read("leaving")).status?.rules?.flatMap(({ resourceNames = [] }) => resourceNames) ?? [];
    const left = { apiVersion: RBAC, kind: "ClusterRole", name: "first" };
    expect(await cluster.client.get(left)).toBeDefined();
    expect((await read("leaving")).spec?.isChanging).toBe(true);
    expect(await listNames()).toEqual(expect.arrayContaining(["first", "second"]));
    end();
    await eventually(async () => {
      expect(await cluster.client.get(left)).toBeUndefined();
      expect((await read("leaving")).spec?.isChanging).toBeUndefined();
      expect(await listNames()).not.toContain("first");
    });
    await world.remove("leaving");
    await world.remove("unknown");
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

  // Source: O-19.
  test("an extension without namespace gets the one that its first bundle suggests, and keeps it", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({ namespaces: { labels: { team: "cars" }, deletion: "Delete" } });
    const suggest = (name: string): Record<string, string> => ({
      "operatorframework.io/suggested-namespace-template": JSON.stringify({
        kind: "Namespace",
        metadata: { name, labels: { "pod-security.kubernetes.io/enforce": "restricted" }, annotations: { owner: "p" } },
      }),
    });
    await world.serveVersions({ "1.0.0": [configMap("first")] }, suggest("suggested-first"));
    await create("placed", {});
    await world.conditions("placed", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    await world.until("placed", ({ status }) => expect(status?.install?.namespace).toBe("suggested-first"));
    const namespace = await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: "suggested-first" });
    expect(namespace?.metadata).toMatchObject({
      labels: { team: "cars", "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted" },
      annotations: { owner: "p" },
    });
    expect(await cluster.client.get({ apiVersion: "v1", kind: "ConfigMap", namespace: "suggested-first", name: "first" })).toBeDefined();
    await world.serveVersions({ "1.0.0": [configMap("first")], "1.1.0": [configMap("second")] }, suggest("suggested-second"));
    await world.until("placed", ({ status }) => expect(status?.install?.bundle.version).toBe("1.1.0"));
    expect((await read("placed")).status?.namespace).toBe("suggested-first");
    expect(await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: "suggested-second" })).toBeUndefined();
    const move = cluster.client.patch(
      { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "placed" },
      { spec: { namespace: "other" } },
      { type: "merge" },
    );
    await expect(move).rejects.toThrow(/must be status.install.namespace/);
    await world.remove("placed");
    await eventually(async () => {
      const left = await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: "suggested-first" });
      expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
    });
  });

  test("an extension waits for a namespace that the policy does not create, and that its bundle does not choose", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({ namespaces: { create: false } });
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await create("waiting", {});
    await world.expectProblem("waiting", "PermissionsDenied", {
      message: /namespace "p-system" does not exist, and namespaces.create is false/,
    });
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "p-system" } });
    await setPolicy({ namespaces: { create: false }, limits: { rules: 999 } });
    // A bundle must not choose an existing namespace, because its Pods could use the ServiceAccounts there.
    await world.expectProblem("waiting", "PermissionsDenied", { message: /namespace "p-system", which the bundle suggests, exists/ });
    expect((await read("waiting")).status?.serviceAccount).toBeUndefined();
    await cluster.client.patch(
      { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "waiting" },
      { spec: { namespace: "p-system" } },
      { type: "merge" },
    );
    await world.conditions("waiting", { Installed: "True/Succeeded" });
    const namespace = await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: "p-system" });
    expect(namespace?.metadata.labels).not.toHaveProperty("olm.operatorframework.io/permissions-for");
    await world.remove("waiting");
  });

  test("an extension reads the objects in valuesFrom before it has a bundle, but they do not determine its permissions", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({});
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    const namespace = "sourced-system";
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await cluster.client.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "values", namespace },
      data: { "config.yaml": "{}" },
    });
    await create("sourced", {
      namespace,
      config: { configType: "Inline", valuesFrom: [{ kind: "ConfigMap", name: "values", key: "config.yaml" }] },
    });
    await world.conditions("sourced", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const setValues = (text: string): Promise<unknown> =>
      cluster.client.patch(
        { apiVersion: "v1", kind: "ConfigMap", name: "values", namespace },
        { data: { "config.yaml": text } },
        { type: "merge" },
      );
    await setValues("watchNamespace: team-a");
    await world.expectProblem("sourced", "InvalidConfiguration", { message: /watchNamespace must be in spec.config.inline/ });
    await setValues("{}");
    await world.conditions("sourced", { Progressing: "True/Succeeded" });
    await world.remove("sourced");
  });

  test("an extension has no standing write permissions while nothing changes, and its drift is corrected", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({ standing: "WhileChanging" });
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await create("resting");
    await world.conditions("resting", { Installed: "True/Succeeded", Ready: "True/Succeeded" });
    const isReadOnly = (): Promise<void> =>
      eventually(async () => {
        expect((await read("resting")).status?.access).toBe("ReadOnly");
        expect(
          await cluster.client.get({ apiVersion: RBAC, kind: "RoleBinding", namespace: "resting-system", name: "olmv1-extension-resting" }),
        ).toBeUndefined();
      });
    await isReadOnly();
    const subject = { user: "system:serviceaccount:resting-system:olmv1-extension-resting", groups: ["system:authenticated"] };
    const may = async (verb: string, name = "first"): Promise<unknown> => {
      const resourceAttributes = { namespace: "resting-system", verb, resource: "configmaps", name };
      const review: KubeObject & { status?: { allowed?: boolean } } = await cluster.client.create({
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: { name: "" },
        spec: { ...subject, resourceAttributes },
      });
      return review.status?.allowed;
    };
    expect([await may("get"), await may("patch"), await may("delete")]).toEqual([true, false, false]);
    const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: "resting-system", name: "first" };
    await cluster.client.patch(ref, { data: { a: "changed" } }, { type: "merge" });
    await eventually(async () => expect((await cluster.client.get(ref))?.["data"]).toEqual({ a: "1" }));
    await isReadOnly();
    await world.serveVersions({ "1.0.0": [configMap("first")], "1.1.0": [configMap("second")] });
    await world.until("resting", ({ status }) => expect(status?.install?.bundle.version).toBe("1.1.0"));
    await isReadOnly();
    // A version that waits for an approval changes nothing.
    await world.serveVersions({
      "1.0.0": [configMap("first")],
      "1.1.0": [configMap("second")],
      "1.2.0": [clusterRole("resting", ["escalate", "get"])],
    });
    await world.expectProblem("resting", "PermissionsPending");
    expect((await read("resting")).status).toMatchObject({ state: "Pending", access: "ReadOnly" });
    expect([await may("get", "second"), await may("patch", "second")]).toEqual([true, false]);
    // Drift of the installed version is corrected meanwhile.
    const second = { ...ref, name: "second" };
    await cluster.client.patch(second, { data: { a: "changed" } }, { type: "merge" });
    await eventually(async () => expect((await cluster.client.get(second))?.["data"]).toEqual({ a: "1" }));
    await isReadOnly();
    expect([await may("get", "second"), await may("patch", "second")]).toEqual([true, false]);
    await world.serveVersions({ "1.0.0": [configMap("first")], "1.1.0": [configMap("second")] });
    await eventually(async () => expect((await read("resting")).status?.state).toBe("Granted"));
    await setPolicy({ standing: "WhileChanging", deny: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }] });
    await eventually(async () => expect(await may("get", "second")).toBe(false));
    await setPolicy({ standing: "WhileChanging", deny: [] });
    await eventually(async () => expect(await may("get", "second")).toBe(true));
    await world.remove("resting");
    expect(await cluster.client.get({ ...ref, name: "second" })).toBeUndefined();
  });

  test("an extension that names a policy needs it to exist, and another policy does not matter", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({ deny: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] });
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await create("named", { namespace: "named-system", install: { permissionPolicy: "cars" } });
    await world.expectProblem("named", "PermissionsDenied", { message: /PermissionPolicy "cars" does not exist/ });
    await cluster.client.create({
      apiVersion: EXTENSION_PERMISSIONS.apiVersion,
      kind: "PermissionPolicy",
      metadata: { name: "cars" },
      spec: {},
    });
    await world.conditions("named", { Installed: "True/Succeeded" });
    expect((await read("named")).status?.policy).toBe("cars");
    await world.remove("named");
  });

  test("an extension moves between its own ServiceAccount and managed permissions without another release", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client });
    await setPolicy({});
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await world.extension("moved");
    await world.conditions("moved", { Installed: "True/Succeeded", Ready: "True/Succeeded" });
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "moved" };
    const before = await cluster.client.get<ClusterExtension>(ref);
    const account = before?.spec.serviceAccount;
    expect(account).toBeDefined();
    const read1 = async () => {
      const object = await cluster.client.get({
        apiVersion: "v1",
        kind: "ConfigMap",
        namespace: before?.spec.namespace ?? "",
        name: "first",
      });
      return object?.metadata.resourceVersion;
    };
    const version = await read1();
    await cluster.client.patch(ref, { spec: { serviceAccount: null } }, { type: "merge" });
    await eventually(async () => expect((await read("moved")).status?.state).toBe("Granted"));
    await world.conditions("moved", { Installed: "True/Succeeded", Ready: "True/Succeeded" });
    await cluster.client.patch(ref, { spec: { serviceAccount: account } }, { type: "merge" });
    await eventually(async () => expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name: "moved" })).toBeUndefined());
    await world.conditions("moved", { Installed: "True/Succeeded", Ready: "True/Succeeded" });
    expect(await read1()).toBe(version);
    await world.remove("moved");
  });

  test("an extension without ServiceAccount is not installed when managed permissions are off", async () => {
    await using world = await OperatorWorld.start(cluster);
    await world.serveVersions({ "1.0.0": [configMap("first")] });
    await create("unmanaged");
    await world.expectProblem("unmanaged", "ServiceAccountNotSet", { next: "olmv1 rbac" });
    await world.remove("unmanaged");
  });
});
