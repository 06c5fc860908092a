import { expect, test } from "vitest";
import type { UpgradeCheck, UpgradeCheckRow } from "../../openshift/upgradeCheck.ts";
import { parseMinorVersion } from "../../version/clusterVersion.ts";
import { describeCheck, describeCluster } from "./clusterUpgradeView.ts";

const ROW: UpgradeCheckRow = {
  extension: "a",
  bundle: "a.v1.0.0",
  version: "1.0.0",
  maximum: "4.20",
  verdict: "compatible",
  blocks: false,
  message: "",
  remedy: "",
};
const blocked: UpgradeCheckRow = {
  ...ROW,
  extension: "b",
  maximum: "4.18",
  verdict: "blocked",
  blocks: true,
  remedy: "upgrade it to 2.0.0",
};

function check(extensions: UpgradeCheckRow[]): UpgradeCheck {
  return { formatVersion: 1, clusterVersion: "4.18.3", target: "4.19", upgradeable: extensions.every(({ blocks }) => !blocks), extensions };
}

test("describeCheck lists extensions that block the upgrade first, with what lifts it", () => {
  const { sentence, state, rows, remedies, command } = describeCheck(check([ROW, blocked]), true);
  expect(sentence).toBe("1 of 2 extensions blocks the upgrade from 4.18.3 to 4.19.");
  expect(state).toEqual({ text: "Blocked", mood: "bad" });
  expect(rows.map((row) => `${row.extension}: ${row.state.text} ${row.maximum}`)).toEqual(["b: Blocks 4.18", "a: Supports it 4.20"]);
  expect(remedies).toEqual([{ extension: "b", text: "upgrade it to 2.0.0" }]);
  expect(command).toBe("olmv1 cluster-upgrade-check");
});

test("describeCheck names the target in the command when it is not the next version", () => {
  expect(describeCheck(check([ROW]), false)).toMatchObject({
    state: { text: "Not blocked" },
    sentence: "No extension blocks the upgrade from 4.18.3 to 4.19.",
    command: "olmv1 cluster-upgrade-check --to 4.19",
  });
});

test.for<[string, UpgradeCheckRow, string]>([
  ["bundle without a maximum", { ...ROW, maximum: null, verdict: "unlimited" }, "No maximum good"],
  ["extension that is not installed", { ...ROW, bundle: "", maximum: null, verdict: "not installed" }, "Not installed faint"],
  ["unreadable maximum", { ...ROW, maximum: null, verdict: "error", blocks: true }, "Unknown maximum bad"],
  ["unreadable maximum for a patch version", { ...ROW, maximum: null, verdict: "error" }, "Unknown maximum warning"],
])("describeCheck describes a %s", ([, row, want]) => {
  const [shown] = describeCheck(check([row]), true).rows;
  expect(`${shown?.state.text} ${shown?.state.mood}`).toBe(want);
});

test.for<[Parameters<typeof describeCluster>[0], string]>([
  [{ kind: "known", text: "4.18.3", minor: parseMinorVersion("4.18.3") }, "The cluster has OpenShift 4.18.3."],
  [{ kind: "unknown", reason: "forbidden" }, "The version of the cluster cannot be read: forbidden."],
])("describeCluster describes a cluster: %o", ([cluster, want]) => {
  expect(describeCluster(cluster).sentence).toBe(want);
});

test("describeCluster says that a cluster is not an OpenShift cluster", () => {
  expect(describeCluster({ kind: "none" }).sentence).toMatch(/^This cluster is not an OpenShift cluster/);
});
