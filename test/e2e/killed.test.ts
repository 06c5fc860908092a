import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { killController } from "../support/controllerKills.ts";
import { chooseKillSample, countSampled, formatKillSample, type KillSample } from "../support/killSample.ts";
import { type KilledCase, KillWorld } from "../support/killWorld.ts";
import { killPermissionManager } from "../support/permissionKills.ts";

/** Enough for forty starts of a program. */
const TIMEOUT_MS = 1_800_000;
const SAMPLE = chooseKillSample();

// Source: O-04.
describeWithPrivateCluster("programs killed after a write", (cluster) => {
  let world: KillWorld;

  beforeAll(async () => {
    world = await KillWorld.start(cluster);
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Lower bounds of the interruptions of each operation: the number of its writes. */
  type MinWrites = Readonly<Record<string, number>>;
  test.for<[what: string, kill: (world: KillWorld, sample: KillSample) => Promise<KilledCase[]>, minWrites: MinWrites]>([
    [
      "operator-controller completes an install, an upgrade and an uninstall",
      killController,
      // An install writes the finalizer, the release twice, five objects and the status. Other operations write at least as often.
      { install: 9, upgrade: 9, uninstall: 9 },
    ],
    [
      "permission-manager grants an extension exactly the permissions of its bundle, and revokes them,",
      killPermissionManager,
      {
        // The status twice, the namespace, the ServiceAccount, three roles and three bindings.
        install: 10,
        "install before an upgrade": 10,
        "install before an uninstall": 10,
        // Role, status; when the bundle is healthy, Role, status, and without the ClusterRole and its binding.
        upgrade: 5,
        request: 1,
        // Status, ClusterRole, its binding, status; the first approval also writes the Role.
        approval: 4,
        "approval before a revocation": 5,
        revocation: 2,
        // The status, the objects of an install without the status, the request and its finalizer.
        uninstall: 11,
      },
    ],
  ])("%s after being killed at any write", { timeout: TIMEOUT_MS }, async ([, kill, minWrites]) => {
    const before = world.kills;
    const counts = Map.groupBy(await kill(world, SAMPLE), ({ operation }) => operation.name);
    const texts = [...counts].map(([name, stopped]) => `${name} ${stopped.length} times`);
    console.log(`${world.kills - before} kills interrupted ${texts.join(", ")} (${formatKillSample(SAMPLE)})`);
    expect([...counts.keys()].toSorted()).toEqual(Object.keys(minWrites).toSorted());
    for (const [name, count] of Object.entries(minWrites))
      expect(counts.get(name)?.length, name).toBeGreaterThanOrEqual(countSampled(SAMPLE, count));
  });
});
