import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { AdmissionGate } from "../support/admissionGate.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { GateWorld } from "../support/gateWorld.ts";
import { createObjectSet, installObjectSets } from "../support/goOlm/objectSet.ts";
import { runCli } from "../support/runCli.ts";
import { SmallPackage } from "../support/smallPackage.ts";

const maximum = (...tokens: string[]): string =>
  `[${tokens.map((token) => `{"type": "olm.maxOpenShiftVersion", "value": ${token}}`).join(",")}]`;
const yaml = (token: string): string => `properties:\n  - type: olm.maxOpenShiftVersion\n    value: ${token}\n`;

const FREE = new SmallPackage("free", { version: "1.0.0" }, { version: "1.1.0", properties: maximum('"4.18"') });
const HELD = new SmallPackage(
  "held",
  { version: "1.0.0", properties: maximum('"4.18"') },
  { version: "1.1.0", properties: maximum("4.19") },
);
const OTHER = new SmallPackage("other", { version: "2.0.0", properties: maximum('"4.17"') });
const FIVE = new SmallPackage("five", { version: "1.0.0", properties: maximum('"5.0"') });
const BIG = new SmallPackage("big", { version: "1.0.0", properties: maximum('"4.19"'), noise: 600_000 });
/** One version of each package, by its olm.maxOpenShiftVersion. */
const VALUES = {
  number: new SmallPackage("number", { version: "1.0.0", properties: maximum("4.10") }),
  inYaml: new SmallPackage("in-yaml", { version: "1.0.0", propertiesYaml: yaml('"4.18"') }),
  float: new SmallPackage("float", { version: "1.0.0", propertiesYaml: yaml("5.0") }),
  invalid: new SmallPackage("invalid", { version: "1.0.0", properties: maximum('"v4.18"') }),
  nothing: new SmallPackage("nothing", { version: "1.0.0", properties: maximum("null") }),
  twice: new SmallPackage("twice", { version: "1.0.0", properties: maximum('"4.20"', '"4.21"') }),
  both: new SmallPackage("both", { version: "1.0.0", properties: maximum('"4.20"'), propertiesYaml: yaml('"4.20"') }),
} as const;
const PACKAGES = [FREE, HELD, OTHER, FIVE, BIG, ...Object.values(VALUES)];

const IN_THE_WAY = "Found ClusterExtensions that require upgrades prior to upgrading cluster to version";
const ERRORS = "Additionally the following errors were encountered while getting extension metadata:";
const bundles = (...names: string[]): string =>
  names.map((name) => `bundle "${name}" for ClusterExtension "${name.slice(0, name.indexOf(".v"))}"`).join(",");

