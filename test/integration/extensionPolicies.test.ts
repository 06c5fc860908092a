import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { extensionNamed } from "../support/extensions.ts";
import { serviceAccount } from "../support/serviceAccount.ts";

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
    const made = extensionNamed(name, { packageName: "p" });
    return { ...made, metadata: { name, ...(labels ? { labels } : {}) }, spec: { ...made.spec, ...spec } };
  };

  async function apply(file: string): Promise<void> {
    for (const object of loadAll(readFileSync(join(CONFIG, file), "utf8")) as KubeObject[])
      await cluster.client.apply(object, { fieldManager: "test", force: true });
  }

  beforeAll(async () => {
    await cluster.installCrds();
    for (const name of ["olmv1-system", "x-system", "other"])
      await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } }, { fieldManager: "test" });
    const made = await serviceAccount(cluster.client, "olmv1-system", "operator-controller-controller-manager", [WRITE]);
    controller = made.client;
  });

  // Source: architecture.md 4.5.
  describe("by config/rbac/dependencies.yaml", () => {
    const REFUSED = "operator-controller creates only extensions that others depend on";

    beforeAll(async () => {
      await apply("rbac/dependencies.yaml");
      // It takes the API server a moment to follow.
      await eventually(() => expect(controller.create(extension("probe"), { dryRun: true })).rejects.toThrow(REFUSED));
    });

    test("operator-controller creates and deletes the extensions that it makes for others, and no other", async () => {
      await controller.create(extension("made", {}, DEPENDENCY));
      await controller.delete(ref("made"));
      await cluster.client.create(extension("mine"));
      await expect(controller.delete(ref("mine"))).rejects.toThrow("operator-controller deletes only extensions that it made for others");
    });

    test("others are not concerned", async () => {
      await cluster.client.create(extension("theirs"));
      await cluster.client.delete(ref("theirs"));
    });
  });

  // Source: architecture.md 4.5: spec.dependencies.template as spec.serviceAccount.
  describe("by config/samples/service-accounts.yaml", () => {
    let user: Client;
    const named = (name: string): Partial<ClusterExtensionSpec> => ({ namespace: "x-system", serviceAccount: { name } });
    const template = (namespace: string, name: string): Partial<ClusterExtensionSpec> => ({
      ...named("mine"),
      dependencies: { policy: "Install", template: { namespace, serviceAccount: { name } } },
    });

    beforeAll(async () => {
      user = (await serviceAccount(cluster.client, "x-system", "user", [WRITE, impersonating("mine")])).client;
      await apply("samples/service-accounts.yaml");
      await eventually(() =>
        expect(user.create(extension("probe", named("theirs")), { dryRun: true })).rejects.toThrow("may not impersonate"),
      );
    });

    test.for<[string, Partial<ClusterExtensionSpec>]>([
      ["a ServiceAccount that the user may impersonate", named("mine")],
      ["the same for what it depends on", template("x-system", "mine")],
      ["none", { namespace: "x-system", serviceAccount: undefined }],
    ])("an extension may name %s", async ([, spec]) => {
      await user.create(JSON.parse(JSON.stringify(extension("allowed", spec))) as KubeObject, { dryRun: true });
    });

    test.for<[string, Partial<ClusterExtensionSpec>, string]>([
      ["another", named("theirs"), "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs"],
      [
        "another for what it depends on",
        template("x-system", "theirs"),
        "spec.dependencies.template: you may not impersonate ServiceAccount x-system/theirs",
      ],
    ])("it may not name %s", async ([, spec, refusal]) => {
      await expect(user.create(extension("refused", spec), { dryRun: true })).rejects.toThrow(refusal);
    });

    test("a change of spec or annotations is looked at, one of labels and operator-controller's own are not", async () => {
      await cluster.client.create(extension("changed", named("theirs")));
      const change = (client: Client, patch: object): Promise<unknown> => client.patch(ref("changed"), patch, { type: "merge" });
      const refusal = "spec.serviceAccount: you may not impersonate ServiceAccount x-system/theirs";
      await expect(change(user, { spec: { source: { catalog: { version: "1.0.0" } } } })).rejects.toThrow(refusal);
      await expect(change(user, { metadata: { annotations: { "olm.operatorframework.io/rollback-to": "1" } } })).rejects.toThrow(refusal);
      await change(user, { metadata: { labels: { team: "a" } } });
      await controller.create(extension("made-for-it", named("theirs"), DEPENDENCY));
    });
  });
});
