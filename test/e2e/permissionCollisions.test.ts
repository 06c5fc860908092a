import { afterAll, beforeAll, expect, test } from "vitest";
import { LABEL_PERMISSIONS_FOR } from "../../pkg/api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { intersects, type PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { readGrantedRoles } from "../support/extensionLife.ts";
import { ManagedWorld } from "../support/managedWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const RBAC_GROUP = "rbac.authorization.k8s.io";
const MERGE = { type: "merge" } as const;
const GUARD: ObjectRef = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  name: "olmv1-granted-objects",
};
const FOREIGN: PolicyRule = { apiGroups: ["foreign.example.com"], resources: ["*"], verbs: ["*"] };
const SUBJECTS = [{ kind: "Group", apiGroup: RBAC_GROUP, name: "foreign" }];

/** The members of roles, bindings and ServiceAccounts. */
interface Content extends KubeObject {
  readonly rules?: unknown;
  readonly roleRef?: unknown;
  readonly subjects?: unknown;
  readonly automountServiceAccountToken?: unknown;
}

type NewObject = (name: string) => KubeObject;
const clusterRole: NewObject = (name) => ({ apiVersion: RBAC, kind: "ClusterRole", metadata: { name }, rules: [FOREIGN] });
const role = (namespace: string): NewObject => {
  return (name) => ({ apiVersion: RBAC, kind: "Role", metadata: { name, namespace }, rules: [FOREIGN] });
};
const clusterRoleBinding = (name: string, kind = "ClusterRole"): KubeObject => ({
  apiVersion: RBAC,
  kind: "ClusterRoleBinding",
  metadata: { name },
  roleRef: { apiGroup: RBAC_GROUP, kind, name },
  subjects: SUBJECTS,
});
const roleBinding = (namespace: string): NewObject => {
  return (name) => ({ ...clusterRoleBinding(name, "Role"), kind: "RoleBinding", metadata: { name, namespace } });
};
const serviceAccount = (namespace: string): NewObject => {
  return (name) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace }, automountServiceAccountToken: false });
};

/** Objects with names of permission-manager that existed before the extension, and before the admission policies that reserve these names. */
const TAKEN: readonly (readonly [extension: string, what: string, object: KubeObject])[] = [
  ["role", "a ClusterRole", clusterRole("olmv1-extension-role")],
  ["binding", "a ClusterRoleBinding", clusterRoleBinding("olmv1-extension-binding")],
  ["account", "a ServiceAccount", serviceAccount("account-system")("olmv1-extension-account")],
  ["local", "a Role", role("local-system")("olmv1-extension-local")],
  ["localbinding", "a RoleBinding", roleBinding("localbinding-system")("olmv1-extension-localbinding")],
  ["token", "a Role for tokens", role("token-system")("olmv1-token-token")],
];

/** The same with the label of permission-manager, and objects that the bundle does not need. */
const LABELED: readonly (readonly [extension: string, what: string, object: KubeObject])[] = [
  ["labeledrole", "a ClusterRole", clusterRole("olmv1-extension-labeledrole")],
  ["labeledlocal", "a Role", role("labeledlocal-system")("olmv1-extension-labeledlocal")],
  ["elsewhere", "a Role in another namespace", role("default")("olmv1-extension-elsewhere")],
  ["elsewherebinding", "a RoleBinding in another namespace", roleBinding("default")("olmv1-extension-elsewherebinding")],
  ["labeledaccount", "a ServiceAccount in another namespace", serviceAccount("default")("olmv1-extension-labeledaccount")],
  ["labeledtoken", "a Role for tokens in another namespace", role("default")("olmv1-token-labeledtoken")],
];
const EXTENSIONS = [...TAKEN, ...LABELED].map(([name]) => name);