// Source: S1-29 to S1-36, X-14, G-02 to G-05, G-08.
describeWithPrivateCluster("ClusterOperator condition Upgradeable", (cluster) => {
  let gate: GateWorld;

  const upgradeable = () => gate.openShift.upgradeable(({ status }) => status === "True");
  const firstLine = async (begins: string): Promise<string> => {
    const { message } = await gate.openShift.upgradeable(({ status, message: text }) => status === "False" && text.startsWith(begins));
    return message.split("\n")[0] ?? "";
  };
  const buildBlocked = (next: string, ...names: string[]) =>
    firstLine(`InstalledOLMOperatorsUpgradeable: ${IN_THE_WAY} ${next}: ${bundles(...names)}.`);
  const gateFor = ({ name }: SmallPackage): Promise<AdmissionGate> => {
    const probe: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe", namespace: `${name}-system` } };
    return AdmissionGate.start(cluster.client, probe, { group: "", version: "v1", resource: "configmaps" });
  };

  beforeAll(async () => {
    gate = await GateWorld.start(cluster, { version: "4.18.3", packages: PACKAGES });
  });
  afterEach(async () => {
    await gate.clear();
    await gate.openShift.setVersion("4.18.3");
    await upgradeable();
  });
  afterAll(() => gate?.world.stop());

  test("ClusterOperator olm is Upgradeable, with the message of cluster-olm-operator, when no bundle blocks the upgrade", async () => {
    await gate.install(FREE, "1.0.0");
    expect(await upgradeable()).toEqual({ type: "Upgradeable", status: "True", reason: "AsExpected", message: "All is well" });
    await eventually(async () =>
      expect(await gate.openShift.condition("Available")).toMatchObject({ status: "True", reason: "AsExpected" }),
    );
    await eventually(async () =>
      expect(await gate.openShift.condition("Progressing")).toMatchObject({ status: "False", reason: "AsExpected" }),
    );
    expect(await gate.openShift.condition("Degraded")).toMatchObject({ status: "False", reason: "AsExpected" });
    expect(await gate.openShift.condition("EvaluationConditionsDetected")).toMatchObject({ status: "Unknown", reason: "NoData" });
    expect((await gate.openShift.clusterOperator())?.["status"]).toMatchObject({ versions: [{ name: "operator", version: "4.18.3" }] });
  });

  test("an update of the cluster within a minor version only changes the version in ClusterOperator olm", async () => {
    await gate.install(HELD, "1.0.0");
    const before = await buildBlocked("4.19", "held.v1.0.0");
    await gate.openShift.setVersion("4.18.20");
    await eventually(async () =>
      expect((await gate.openShift.clusterOperator())?.["status"]).toMatchObject({ versions: [{ name: "operator", version: "4.18.20" }] }),
    );
    expect(await buildBlocked("4.19", "held.v1.0.0")).toBe(before);
    const text = 'OperatorVersionChanged: clusteroperator/olm version "operator" changed from "4.18.3" to "4.18.20"';
    await eventually(async () => expect(await gate.events()).toContain(text));
    await gate.openShift.setVersion("4.17.9");
    await upgradeable();
  });

  test("a bundle that does not support the next minor version blocks cluster upgrades until the bundle is upgraded", async () => {
    await gate.install(HELD, "1.0.0");
    expect(await buildBlocked("4.19", "held.v1.0.0")).toBe(
      'InstalledOLMOperatorsUpgradeable: Found ClusterExtensions that require upgrades prior to upgrading cluster to version 4.19: bundle "held.v1.0.0" for ClusterExtension "held".',
    );
    expect((await gate.openShift.condition("Upgradeable"))?.reason).toBe("InstalledOLMOperators_IncompatibleOperatorsInstalled");
    await eventually(async () =>
      expect((await gate.events()).join("\n")).toContain(
        'OperatorStatusChanged: Status for clusteroperator/olm changed: Upgradeable changed from True to False ("InstalledOLMOperatorsUpgradeable: Found',
      ),
    );
    await gate.openShift.upgradeable(({ message }) =>
      message.includes(
        'supports OpenShift up to 4.18; version 1.1.0 of catalog "gate" would allow the cluster upgrade, but spec.source.catalog.version "1.0.0" excludes it',
      ),
    );
    const conditions = await gate.watchCondition("Upgradeable");
    const releases = await gate.watchReleases("held");
    await gate.install(HELD, "1.1.0");
    await upgradeable();
    const [lifted, deployed] = await eventually(() => {
      const writes = [conditions.seen.find(({ status }) => status === "True"), releases.seen.get("v2 deployed")] as const;
      if (!writes[0] || !writes[1]) throw new Error(`seen: ${JSON.stringify(writes)}`);
      return [writes[0], writes[1]];
    });
    expect(lifted.revision).toBeGreaterThan(deployed.revision);
    console.info(`the block was lifted ${Math.round(lifted.at - deployed.at)} ms after the release was deployed`);
    await Promise.all([conditions.stop(), releases.stop()]);
  });

  test("a bundle that does not support the next minor version blocks cluster upgrades until the bundle is uninstalled", async () => {
    await gate.install(HELD, "1.0.0");
    await buildBlocked("4.19", "held.v1.0.0");
    await gate.world.removed("ClusterExtension", "held");
    await upgradeable();
  });

  test("condition Upgradeable lists all blocking bundles in order of their names, separated by commas", async () => {
    await Promise.all([gate.install(OTHER, "2.0.0"), gate.install(HELD, "1.0.0"), gate.install(FREE, "1.1.0")]);
    await buildBlocked("4.19", "free.v1.1.0", "held.v1.0.0", "other.v2.0.0");
  });

  test("the next minor version after both 4.23 and 5.0 is 5.1", async () => {
    await gate.install(FIVE, "1.0.0");
    await gate.openShift.setVersion("4.22.1");
    await eventually(async () =>
      expect((await gate.openShift.clusterOperator())?.["status"]).toMatchObject({ versions: [{ version: "4.22.1" }] }),
    );
    await upgradeable();
    await gate.openShift.setVersion("4.23.0");
    await buildBlocked("5.1", "five.v1.0.0");
    await gate.openShift.setVersion("4.21.0");
    await upgradeable();
    await gate.openShift.setVersion("5.0.2");
    await buildBlocked("5.1", "five.v1.0.0");
  });

  test("cluster upgrades are blocked when the version of the cluster is invalid", async () => {
    await gate.install(BIG, "1.0.0");
    await upgradeable();
    await gate.openShift.setVersion("four");
    expect(await firstLine("InstalledOLMOperatorsUpgradeable: error with cluster extension big: ")).toContain(
      'ClusterVersion "version" has an invalid status.desired.version "four"',
    );
  });

  describe("by the bundle's olm.maxOpenShiftVersion", () => {
    test("olm.maxOpenShiftVersion 4.10 as a number means 4.10", async () => {
      await gate.openShift.setVersion("4.9.1");
      await gate.install(VALUES.number, "1.0.0");
      await upgradeable();
      await gate.openShift.setVersion("4.10.1");
      await buildBlocked("4.11", "number.v1.0.0");
    });

    test("olm.maxOpenShiftVersion in metadata/properties.yaml of the bundle blocks cluster upgrades", async () => {
      await gate.install(VALUES.inYaml, "1.0.0");
      await buildBlocked("4.19", "in-yaml.v1.0.0");
    });

    test.for([
      ["float", "error converting to semver for version 5: "],
      ["invalid", 'error converting to semver for version "v4.18": invalid version format'],
      ["nothing", "error converting to semver for version null: invalid type <nil> for olm.maxOpenshiftVersion: null"],
      ["twice", "more than one olm.maxOpenShiftVersion found in bundle"],
      ["both", "more than one olm.maxOpenShiftVersion found in bundle"],
    ] as const)("an invalid olm.maxOpenShiftVersion blocks cluster upgrades and is reported: %s", async ([key, error]) => {
      const { name } = await gate.install(VALUES[key], "1.0.0").then(({ metadata }) => metadata);
      const line = `InstalledOLMOperatorsUpgradeable: error(s) with cluster extension ${name}: error in bundle ${name}.v1.0.0: ${error}`;
      expect(await firstLine(line)).toContain(line);
      expect((await gate.openShift.condition("Upgradeable"))?.reason).toBe("InstalledOLMOperators_FailureGettingExtensionMetadata");
    });

    test("condition Upgradeable lists errors after blocking bundles", async () => {
      await Promise.all([gate.install(HELD, "1.0.0"), gate.install(VALUES.invalid, "1.0.0")]);
      await buildBlocked("4.19", "held.v1.0.0");
      const { reason, message } = await gate.openShift.upgradeable(({ message: text }) => text.includes(ERRORS));
      expect(reason).toBe("InstalledOLMOperators_IncompatibleOperatorsInstalled");
      expect(message.split("\n")[1]).toContain(
        `InstalledOLMOperatorsUpgradeable:  ${ERRORS} error(s) with cluster extension invalid: error in bundle invalid.v1.0.0: `,
      );
    });
  });

  describe("during an upgrade of the bundle", () => {
    test("the deployed version blocks cluster upgrades while a new bundle version is rolled out", async () => {
      await gate.install(HELD, "1.0.0");
      await buildBlocked("4.19", "held.v1.0.0");
      const conditions = await gate.watchCondition("Upgradeable");
      await using door = await gateFor(HELD);
      door.close();
      await gate.ask(HELD, "1.1.0");
      await door.holds();
      expect(conditions.seen.map(({ status }) => status)).not.toContain("True");
      await buildBlocked("4.19", "held.v1.0.0");
      door.open();
      await upgradeable();
      await conditions.stop();
    });

    test("the new bundle version also blocks cluster upgrades while it is rolled out", async () => {
      await gate.install(FREE, "1.0.0");
      await upgradeable();
      await using door = await gateFor(FREE);
      door.close();
      await gate.ask(FREE, "1.1.0");
      await door.holds();
      await buildBlocked("4.19", "free.v1.1.0");
      door.open();
      await gate.world.installed("free", "1.1.0");
      await buildBlocked("4.19", "free.v1.1.0");
    });
  });

  test("condition Upgradeable does not change when operator-controller is killed and restarted while bundles block", async () => {
    await Promise.all([gate.install(HELD, "1.0.0"), gate.install(OTHER, "2.0.0")]);
    await buildBlocked("4.19", "held.v1.0.0", "other.v2.0.0");
    const conditions = await gate.watchCondition("Upgradeable");
    await gate.restart("SIGKILL");
    await gate.install(FREE, "1.1.0");
    await buildBlocked("4.19", "free.v1.1.0", "held.v1.0.0", "other.v2.0.0");
    await conditions.stop();
    expect(new Set(conditions.seen.map(({ status }) => status))).toEqual(new Set(["False"]));
  });

  test("a release with a missing chunk blocks cluster upgrades until the chunk is restored", async () => {
    await gate.install(BIG, "1.0.0");
    await upgradeable();
    const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: "type=chunk,key=sh.helm.release.v1.big.v1" };
    const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Secret" }, selection);
    const [chunk] = items;
    if (!chunk) throw new Error("the release has a single Secret");
    await gate.restart("SIGKILL", async () => {
      await cluster.client.delete({ ...chunk, name: chunk.metadata.name, namespace: SYSTEM_NAMESPACE });
    });
    const because = `release secret "sh.helm.release.v1.big.v1" cannot be read: failed to get chunk 2 secret "${chunk.metadata.name}": it does not exist`;
    expect(await firstLine("InstalledOLMOperatorsUpgradeable: error returning")).toBe(
      `InstalledOLMOperatorsUpgradeable: error returning the last deployed release for big; ${because}`,
    );
    const { resourceVersion: _version, uid: _uid, ...metadata } = chunk.metadata;
    await cluster.client.create({ ...chunk, metadata });
    await upgradeable();
  });

  test("a bundle in a ClusterObjectSet of the Go implementation blocks cluster upgrades until a release replaces it", async () => {
    await installObjectSets(cluster.client);
    const extension = FREE.extension({ version: "1.0.0" });
    await gate.world.apply({ ...extension, spec: { ...extension.spec, suspend: true } });
    await upgradeable();
    await gate.restart(undefined);
    const first = { owner: "free", bundle: "free.v0.9.0", version: "0.9.0", properties: maximum('"4.18"') };
    await gate.world.apply(createObjectSet(first));
    await buildBlocked("4.19", "free.v0.9.0");
    const { out } = await runCli(["cluster-upgrade-check", "--kubeconfig", cluster.kubeconfig]);
    expect(out).toContain("free.v0.9.0");
    await gate.world.apply(createObjectSet({ ...first, bundle: "free.v1.0.0", revision: 2, properties: maximum('"4.20"') }));
    await buildBlocked("4.19", "free.v0.9.0");
    await gate.install(FREE, "1.0.0");
    await upgradeable();
  });

  test("metrics report whether cluster upgrades are blocked", async () => {
    await Promise.all([gate.install(HELD, "1.0.0"), gate.install(BIG, "1.0.0")]);
    await buildBlocked("4.19", "held.v1.0.0");
    await eventually(async () =>
      expect(await gate.metrics("operator_controller_cluster_upgrade")).toEqual(
        expect.arrayContaining([
          'operator_controller_cluster_upgrade_blocked{extension="held",bundle="held.v1.0.0",max="4.18"} 1',
          'operator_controller_cluster_upgrade_blocked{extension="big",bundle="big.v1.0.0",max="4.19"} 0',
          "operator_controller_cluster_upgradeable 0",
        ]),
      ),
    );
    await gate.world.removed("ClusterExtension", "held");
    await eventually(async () =>
      expect(await gate.metrics("operator_controller_cluster_upgrade")).toEqual([
        'operator_controller_cluster_upgrade_blocked{extension="big",bundle="big.v1.0.0",max="4.19"} 0',
        "operator_controller_cluster_upgradeable 1",
      ]),
    );
  });
});
