import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const REFUSED = { Progressing: "True/Retrying" };

const role: KubeObject = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "only-once" },
  rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
};

/** Creates the definition of Things with another plural name in the same group and of the same kind. */
function renamedDefinition(group: string): KubeObject {
  const { spec, ...crd } = thingDefinition(group);
  const names = { plural: "items", singular: "item", kind: "Thing", listKind: "ThingList" };
  return { ...crd, metadata: { name: `items.${group}` }, spec: { ...(spec as object), names } };
}

// Source: H-23, S0-061, S0-063. With these intervals, only the recheck is fast enough.
describeWithPrivateCluster("objects that another owner has", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { maxBackoffMs: 600_000, driftIntervalMs: 600_000, recheckIntervalMs: 600_000 });
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [role] }));
    world.bundle("p.v2.0.0", tinyBundle("2.0.0", { objects: [thingDefinition("conflicts.example.com")] }));
    world.bundle("p.v3.0.0", tinyBundle("3.0.0", { objects: [renamedDefinition("conflicts.example.com")] }));
    await world.serve({ channels: { a: ["p.v1.0.0"], b: ["p.v2.0.0"], c: ["p.v3.0.0"] }, bundles: ["p.v1.0.0", "p.v2.0.0", "p.v3.0.0"] });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test("an install resumes when another extension that owns one of its objects is deleted", async () => {
    await world.extension("first", { catalog: { channels: ["a"] } });
    await world.conditions("first", DONE);
    await world.extension("second", { catalog: { channels: ["a"] } });
    await world.conditions("second", REFUSED);
    await world.expectProblem("second", "ObjectConflict", {
      message: "ClusterRole 'only-once' already exists in namespace '' and cannot be managed by operator-controller",
      next: 'it belongs to ClusterExtension "first"',
      details: [
        {
          group: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "only-once",
          owner: expect.stringContaining('ClusterExtension "first"') as string,
        },
      ],
    });
    expect(await world.releases("second")).toEqual([]);
    await world.remove("first");
    await world.conditions("second", DONE);
    await world.remove("second");
  });

  test("an upgrade keeps the installed bundle until a conflicting object without an owner is deleted", async () => {
    await world.extension("later", { catalog: { channels: ["b"] } });
    await world.conditions("later", DONE);
    const foreign = await cluster.client.create({ ...role, rules: [] });
    await cluster.client.patch(
      { ...foreign, name: "later", apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension" },
      { spec: { source: { catalog: { channels: ["a"], upgradeConstraintPolicy: "SelfCertified" } } } },
      { type: "merge" },
    );
    await world.conditions("later", { ...REFUSED, Installed: "True/Succeeded" });
    await world.expectProblem("later", "ObjectConflict", { next: "it has no known owner" });
    await cluster.client.delete({ apiVersion: role.apiVersion, kind: role.kind, name: "only-once" });
    await eventually(async () => expect((await world.get("later")).status?.install?.bundle.name).toBe("p.v1.0.0"));
    await world.remove("later");
  });

  test("an install is rejected until another extension that defines the same kind, even in a CRD with another name, is deleted", async () => {
    await world.extension("owner", { catalog: { channels: ["b"] } });
    await world.conditions("owner", DONE);
    await world.extension("same-name", { catalog: { channels: ["b"] } });
    await world.extension("same-kind", { catalog: { channels: ["c"] } });
    const name = await world.conditions("same-name", REFUSED);
    expect(name["Progressing"]).toContain("CustomResourceDefinition 'things.conflicts.example.com' already exists");
    await world.conditions("same-kind", REFUSED);
    await world.expectProblem("same-kind", "KindConflict", {
      message:
        "CustomResourceDefinition 'items.conflicts.example.com' cannot define kind Thing of group 'conflicts.example.com', because " +
        "'things.conflicts.example.com' already defines it",
      next: 'it belongs to ClusterExtension "owner"',
      details: [{ group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", name: "items.conflicts.example.com" }],
    });
    const items = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "items.conflicts.example.com" };
    expect(await cluster.client.get(items)).toBeUndefined();
    await world.remove("same-name");
    await world.remove("owner");
    await world.conditions("same-kind", { ...DONE, Available: "True/Healthy" });
    expect(await cluster.client.get(items)).toBeDefined();
  });
});
