import { beforeAll, expect, test } from "vitest";
import { type KubeObject, refOf } from "../../pkg/api/k8s.ts";
import { Applier } from "../../pkg/operatorcontroller/applier.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { stepContext } from "../support/extensionFakes.ts";
import { extensionNamed } from "../support/extensions.ts";
import { liveKinds, loneExtension, preparedFor, verbsOf } from "../support/ownedObjects.ts";
import { configMap } from "../support/releases.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const signal = new AbortController().signal;
const { log } = stepContext(extensionNamed("x", { packageName: "p" }));

describeWithCluster("applying an extension's objects on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  test("an apply tells what it did to each object, and puts back what was changed or deleted", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const objects = preparedFor(x, [configMap("a", ns, { k: "v" }), configMap("b", ns, { k: "v" })]);
    const pass = async (): Promise<string[]> => {
      const applier = new Applier(account.client, log, signal);
      await applier.apply(objects, await applier.read(objects.map(refOf)));
      return applier.actions.map(({ verb, ref }) => `${verb} ${ref.name}`).sort();
    };
    expect(await pass()).toEqual(["created a", "created b"]);
    expect(await pass()).toEqual(["unchanged a", "unchanged b"]);
    await cluster.client.patch(refOf(objects[0]!), { data: { k: "other", theirs: "stays" } }, { type: "merge" });
    await cluster.client.delete(refOf(objects[1]!));
    expect(await pass()).toEqual(["created b", "updated a"]);
    expect((await cluster.client.get(refOf(objects[0]!)))?.["data"]).toEqual({ k: "v", theirs: "stays" });
    const applier = new Applier(account.client, log, signal);
    await applier.remove([...(await applier.read(objects.map(refOf))).values()]);
    expect(verbsOf(applier)).toEqual(["deleted ConfigMap", "deleted ConfigMap"]);
    expect(await liveKinds(cluster, objects)).toEqual([]);
  });

  test("a dry run tells all refusals at once and writes nothing; a binding to a role of the same set is none", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const verbsOfObjects = ["get", "create", "patch"];
    const roles: PolicyRule = {
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["roles", "rolebindings"],
      verbs: [...verbsOfObjects, "escalate", "bind"],
    };
    await account.grant([roles]);
    const role = {
      apiVersion: RBAC,
      kind: "Role",
      metadata: { name: "r", namespace: ns },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    };
    const binding = (name: string, to: string): KubeObject => ({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata: { name, namespace: ns },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: to },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace: ns }],
    });
    const fine = preparedFor(x, [role, binding("b", "r")]);
    const applier = new Applier(account.client, log, signal);
    await applier.dryRun(fine);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: ns }, stringData: { a: "b" } };
    const err = (await applier.dryRun(preparedFor(x, [...fine, configMap("c", ns), secret])).catch((thrown: unknown) => thrown)) as Error;
    expect(err.message).toMatch(/^2 errors occurred:\n\t\* Secret .*\n\t\* ConfigMap .*\n\n$/);
    for (const resource of ["configmaps", "secrets"])
      expect(err.message).toContain(`User "system:serviceaccount:${ns}:installer" cannot patch resource "${resource}" in API group ""`);
    expect(await liveKinds(cluster, [...fine, secret])).toEqual([]);
    expect(applier.actions).toEqual([]);
  });

  test("an object that was made anew after it was read is left alone", async () => {
    const { ns, account } = await loneExtension(cluster);
    const first = await cluster.client.create(configMap("a", ns, { whose: "ours" }));
    await cluster.client.delete(refOf(first));
    await cluster.client.create(configMap("a", ns, { whose: "theirs" }));
    const applier = new Applier(account.client, log, signal);
    await applier.remove([first]);
    expect(verbsOf(applier)).toEqual(["absent ConfigMap"]);
    expect((await cluster.client.get(refOf(first)))?.["data"]).toEqual({ whose: "theirs" });
  });
});
