import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { LABEL_DEPENDENT_PREFIX } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const DEPENDENCY = { "olm.operatorframework.io/dependency": "true" };
const WRITE = {
  apiGroups: ["olm.operatorframework.io"],
  resources: ["clusterextensions"],
  verbs: ["get", "create", "update", "patch", "delete"],
};
const impersonating = (...names: string[]) => ({
  apiGroups: [""],
  resources: ["serviceaccounts"],
  verbs: ["impersonate"],
  resourceNames: names,
});

describeWithPrivateCluster("admission of extensions", (cluster) => {
  let controller: Client;
  const ref = (name: string): ObjectRef => ({ apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name });
  const extension = (name: string, spec: Partial<ClusterExtensionSpec> = {}, labels?: Record<string, string>): KubeObject => {
    const created = createExtension(name, { packageName: "p" });
    return { ...created, metadata: { name, ...(labels ? { labels } : {}) }, spec: { ...created.spec, ...spec } };
  };

  async function apply(file: string, from = "", to = ""): Promise<void> {
    const text = readFileSync(join(CONFIG, file), "utf8").replaceAll(from, to);
    for (const object of loadAll(text) as KubeObject[]) await cluster.client.apply(object, { fieldManager: "test", force: true });
  }

  beforeAll(async () => {
    await cluster.installCrds();
    for (const name of ["olmv1-system", "x-system", "other"])
      await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } }, { fieldManager: "test" });
    const created = await serviceAccount(cluster.client, "olmv1-system", "operator-controller-controller-manager", [WRITE]);
    controller = created.client;
  });

  // Source: O-05.
  describe("by config/rbac/dependencies.yaml", () => {
    const REFUSED = "operator-controller may only create dependencies of other extensions";

    beforeAll(async () => {
      await apply("rbac/dependencies.yaml");
      // The API server takes a moment to apply the policy.
      await eventually(() => expect(controller.create(extension("probe"), { dryRun: true })).rejects.toThrow(REFUSED));
    });

    test("dependencies.yaml permits operator-controller to create and delete extensions only as dependencies", async () => {
      await controller.create(extension("made", {}, DEPENDENCY));
      await controller.delete(ref("made"));
      await cluster.client.create(extension("mine"));
      await expect(controller.delete(ref("mine"))).rejects.toThrow(
        "operator-controller may only delete extensions that it created as dependencies",
      );
    });

    test("dependencies.yaml permits operator-controller to change finalizers and labels of extensions, but not what users decide", async () => {
      await cluster.client.create(extension("users"));
      const edit = (body: object): Promise<KubeObject> => controller.patch(ref("users"), body, { type: "merge" });
      await edit({ metadata: { finalizers: ["olm.operatorframework.io/uninstall"], labels: { [`${LABEL_DEPENDENT_PREFIX}a`]: "1" } } });
      await edit({ metadata: { finalizers: null, labels: null } });
      for (const spec of [{ suspend: true }, { config: { configType: "Inline", inline: { a: 1 } } }])
        await expect(edit({ spec })).rejects.toThrow("operator-controller must not change spec");
      await expect(edit({ metadata: { labels: DEPENDENCY } })).rejects.toThrow("operator-controller must not change label");
      await cluster.client.delete(ref("users"));
    });

    test("dependencies.yaml does not apply to other users", async () => {
      await cluster.client.create(extension("theirs"));
      await cluster.client.delete(ref("theirs"));
    });
  });

  // Source: O-05: spec.dependencies.template as spec.serviceAccount.
  describe("by config/samples/service-accounts.yaml", () => {
    let user: Client;
    const buildSpec = (name: string): Partial<ClusterExtensionSpec> => ({ namespace: "x-system", serviceAccount: { name } });
    const template = (namespace: string, name: string): Partial<ClusterExtensionSpec> => ({
      ...buildSpec("mine"),
      dependencies: { policy: "Install", template: { namespace, serviceAccount: { name } } },
    });

    beforeAll(async () => {
      user = (await serviceAccount(cluster.client, "x-system", "user", [WRITE, impersonating("mine")])).client;
      await apply("samples/service-accounts.yaml");
      await eventually(() =>
        expect(user.create(extension("probe", buildSpec("theirs")), { dryRun: true })).rejects.toThrow("may not impersonate"),
      );
    });

    test.for<[string, Partial<ClusterExtensionSpec>]>([
      ["a ServiceAccount that the user may impersonate", buildSpec("mine")],
      ["the same ServiceAccount for dependencies", template("x-system", "mine")],
      ["none", { namespace: "x-system", serviceAccount: undefined }],
      ["none, without a namespace", { namespace: undefined, serviceAccount: undefined }],
      [
        "none, without a namespace, and a ServiceAccount for dependencies",
        { namespace: undefined, serviceAccount: undefined, dependencies: template("x-system", "mine").dependencies },
      ],
    ])("service-accounts.yaml permits an extension to use %s", async ([, spec]) => {
      await user.create(JSON.parse(JSON.stringify(extension("allowed", spec))) as KubeObject, { dryRun: true });
    });

    test.for<[string, Partial<ClusterExtensionSpec>, string]>([
      ["another ServiceAccount", buildSpec("theirs"), "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs"],
      [
        "another ServiceAccount for dependencies",
        template("x-system", "theirs"),
        "spec.dependencies.template: you may not impersonate ServiceAccount x-system/theirs",
      ],
      [
        "another ServiceAccount for dependencies, without a namespace",
        { namespace: undefined, serviceAccount: undefined, dependencies: template("x-system", "theirs").dependencies },
        "spec.dependencies.template: you may not impersonate ServiceAccount x-system/theirs",
      ],
      [
        "another ServiceAccount, without a namespace",
        { namespace: undefined, serviceAccount: { name: "theirs" } },
        "spec.serviceAccount: you may not impersonate ServiceAccount /theirs",
      ],
    ])("service-accounts.yaml does not permit an extension to use %s", async ([, spec, refusal]) => {
      const created = JSON.parse(JSON.stringify(extension("refused", spec))) as KubeObject;
      await expect(user.create(created, { dryRun: true })).rejects.toThrow(refusal);
    });

    test("service-accounts.yaml checks changes of the spec, but not changes of labels or by operator-controller", async () => {
      await cluster.client.create(extension("changed", buildSpec("theirs")));
      const change = (client: Client, patch: object): Promise<unknown> => client.patch(ref("changed"), patch, { type: "merge" });
      const refusal = "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs";
      await expect(change(user, { spec: { source: { catalog: { version: "1.0.0" } } } })).rejects.toThrow(refusal);
      await expect(change(user, { metadata: { annotations: { "olm.operatorframework.io/rollback-to": "1" } } })).rejects.toThrow(refusal);
      await expect(change(user, { metadata: { labels: DEPENDENCY } })).rejects.toThrow(refusal);
      const owner = { apiVersion: "v1", kind: "Namespace", name: "gone", uid: "1" };
      await expect(change(user, { metadata: { ownerReferences: [owner] } })).rejects.toThrow(refusal);
      await change(user, { metadata: { labels: { team: "a" } } });
      const dependent = `${LABEL_DEPENDENT_PREFIX}other`;
      await change(controller, { metadata: { labels: { [dependent]: "1" } } });
      await expect(change(user, { metadata: { labels: { [dependent]: null } } })).rejects.toThrow(refusal);
      await controller.create(extension("made-for-it", buildSpec("theirs"), DEPENDENCY));
    });

    test.for<[what: string, finalizers: string[]]>([
      ["set finalizer orphan", ["olm.operatorframework.io/uninstall", "orphan"]],
      ["set finalizer foregroundDeletion", ["olm.operatorframework.io/uninstall", "foregroundDeletion"]],
      ["remove the finalizer that waits for the uninstall", []],
    ])(
      "a user who may not impersonate the extension's ServiceAccount cannot %s, but a user who may impersonate it can",
      async ([, finalizers], { task }) => {
        const names = [`finalized-${task.id.replaceAll(/[^0-9]/g, "")}`, `mine-${task.id.replaceAll(/[^0-9]/g, "")}`];
        const [theirs = "", mine = ""] = names;
        for (const [name, account] of [
          [theirs, "theirs"],
          [mine, "mine"],
        ] as const) {
          const created = extension(name, buildSpec(account));
          await cluster.client.create({ ...created, metadata: { name, finalizers: ["olm.operatorframework.io/uninstall"] } });
        }
        const change = (client: Client, name: string, list: string[]): Promise<unknown> =>
          client.patch(ref(name), { metadata: { finalizers: list } }, { type: "merge" });
        await expect(change(user, theirs, finalizers)).rejects.toThrow(
          "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs",
        );
        await change(user, theirs, ["olm.operatorframework.io/uninstall", "example.com/theirs"]);
        await change(user, mine, finalizers);
        for (const name of names) {
          await change(cluster.client, name, []);
          await cluster.client.delete(ref(name));
        }
      },
    );

    test("a user who may not impersonate a ServiceAccount cannot remove the ServiceAccount from spec.serviceAccount or spec.dependencies.template", async () => {
      await cluster.client.create(extension("emptied", buildSpec("theirs")));
      const change = (name: string, spec: object): Promise<unknown> => user.patch(ref(name), { spec }, { type: "merge" });
      await expect(change("emptied", { serviceAccount: null })).rejects.toThrow(
        "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs",
      );
      await cluster.client.create(extension("templated", template("x-system", "theirs")));
      await expect(change("templated", { dependencies: null })).rejects.toThrow(
        "spec.dependencies.template: you may not impersonate ServiceAccount x-system/theirs",
      );
      await cluster.client.create(extension("released", buildSpec("mine")));
      await change("released", { serviceAccount: null });
      for (const name of ["emptied", "templated", "released"]) await cluster.client.delete(ref(name));
    });

    test("an extension without spec.namespace uses ServiceAccounts in the namespace of its installation", async () => {
      const managed = extension("managed", { namespace: undefined, serviceAccount: undefined });
      await cluster.client.create(JSON.parse(JSON.stringify(managed)) as KubeObject);
      const change = (spec: object): Promise<unknown> => user.patch(ref("managed"), { spec }, { type: "merge" });
      await change({ source: { catalog: { version: "1.0.0" } } });
      const install = { namespace: "x-system", bundle: { name: "p.v1.0.0", version: "1.0.0" } };
      await cluster.client.patch(ref("managed"), { status: { install } }, { type: "merge", subresource: "status" });
      const refusal = "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs";
      await expect(change({ serviceAccount: { name: "theirs" } })).rejects.toThrow(refusal);
      await change({ serviceAccount: { name: "mine" } });
      await change({ serviceAccount: null });
      await cluster.client.patch(ref("managed"), { spec: { serviceAccount: { name: "theirs" } } }, { type: "merge" });
      await expect(change({ serviceAccount: null })).rejects.toThrow(refusal);
      await expect(user.delete(ref("managed"))).rejects.toThrow(refusal);
      await cluster.client.delete(ref("managed"));
    });

    test("a user who may not impersonate the extension's ServiceAccount cannot delete the extension, but the garbage collector can", async () => {
      await cluster.client.create(extension("kept", buildSpec("theirs")));
      await cluster.client.create(extension("own", buildSpec("mine")));
      await expect(user.delete(ref("kept"))).rejects.toThrow("you may not impersonate ServiceAccount x-system/theirs");
      await user.delete(ref("own"));
      const collector = new ServiceAccountTokens(cluster.client).tokenFor("kube-system", "generic-garbage-collector");
      await cluster.client.withToken(collector).delete(ref("kept"));
    });

    test("a ServiceAccount with the name of operator-controller's ServiceAccount in another namespace is not exempt", async () => {
      const { client } = await serviceAccount(cluster.client, "other", "operator-controller-controller-manager", [WRITE]);
      const refusal = "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs";
      await expect(client.create(extension("refused", buildSpec("theirs"), DEPENDENCY), { dryRun: true })).rejects.toThrow(refusal);
    });
  });

  // Source: I-29 (46 to 51).
  test("access-control.yaml permits a group to change and delete only the packages that it may install", async () => {
    const GROUP = "system:serviceaccounts:other";
    const { client } = await serviceAccount(cluster.client, "other", "member", [WRITE]);
    const ours = createExtension("ours", { packageName: "cockroachdb" });
    const selector = { matchLabels: { "olm.operatorframework.io/metadata.name": "operatorhubio" } };
    const source = { sourceType: "Catalog" as const, catalog: { packageName: "cockroachdb", selector } };
    const spec = { ...ours.spec, namespace: "cockroachdb", serviceAccount: undefined, source };
    const REFUSED = "package not allowed; permitted: cockroachdb";
    const theirs = extension("not-ours", { namespace: "x-system", serviceAccount: undefined });
    await cluster.client.create(theirs);
    await apply("samples/access-control.yaml", 'group == "databases"', `group == "${GROUP}"`);
    await eventually(() => expect(client.create(extension("probe", theirs["spec"] as object), { dryRun: true })).rejects.toThrow(REFUSED));
    await expect(client.delete(ref("not-ours"))).rejects.toThrow(REFUSED);
    for (const metadata of [
      { finalizers: ["orphan"] },
      { labels: DEPENDENCY },
      { annotations: { "olm.operatorframework.io/force-delete": "true" } },
    ])
      await expect(client.patch(ref("not-ours"), { metadata }, { type: "merge" })).rejects.toThrow(REFUSED);
    const created = JSON.parse(JSON.stringify({ ...ours, spec })) as KubeObject;
    await client.create(created);
    const ignoring = { preflight: { crdUpgradeSafety: { enforcement: "Strict", ignore: ["scope"] } } };
    await expect(client.patch(ref("ours"), { spec: { install: ignoring } }, { type: "merge" })).rejects.toThrow("may not be disabled");
    await client.delete(ref("ours"));
  });
});