describeWithPrivateCluster("objects with names and labels of permission-manager", (cluster) => {
  let world: ManagedWorld;

  beforeAll(async () => {
    world = await ManagedWorld.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s"] } });
    const rules = [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }];
    const files = (name: string): Record<string, string> =>
      tinyBundle("1.0.0", { name, clusterPermissions: [{ serviceAccountName: name, rules }] });
    const packages = [...EXTENSIONS, "kept", "own"].map((name) => [name, [{ version: "1.0.0", files: files(name) }]] as const);
    await world.publish("motors", Object.fromEntries(packages));
    for (const name of [...EXTENSIONS, "kept"]) await createNamespace(`${name}-system`);
    await withoutGuard(async () => {
      for (const [, , object] of TAKEN) await cluster.client.create(object);
      for (const [name, , object] of LABELED) await cluster.client.create(addLabel(object, name));
    });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    expect(world.world.unexpectedEnds).toEqual([]);
  });

  function createNamespace(name: string): Promise<KubeObject> {
    return cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { team: "users" } } });
  }

  function addLabel(object: KubeObject, extension: string): KubeObject {
    return { ...object, metadata: { ...object.metadata, labels: { [LABEL_PERMISSIONS_FOR]: extension } } };
  }

  /** Runs `change` while no admission policy reserves names and labels. */
  async function withoutGuard(change: () => Promise<unknown>): Promise<void> {
    const probe = (): Promise<KubeObject> => cluster.client.create(clusterRole("olmv1-extension-probe"), { dryRun: true });
    const guard = await cluster.client.get(GUARD);
    if (!guard) throw new Error(`${GUARD.name} does not exist`);
    await cluster.client.delete(GUARD);
    await eventually(probe);
    await change();
    const { apiVersion, kind, metadata, ...members } = guard;
    await cluster.client.create({ apiVersion, kind, metadata: { name: metadata.name, labels: metadata.labels ?? {} }, ...members });
    await eventually(() => expect(probe()).rejects.toThrow(/only permission-manager writes/));
  }

  function pickContent({ rules, roleRef, subjects, automountServiceAccountToken, metadata: { uid, labels = {} } }: Content): object {
    return { rules, roleRef, subjects, automountServiceAccountToken, uid, labels };
  }

  /** @throws Error if the rules of an extension contain the foreign rule. */
  async function expectNoForeignRule(name: string): Promise<void> {
    const { clusterRules, namespaceRules } = await readGrantedRoles(cluster.client, name);
    const all = [...clusterRules, ...[...namespaceRules.values()].flat()];
    expect(all.length).toBeGreaterThan(0);
    expect(all.filter((rule) => intersects(rule, FOREIGN))).toEqual([]);
  }

  test.for(TAKEN)("extension %s does not take %s that a user created before", async ([name, , object]) => {
    const before = await cluster.client.get(toObjectRef(object));
    await world.create(name, name, { namespace: `${name}-system` });
    await world.until(name, ({ state, conditions }) => {
      expect(state).toBe("Failed");
      expect(conditions?.[0]?.message).toMatch(/permission-manager does not change objects that it did not create/);
    });
    await world.world.condition(
      "ClusterExtension",
      name,
      (condition) => condition("Progressing")?.message.includes("did not create") ?? false,
    );
    const after = await cluster.client.get(toObjectRef(object));
    expect(pickContent(after as Content)).toEqual(pickContent(before as Content));
    expect((await world.world.extension(name))?.status?.install).toBeUndefined();
    await cluster.client.delete(toObjectRef(object));
    await world.ready(name, "1.0.0");
  });

  test.for(LABELED)("extension %s has exactly its rules after a user created %s with its label before", async ([name, , object]) => {
    await world.create(name, name, { namespace: `${name}-system` });
    await world.ready(name, "1.0.0");
    await world.until(name, ({ state }) => expect(state).toBe("Granted"));
    await eventually(() => expectNoForeignRule(name));
    await world.edit(name, { spec: { source: { catalog: { channels: ["stable"] } } } });
    const isNeeded = object.metadata.namespace === undefined || object.metadata.namespace === `${name}-system`;
    await eventually(async () => expect((await cluster.client.get(toObjectRef(object))) !== undefined).toBe(isNeeded));
  });

  const own = "olmv1-extension-own";
  const bindTo = (subject: object): KubeObject => ({ ...clusterRoleBinding("view"), metadata: { name: "foreign" }, subjects: [subject] });
  test.for<[what: string, change: (client: Client) => Promise<unknown>]>([
    ["create a role with the label", (client) => client.create(addLabel(clusterRole("foreign"), "own"))],
    ["create a role with a reserved name", (client) => client.create(clusterRole("olmv1-extension-foreign"))],
    ["create a ServiceAccount with a reserved name", (client) => client.create(serviceAccount("default")("olmv1-extension-foreign"))],
    ["create a binding with a reserved name", (client) => client.create(roleBinding("default")("olmv1-read-foreign"))],
    [
      "label a namespace",
      (client) =>
        client.patch(
          { apiVersion: "v1", kind: "Namespace", name: "default" },
          { metadata: { labels: { [LABEL_PERMISSIONS_FOR]: "own" } } },
          MERGE,
        ),
    ],
    [
      "create a namespace with the label",
      (client) => client.create(addLabel({ apiVersion: "v1", kind: "Namespace", metadata: { name: "foreign" } }, "own")),
    ],
    ["add a rule to a role", (client) => client.patch({ apiVersion: RBAC, kind: "ClusterRole", name: own }, { rules: [FOREIGN] }, MERGE)],
    [
      "add a subject to a binding",
      (client) => client.patch({ apiVersion: RBAC, kind: "ClusterRoleBinding", name: own }, { subjects: SUBJECTS }, MERGE),
    ],
    [
      "bind a role to the ServiceAccount",
      (client) => client.create(bindTo({ kind: "ServiceAccount", namespace: "own-system", name: own })),
    ],
    [
      "bind a role to the user of the ServiceAccount",
      (client) => client.create(bindTo({ kind: "User", apiGroup: RBAC_GROUP, name: `system:serviceaccount:own-system:${own}` })),
    ],
    [
      "remove the label from a role",
      (client) => client.patch({ apiVersion: RBAC, kind: "ClusterRole", name: own }, { metadata: { labels: null } }, MERGE),
    ],
  ])("an administrator cannot %s of an installed extension", async ([, change]) => {
    if (!(await world.world.extension("own"))) await world.create("own", "own");
    await world.ready("own", "1.0.0");
    await expect(change(cluster.client)).rejects.toThrow(/only permission-manager writes/);
  });

  test("an extension loses rules and roles that a user added to it while no admission policy existed", async () => {
    await withoutGuard(async () => {
      await cluster.client.patch({ apiVersion: RBAC, kind: "ClusterRole", name: own }, { rules: [FOREIGN] }, MERGE);
      await cluster.client.create(addLabel(role("default")(own), "own"));
    });
    await world.edit("own", { spec: { source: { catalog: { channels: ["stable"] } } } });
    await eventually(() => expectNoForeignRule("own"));
    await eventually(async () =>
      expect(await cluster.client.get({ apiVersion: RBAC, kind: "Role", namespace: "default", name: own })).toBeUndefined(),
    );
    await world.ready("own", "1.0.0");
  });

  test("a namespace that existed before an extension stays unchanged, and is kept after the uninstall", async () => {
    const ref = { apiVersion: "v1", kind: "Namespace", name: "kept-system" };
    await world.setPolicy({ namespaces: { deletion: "Delete", labels: { team: "operators" } } }, "deleting");
    const before = await cluster.client.get(ref);
    await world.create("kept", "kept", { namespace: "kept-system", install: { permissionPolicy: "deleting" } });
    await world.ready("kept", "1.0.0");
    await world.world.removed("ClusterExtension", "kept");
    await eventually(async () => expect(await world.listGranted("kept")).toEqual([]));
    const after = await cluster.client.get(ref);
    expect([after?.metadata.uid, after?.metadata.labels, after?.metadata.deletionTimestamp]).toEqual([
      before?.metadata.uid,
      before?.metadata.labels,
      undefined,
    ]);
  });
});
