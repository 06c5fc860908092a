import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { ClusterVersionOperator } from "../support/clusterVersionOperator.ts";
import { GateKillWorld } from "../support/gateKills.ts";
import { GateWorld } from "../support/gateWorld.ts";
import { chooseKillSample, countSampled, formatKillSample } from "../support/killSample.ts";
import { runCli } from "../support/runCli.ts";
import { SmallPackage } from "../support/smallPackage.ts";
import { UpgradeableWatch } from "../support/upgradeableWatch.ts";

const maximum = (version: string): string => JSON.stringify([{ type: "olm.maxOpenShiftVersion", value: version }]);
/** One version of a package for each maximum, in this order; the versions are 1.0.0, 2.0.0, and so on. */
const limited = (name: string, ...maxima: string[]): SmallPackage =>
  new SmallPackage(name, ...maxima.map((max, at) => ({ version: `${at + 1}.0.0`, properties: maximum(max) })));

const EARLY = limited("early", "4.18", "4.19", "4.20", "4.21");
const LATE = limited("late", "4.19", "4.20", "4.22");
const FIVE = limited("five", "5.0", "5.1");
const FREE = new SmallPackage("free", { version: "1.0.0" });
const MALFORMED = limited("malformed", "v4.18");
const PACKAGES = [EARLY, LATE, FIVE, FREE, MALFORMED];

/** A lifted block must be visible after this time. */
const LIFTED_MS = 5_000;
const BLOCKED = "Found ClusterExtensions that require upgrades prior to upgrading cluster to version";

