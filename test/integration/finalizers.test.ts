import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { FINALIZER_UNINSTALL } from "../../pkg/api/constants.ts";
import { toObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const READY = { Ready: "True/Succeeded" };

// Source: I-06 (deletion).
describeWithPrivateCluster("finalizers of the garbage collector on an extension", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    world.bundle("p.v1.0.0", tinyBundle("1.0.0"));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const deployment = (namespace: string) => cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name: "tiny" });
  const listRemoved = async (name: string): Promise<string[]> =>
    (await world.events(name)).filter((text) => text.startsWith("FinalizerRemoved: "));

  test.for([
    ["held", { suspend: false }, "orphan"],
    ["held-suspended", { suspend: true }, "orphan"],
    ["foreground", { suspend: false }, "foregroundDeletion"],
  ] as const)(
    "finalizers of the garbage collector are removed from an extension that is not being deleted, and a later deletion deletes its objects: %s",
    async ([name, spec, finalizer]) => {
      const x = await world.extension(name);
      const namespace = getNamespace(x);
      await world.conditions(name, READY);
      await cluster.client.patch(toObjectRef(x), { spec }, { type: "merge" });
      if (spec.suspend) await world.conditions(name, { Progressing: "False/Suspended" });
      const finalizers = [FINALIZER_UNINSTALL, finalizer, "example.com/theirs"];
      await cluster.client.patch(toObjectRef(x), { metadata: { finalizers } }, { type: "merge" });
      await world.until(name, ({ metadata }) =>
        expect(metadata.finalizers?.toSorted()).toEqual(["example.com/theirs", FINALIZER_UNINSTALL]),
      );
      await eventually(async () =>
        expect(await listRemoved(name)).toEqual([
          `FinalizerRemoved: removed finalizer ${finalizer} because the extension is not being deleted. To keep its objects, delete the extension with --cascade=orphan`,
        ]),
      );
      await cluster.client.patch(toObjectRef(x), { metadata: { finalizers: [FINALIZER_UNINSTALL] } }, { type: "merge" });
      await cluster.client.delete(toObjectRef(x));
      await world.gone(name);
      expect(await deployment(namespace)).toBeUndefined();
      expect(await world.releases(name)).toEqual([]);
    },
  );

  test("status lists the finalizers of other clients that remain after an extension's objects are deleted", async () => {
    const x = await world.extension("waits");
    await world.conditions("waits", READY);
    const { finalizers = [] } = (await world.get("waits")).metadata;
    await cluster.client.patch(toObjectRef(x), { metadata: { finalizers: [...finalizers, "example.com/theirs"] } }, { type: "merge" });
    await cluster.client.delete(toObjectRef(x));
    await world.expectProblem("waits", "FinalizersBlockDeletion", { details: ["example.com/theirs"] });
    expect(await deployment(getNamespace(x))).toBeUndefined();
    await cluster.client.patch(toObjectRef(x), { metadata: { finalizers: [] } }, { type: "merge" });
    await world.gone("waits");
  });

  test("a deletion with propagation policy Orphan keeps the objects and releases of an extension", async () => {
    const x = await world.extension("left");
    await world.conditions("left", READY);
    await cluster.client.delete(toObjectRef(x), { propagationPolicy: "Orphan" });
    await eventually(async () =>
      expect((await world.events("left")).join("\n")).toContain("Orphaned: the extension was deleted with --cascade=orphan"),
    );
    expect(await deployment(getNamespace(x))).toBeDefined();
    expect(await world.releases("left")).toEqual(["v1 deployed"]);
    expect(await listRemoved("left")).toEqual([]);
  });
});
