import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { KubeError } from "../../kube/errors.ts";
import { describeMigrationFailure, type MigrationClient, StorageMigrator } from "./storageMigrator.ts";

const CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gauges.example.com", uid: "1" },
  spec: {
    group: "example.com",
    names: { kind: "Gauge", plural: "gauges" },
    versions: [
      { name: "v1", served: true, storage: true },
      { name: "v1alpha1", served: false, storage: false },
    ],
  },
  status: { storedVersions: ["v1alpha1", "v1"] },
};

/** Serves pages with one new object each, without an end. */
function endlessClient(patch: () => Promise<KubeObject>): MigrationClient & { pages: number } {
  const client = {
    pages: 0,
    get: () => Promise.resolve(CRD as never),
    listPage: () => {
      client.pages++;
      const list = {
        kind: "GaugeList",
        metadata: { continue: "more", remainingItemCount: 9 },
        items: [{ metadata: { name: "a", uid: `uid-${client.pages}` } }],
      };
      return new Promise<Uint8Array>((resolve) => setImmediate(() => resolve(new TextEncoder().encode(JSON.stringify(list)))));
    },
    patch: patch as never,
  };
  return client;
}

test("StorageMigrator stops a migration that nothing follows", async () => {
  const clock = new FakeClock();
  const migrator = new StorageMigrator({ clock, rate: 1e9 });
  const client = endlessClient(() => Promise.resolve(CRD));
  migrator.follow("x", client, CRD);
  await expect.poll(() => migrator.poll("x", CRD)?.migrated, { timeout: 60_000 }).toBeGreaterThan(2);
  expect(migrator.poll("x", CRD)?.total).toBeGreaterThan(9);
  expect(migrator.poll("other", CRD)).toBeUndefined();
  clock.advance(120_001);
  const countNewPages = async (): Promise<number> => {
    const before = client.pages;
    await setTimeout(20);
    return client.pages - before;
  };
  await expect.poll(countNewPages, { timeout: 60_000 }).toBe(0);
  expect(migrator.poll("x", CRD)).toBeUndefined();
});

test("StorageMigrator reports a failure once, and starts again afterwards", async () => {
  const migrator = new StorageMigrator();
  const denied = new KubeError("cannot list gauges", { status: 403, reason: "Forbidden" });
  const client = { ...endlessClient(() => Promise.resolve(CRD)), listPage: () => Promise.reject(denied) };
  expect(migrator.follow("x", client, CRD).kind).toBe("running");
  await expect.poll(() => migrator.poll("x", CRD), { timeout: 60_000 }).toBeUndefined();
  const state = migrator.follow("x", client, CRD);
  expect(state.kind === "running" ? "" : describeMigrationFailure(state)).toContain("cannot list gauges");
  expect(migrator.follow("x", client, CRD).kind).toBe("running");
  await migrator.end();
});