describeWithPrivateCluster("an administrator who upgrades a cluster", (cluster) => {
  let gate: GateWorld;
  let operator: ClusterVersionOperator;
  let watch: UpgradeableWatch;

  beforeAll(async () => {
    gate = await GateWorld.start(cluster, { version: "4.18.0", packages: PACKAGES });
    operator = new ClusterVersionOperator(gate.openShift, "4.18.0");
    watch = await UpgradeableWatch.start(cluster.client);
  });
  afterAll(async () => {
    await watch?.[Symbol.asyncDispose]();
    await gate?.world.stop();
  });

  const names = (packages: readonly SmallPackage[], version: Readonly<Record<string, string>>): string =>
    packages.map(({ name }) => `bundle "${name}.v${version[name]}" for ClusterExtension "${name}"`).join(",");
  /** Expects that the upgrade does not start because of exactly these bundles, in the words of cluster-olm-operator. */
  const expectBlocked = async (target: string, next: string, versions: Readonly<Record<string, string>>): Promise<void> => {
    const packages = PACKAGES.filter(({ name }) => name in versions).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    await eventually(async () => {
      const denied = await operator.upgrade(target);
      expect(denied?.message.split("\n")[0]).toBe(`InstalledOLMOperatorsUpgradeable: ${BLOCKED} ${next}: ${names(packages, versions)}.`);
      expect(denied?.reason).toBe("InstalledOLMOperators_IncompatibleOperatorsInstalled");
    });
  };
  const expectLifted = (): Promise<unknown> => gate.openShift.upgradeable(({ status }) => status === "True", LIFTED_MS);
  const expectUpgraded = async (target: string): Promise<void> => expect(await operator.upgrade(target)).toBeUndefined();

  test("upgrades from 4.18 through 4.20 as soon as each installed operator allows it, and never before", async () => {
    await Promise.all([gate.install(EARLY, "1.0.0"), gate.install(LATE, "1.0.0"), gate.install(FREE, "1.0.0")]);
    await expectBlocked("4.19.0", "4.19", { early: "1.0.0" });
    await expectUpgraded("4.18.9");
    await expectBlocked("4.19.0", "4.19", { early: "1.0.0" });
    await gate.install(EARLY, "2.0.0");
    await expectLifted();
    await expectUpgraded("4.19.0");
    await expectBlocked("4.20.0", "4.20", { early: "2.0.0", late: "1.0.0" });
    await gate.install(LATE, "2.0.0");
    await expectBlocked("4.20.0", "4.20", { early: "2.0.0" });
    await gate.install(EARLY, "3.0.0");
    await expectLifted();
  });

  test("reports the same block in metrics, Events and the check command", async () => {
    await gate.openShift.setVersion("4.20.0");
    await gate.openShift.upgradeable(({ status }) => status === "False");
    const metrics = await gate.metrics("operator_controller_cluster_upgrade");
    expect(metrics).toContain('operator_controller_cluster_upgrade_blocked{extension="late",bundle="late.v2.0.0",max="4.20"} 1');
    expect(metrics).toContain("operator_controller_cluster_upgradeable 0");
    expect((await gate.events()).join("\n")).toContain("Upgradeable changed from True to False");
    const { code, out } = await runCli(["cluster-upgrade-check", "--kubeconfig", cluster.kubeconfig], { width: 400 });
    expect(code).not.toBe(0);
    expect(out).toMatch(/late\s.*blocked/);
    await gate.openShift.setVersion("4.19.0");
    await gate.openShift.upgradeable(({ status }) => status === "True");
  });

  test("skips the nodes of 4.19 with a paused pool, but not the operators that must change before 4.20", async () => {
    await gate.openShift.pausePool("worker");
    await expectUpgraded("4.20.0");
    await expectBlocked("4.21.0", "4.21", { early: "3.0.0", late: "2.0.0" });
    await Promise.all([gate.install(EARLY, "4.0.0"), gate.install(LATE, "3.0.0")]);
    await expectLifted();
    await expectUpgraded("4.21.0");
    await expectBlocked("4.22.0", "4.22", { early: "4.0.0" });
  });

  test("is blocked by an operator that is being removed until its last object is gone", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", namespace: "early-system", name: "early" };
    const setFinalizers = (finalizers: string[]): Promise<unknown> =>
      cluster.client.patch(object, { metadata: { finalizers } }, { type: "merge" });
    await setFinalizers(["test.example.com/hold"]);
    await cluster.client.delete({ apiVersion: API_VERSION, kind: "ClusterExtension", name: "early" });
    await eventually(async () => expect((await cluster.client.get(object))?.metadata.deletionTimestamp).toBeDefined());
    await expectBlocked("4.22.0", "4.22", { early: "4.0.0" });
    await setFinalizers([]);
    await gate.world.removed("ClusterExtension", "early");
    await expectLifted();
    await expectUpgraded("4.22.0");
    await expectBlocked("4.23.0", "4.23", { late: "3.0.0" });
  });

  test("is blocked by an operator whose catalog is gone until the operator is uninstalled", async () => {
    await gate.world.removed("ClusterCatalog", "gate");
    await expectBlocked("4.23.0", "4.23", { late: "3.0.0" });
    await gate.restart("SIGKILL");
    await expectBlocked("4.23.0", "4.23", { late: "3.0.0" });
    await gate.world.removed("ClusterExtension", "late");
    await expectLifted();
    await gate.world.serve("gate", "quay.io/catalogs/gate:latest");
  });

  test("is blocked by a malformed maximum until the operator is uninstalled", async () => {
    await gate.install(MALFORMED, "1.0.0");
    const denied = await eventually(async () => {
      const found = await operator.upgrade("4.23.0-rc.0");
      if (!found) throw new Error("the upgrade is not blocked");
      return found;
    });
    expect(denied.reason).toBe("InstalledOLMOperators_FailureGettingExtensionMetadata");
    expect(denied.message).toContain('error converting to semver for version "v4.18": invalid version format');
    await gate.world.removed("ClusterExtension", "malformed");
    await expectLifted();
  });

  test("counts 4.23 and 5.0 as one step, and is blocked before 5.1", async () => {
    await gate.install(FIVE, "1.0.0");
    await expectUpgraded("4.23.0");
    await expectBlocked("5.1.0", "5.1", { five: "1.0.0" });
    await gate.install(FIVE, "2.0.0");
    await expectLifted();
    await expectUpgraded("5.1.0");
    await expectBlocked("5.2.0", "5.2", { five: "2.0.0" });
  });

  test("is never allowed an upgrade while a release with a lower maximum exists", () => {
    expect(watch.wrong).toEqual([]);
    expect(watch.allowed).toBeGreaterThan(5);
  });
});

describeWithPrivateCluster("two replicas with different clocks, whose leader is killed at writes,", (cluster) => {
  test("block and allow cluster upgrades", { timeout: 900_000 }, async () => {
    await using kills = await GateKillWorld.start(cluster, limited("held", "4.18"));
    const sample = chooseKillSample();
    const counts = await kills.killAtWrites(sample);
    console.log(`killed leaders: ${JSON.stringify(counts)} (${formatKillSample(sample)})`);
    expect(kills.watch.wrong).toEqual([]);
    // Finalizer, release twice, object, status, ClusterOperator; then objects, release, finalizer, ClusterOperator.
    expect(counts.install).toBeGreaterThanOrEqual(countSampled(sample, 6));
    expect(counts.uninstall).toBeGreaterThanOrEqual(countSampled(sample, 4));
  });
});
