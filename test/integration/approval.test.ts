import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import type { Plan } from "../../pkg/api/clusterExtensionStatus.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const WAITING = { Progressing: "False/AwaitingApproval" };

const configMap = (name: string, value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});
const role = (verbs: string[]): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "helper" },
  rules: [{ apiGroups: [""], resources: ["pods"], verbs }],
});
const secret = (password: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "key" },
  stringData: { password },
});

// Source: O-16 (spec.approval), D-04.
describeWithPrivateCluster("an extension with manual approval", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { driftIntervalMs: 500 });
    const v1 = [configMap("kept", "1"), configMap("old", "1"), role(["get"]), secret("first-password")];
    const v2 = [configMap("kept", "1"), configMap("new", "1"), role(["get", "delete"]), secret("other-password")];
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: v1 }));
    world.bundle("p.v1.1.0", tinyBundle("1.1.0", { objects: v2 }));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: ["p.v1.0.0", "p.v1.1.0"],
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const toRef = (name: string): ObjectRef => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const approve = (name: string, digest: string | null): Promise<KubeObject> => {
    const annotations = { "olm.operatorframework.io/approve": digest };
    return cluster.client.patch(toRef(name), { metadata: { annotations } }, { type: "merge" });
  };
  const version = (name: string, text: string | null): Promise<KubeObject> =>
    cluster.client.patch(toRef(name), { spec: { source: { catalog: { version: text } } } }, { type: "merge" });
  const readPlan = async (name: string): Promise<Plan> => {
    await world.conditions(name, WAITING);
    return (await world.get(name)).status?.plan as Plan;
  };
  const formatObjects = ({ objects = [] }: Plan): string[] =>
    objects.map(({ action, kind, name, widens, fields = [] }) =>
      `${action} ${kind} ${name}${widens ? " (widens)" : ""} ${fields.join(" ")}`.trim(),
    );
  const liveConfigMaps = async (namespace: string): Promise<string[]> => {
    const { items } = await cluster.client.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace });
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
  };

  test("an extension with manual approval writes no object until a user approves the plan in status", async () => {
    const x = await world.extension("first", { approval: "Manual", catalog: { version: "1.0.0" } });
    const plan = await readPlan("first");
    expect(plan).toMatchObject({ bundle: { name: "p.v1.0.0", version: "1.0.0" }, create: 5, update: 0, delete: 0, unchanged: 0 });
    expect(formatObjects(plan).sort()).toEqual([
      "Create ConfigMap kept",
      "Create ConfigMap old",
      "Create Deployment tiny",
      "Create Role helper (widens)",
      "Create Secret key",
    ]);
    await world.expectProblem("first", "AwaitingApproval", {
      next: `kubectl annotate clusterextension first --overwrite olm.operatorframework.io/approve=${plan.digest}`,
    });
    expect([await liveConfigMaps(getNamespace(x)), await world.releases("first")]).toEqual([[], []]);
    await eventually(async () => expect((await world.events("first")).join()).toContain("AwaitingApproval"));

    await approve("first", plan.digest);
    await world.conditions("first", DONE);
    expect((await world.get("first")).status?.plan).toBeUndefined();
    expect(await liveConfigMaps(getNamespace(x))).toEqual(["kept", "old"]);
  });

  test("the controller keeps the installed bundle until a user approves the upgrade", async () => {
    const x = await world.extension("second", { approval: "Manual", catalog: { version: "1.0.0" } });
    const first = await readPlan("second");
    await approve("second", first.digest);
    await world.conditions("second", DONE);
    await version("second", null);
    const plan = await readPlan("second");
    expect(plan.digest).not.toBe(first.digest);
    expect(plan).toMatchObject({ bundle: { name: "p.v1.1.0" }, create: 1, update: 3, delete: 1, unchanged: 1 });
    expect(formatObjects(plan).sort()).toEqual([
      "Create ConfigMap new",
      "Delete ConfigMap old",
      "Update Deployment tiny spec.template.spec.containers[name=manager].image",
      "Update Role helper (widens) rules[0].verbs[1]",
      "Update Secret key data.password",
    ]);
    expect(JSON.stringify(await world.get("second"))).not.toMatch(/other-password|b3RoZXItcGFzc3dvcmQ/);

    const kept: ObjectRef = { apiVersion: "v1", kind: "ConfigMap", namespace: getNamespace(x), name: "kept" };
    await cluster.client.delete(kept);
    await eventually(async () => expect(await cluster.client.get(kept)).toBeDefined());
    expect((await readPlan("second")).digest).toBe(plan.digest);
    expect(await world.releases("second")).toEqual(["v1 deployed"]);

    await approve("second", "sha256:of-something-else");
    await world.conditions("second", WAITING);
    await approve("second", plan.digest);
    await eventually(async () => expect((await world.get("second")).status?.install?.bundle.version).toBe("1.1.0"));
    await world.conditions("second", DONE);
    expect(await liveConfigMaps(getNamespace(x))).toEqual(["kept", "new"]);
  });

  test("an extension that waits for approval is installed when spec.approval becomes Automatic, and can be deleted", async () => {
    await world.extension("third", { approval: "Manual", catalog: { version: "1.0.0" } });
    await readPlan("third");
    await cluster.client.patch(toRef("third"), { spec: { approval: "Automatic" } }, { type: "merge" });
    await world.conditions("third", DONE);
    await world.extension("fourth", { approval: "Manual", catalog: { version: "1.0.0" } });
    await readPlan("fourth");
    await world.remove("fourth");
  });
});
