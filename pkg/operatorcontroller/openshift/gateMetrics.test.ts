import { expect, test } from "vitest";
import type { ReleaseVerdict } from "../../openshift/upgradeable.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import { GateMetrics } from "./clusterUpgradeGate.ts";

const KNOWN: ClusterVersion = { kind: "known", text: "4.18.1", minor: { major: 4, minor: 18 } };
const UNKNOWN: ClusterVersion = { kind: "unknown", reason: "forbidden" };
const max = { major: 4, minor: 18 };
const about = (extension: string) => ({ extension, bundle: `${extension}.v1`, version: "1" });

function newGate() {
  const registry = createMetrics("operator_controller");
  const gate = new GateMetrics(registry);
  const lines = async (): Promise<string[]> => {
    const text = await registry.text();
    return text.split("\n").filter((line) => line.startsWith("operator_controller_cluster_upgrade"));
  };
  return { gate, lines };
}

// Source: G-08.
test("GateMetrics reports for every bundle with a maximum whether it blocks", async () => {
  const { gate, lines } = newGate();
  expect(await lines()).toEqual([]);
  const verdicts: ReleaseVerdict[] = [
    { ...about("a"), kind: "blocked", max },
    { ...about("b"), kind: "compatible", max: { major: 5, minor: 0 } },
    { ...about("c"), kind: "unlimited" },
    { ...about("d"), kind: "error", text: "wrong" },
  ];
  gate.report(verdicts, KNOWN, false);
  expect(await lines()).toEqual([
    'operator_controller_cluster_upgrade_blocked{extension="a",bundle="a.v1",max="4.18"} 1',
    'operator_controller_cluster_upgrade_blocked{extension="b",bundle="b.v1",max="5.0"} 0',
    'operator_controller_cluster_upgrade_blocked{extension="d",bundle="d.v1",max="unknown"} 1',
    "operator_controller_cluster_upgradeable 0",
  ]);
});

test("GateMetrics removes the metrics of uninstalled bundles, and the upgradeable metric when the verdict is undefined", async () => {
  const { gate, lines } = newGate();
  gate.report([{ ...about("a"), kind: "blocked", max }], KNOWN, false);
  gate.report([{ ...about("b"), kind: "compatible", max }], KNOWN, true);
  expect(await lines()).toEqual([
    'operator_controller_cluster_upgrade_blocked{extension="b",bundle="b.v1",max="4.18"} 0',
    "operator_controller_cluster_upgradeable 1",
  ]);
  gate.report([], KNOWN, undefined);
  expect(await lines()).toEqual([]);
});

test.for([
  [{ kind: "none" } as const, 0],
  [UNKNOWN, 1],
] as const)(
  "GateMetrics reports whether a maximum that cannot be compared blocks when the cluster's version is %o",
  async ([cluster, expected]) => {
    const { gate, lines } = newGate();
    gate.report([{ ...about("a"), kind: "undecided", max, reason: "" }], cluster, undefined);
    expect(await lines()).toEqual([`operator_controller_cluster_upgrade_blocked{extension="a",bundle="a.v1",max="4.18"} ${expected}`]);
  },
);
