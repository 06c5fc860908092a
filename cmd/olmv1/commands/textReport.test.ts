import { join } from "node:path";
import { expect, test } from "vitest";
import type { UpgradeCheck, UpgradeCheckRow } from "../../../pkg/openshift/upgradeCheck.ts";
import { formatUpgradeReport } from "./clusterUpgradeCheck.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens/cli");
const row = (extension: string, verdict: UpgradeCheckRow["verdict"], more: Partial<UpgradeCheckRow> = {}): UpgradeCheckRow => ({
  extension,
  bundle: `${extension}-operator.v1.2.3`,
  version: "1.2.3",
  maximum: null,
  verdict,
  blocks: verdict === "blocked" || verdict === "error",
  message: "",
  remedy: "",
  ...more,
});
const CHECK: UpgradeCheck = {
  formatVersion: 1,
  clusterVersion: "4.18.9",
  target: "4.19",
  upgradeable: false,
  extensions: [
    row("argocd", "unlimited"),
    row("kepler", "compatible", { maximum: "4.20" }),
    row("quay", "blocked", { maximum: "4.18", remedy: "quay-operator.v1.3.0 (version 1.3.0) of catalog main supports 4.19" }),
    row("tempo", "error", {
      maximum: null,
      message: 'olm.maxOpenShiftVersion "four" is no version',
      bundle: "tempo-operator-with-a-long-name.v1.2.3",
    }),
  ],
};

// Source: G-04.
test.for([80, 200])("formatUpgradeReport prints a blocked upgrade in %i columns", async (width) => {
  await expect(formatUpgradeReport(CHECK, width)).toMatchFileSnapshot(join(GOLDENS, `cluster-upgrade-check-${width}.txt`));
  const table = formatUpgradeReport(CHECK, width).split("\n\n")[1] ?? "";
  expect(table.split("\n").filter((line) => Array.from(line).length > width)).toEqual([]);
});

test("formatUpgradeReport reports that no extension blocks the upgrade", () => {
  const [free] = CHECK.extensions;
  const text = formatUpgradeReport({ ...CHECK, upgradeable: true, extensions: free ? [free] : [] }, 80);
  expect(text.split("\n")[0]).toBe("OK: no extension blocks the upgrade from 4.18.9 to 4.19");
});
