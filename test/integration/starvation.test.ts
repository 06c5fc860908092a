import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { installConfig } from "../../pkg/devcluster/installation.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { FaultProxy } from "../support/faultProxy.ts";
import { controllerBehind } from "../support/faultWorld.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const INSTALLED = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
/** More than the number of the controller's workers. */
const AFFECTED = ["a", "b", "c"];
/** With this limit, every reconcile counts as slow. */
const DELAY_MS = 100;

/** A fault, and its effect on extensions. */
interface Fault {
  /** @returns a function that ends the fault. */
  readonly begin: (world: OperatorWorld, proxy: FaultProxy) => () => void;
  /** Package of the affected extensions; p 2.0.0 by default. */
  packageName?: string;
  /** Condition Progressing of the affected extensions during the fault; absent if their reconciles do not end. */
  shows?: { reason: string; message: RegExp };
}

describeWithPrivateCluster("faults for more extensions than the controller has workers", (cluster) => {
  let proxy: FaultProxy;
  let client: Client;
  let world: OperatorWorld;

  beforeAll(async () => {
    await installConfig(cluster.client);
    const binding = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "controller-may-do-everything" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [getControllerSubject(SYSTEM_NAMESPACE)],
    };
    await cluster.client.apply(binding, { fieldManager: "test" });
    proxy = await FaultProxy.start(cluster.server);
    client = await controllerBehind(proxy, cluster.client);
    world = await OperatorWorld.start(cluster, { slowReconcileMs: 300 }, client);
    for (const version of ["1.0.0", "2.0.0"]) world.bundle(`p.v${version}`, tinyBundle(version));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v2.0.0", replaces: "p.v1.0.0" }] },
      bundles: ["p.v1.0.0", "p.v2.0.0"],
    });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await client?.close();
    await proxy?.[Symbol.asyncDispose]();
  });

  test.for<[what: string, fault: Fault]>([
    [
      "a registry hangs",
      { begin: (world) => world.hang("p.v2.0.0"), shows: { reason: "True/RollingOut", message: /^Unpacking bundle image / } },
    ],
    [
      "the disk is full",
      {
        begin: (world) => world.fail("p.v2.0.0", new Error("error applying image: ENOSPC: no space left on device, mkdir")),
        shows: { reason: "True/Retrying", message: /: error applying image: ENOSPC: no space left on device, mkdir$/ },
      },
    ],
    ["a catalog hangs", { begin: (world) => world.hang("q"), packageName: "q" }],
    [
      "the API server does not answer their writes",
      {
        begin: (_world, proxy) => {
          const answered = Promise.withResolvers<void>();
          const remove = proxy.addHooks({
            before: ({ verb, user }) => (verb === "apply" && /-affected-.-installer$/.test(user) ? answered.promise : undefined),
          });
          return () => {
            remove();
            answered.resolve();
          };
        },
      },
    ],
    [
      "the API server is slow with every request",
      {
        begin: (_world, proxy) => proxy.addHooks({ before: () => sleep(DELAY_MS) }),
        shows: { reason: "True/Succeeded", message: /^Desired state reached/ },
      },
    ],
  ])("other extensions are installed, corrected and uninstalled while %s", async ([what, { begin, packageName = "p", shows }]) => {
    const prefix = what.toLowerCase().replaceAll(" ", "-").slice(0, 20);
    const [healthy, other] = [`${prefix}-healthy`, `${prefix}-other`];
    const { spec } = await world.extension(healthy, { catalog: { version: "1.0.0" } });
    await world.conditions(healthy, INSTALLED);
    const end = begin(world, proxy);
    const affected = AFFECTED.map((name) => `${prefix}-affected-${name}`);
    try {
      for (const name of affected) await world.extension(name, { catalog: { packageName, version: "2.0.0" } });
      for (const name of shows ? affected : []) {
        const { Progressing } = await world.conditions(name, { Progressing: shows?.reason ?? "" });
        expect(Progressing).toMatch(shows?.message ?? /./);
      }
      await world.extension(other, { catalog: { version: "1.0.0" } });
      await world.conditions(other, INSTALLED);
      const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: spec.namespace, name: "tiny" };
      await cluster.client.delete(deployment);
      await eventually(async () => {
        const found = await cluster.client.get(deployment);
        expect(found && found.metadata.deletionTimestamp === undefined).toBe(true);
      });
      await world.remove(healthy);
      await world.remove(other);
    } finally {
      end();
    }
    for (const name of affected) await world.remove(name);
    expect(await cluster.client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION })).toMatchObject({ items: [] });
  });

  test("an extension with a change does not wait for unchanged ones when the controller starts", async () => {
    const names = ["a", "b", "c", "d", "e", "f", "g", "h"].map((letter) => `start-${letter}`);
    const changed = "start-h";
    for (const name of names) await world.extension(name, { catalog: { version: "1.0.0" } });
    for (const name of names) await world.conditions(name, INSTALLED);
    let known = 0;
    await world.restart(() => {
      known = proxy.requests.length;
      const spec = { source: { catalog: { version: "2.0.0" } } };
      return cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: changed }, { spec }, { type: "merge" });
    });
    const readOrder = (): string[] => {
      const accounts = proxy.requests.slice(known).map(({ user }) => /:(start-.)-installer$/.exec(user)?.[1]);
      return [...new Set(accounts.filter((name) => name !== undefined))];
    };
    await eventually(() => expect(readOrder().toSorted()).toEqual(names));
    // Two workers take the first two extensions of the list at once.
    expect(readOrder().indexOf(changed)).toBeLessThan(4);
    for (const name of names) await world.remove(name);
  });
});
