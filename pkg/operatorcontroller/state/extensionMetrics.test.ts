import { describe, expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { ExtensionMetrics } from "./extensionMetrics.ts";

const status = (version: string, deprecated: "True" | "False"): ClusterExtensionStatus => ({
  conditions: [
    { type: "Installed", status: "True", reason: "Succeeded", message: "", lastTransitionTime: "" },
    { type: "Deprecated", status: deprecated, reason: "X", message: "", lastTransitionTime: "" },
  ],
  install: { bundle: { name: `p.v${version}`, version } },
});

// Source: S0-087, and the Prometheus rules in config/prometheus.
describe("ExtensionMetrics", () => {
  const set = (): { metrics: ExtensionMetrics; lines: (name: string) => Promise<string[]> } => {
    const registry = createMetrics("operator_controller");
    const lines = async (name: string): Promise<string[]> => {
      const text = await registry.text();
      return text.split("\n").filter((line) => line.startsWith(`operator_controller_${name}`) && !line.startsWith("#"));
    };
    return { metrics: new ExtensionMetrics(registry), lines };
  };

  test("ExtensionMetrics reports the installed bundle and the current status of all conditions", async () => {
    const { metrics, lines } = set();
    const extension = createExtension("a", { packageName: "p" });
    metrics.report(extension, status("1.0.0", "False"));
    metrics.report(extension, status("1.1.0", "True"));
    expect(await lines("extension_info")).toEqual([
      'operator_controller_extension_info{extension="a",package="p",bundle="p.v1.1.0",version="1.1.0"} 1',
    ]);
    expect(await lines("extension_condition")).toEqual([
      'operator_controller_extension_condition{extension="a",condition="Installed",status="True"} 1',
      'operator_controller_extension_condition{extension="a",condition="Deprecated",status="True"} 1',
    ]);
  });

  test("ExtensionMetrics reports an available update until the update is installed", async () => {
    const { metrics, lines } = set();
    const extension = createExtension("a", { packageName: "p" });
    const report = (version: string, newest?: string): Promise<string[]> => {
      metrics.report(extension, status(version, "False"), newest === undefined ? undefined : parseVersionRelease(newest, undefined));
      return lines("extension_update_available");
    };
    const update = ['operator_controller_extension_update_available{extension="a",installed="1.0.0",version="1.2.0"} 1'];
    expect(await report("1.0.0", "1.2.0")).toEqual(update);
    expect(await report("1.0.0")).toEqual(update);
    expect(await report("1.2.0", "1.2.0")).toEqual([]);
    expect(await report("1.3.0", "1.2.0")).toEqual([]);
    expect(await report("no version", "1.2.0")).toEqual([]);
    await report("1.0.0", "1.2.0");
    metrics.report(extension, { conditions: [] });
    expect(await lines("extension_update_available")).toEqual([]);
  });

  test("ExtensionMetrics removes only the series of a deleted extension", async () => {
    const { metrics, lines } = set();
    for (const name of ["a", "b"]) metrics.report(createExtension(name, { packageName: "p" }), status("1.0.0", "False"));
    for (const name of ["a", "b"]) metrics.countCorrections(name, 1);
    metrics.forget("a");
    expect(await lines("drift_corrections_total")).toEqual(['operator_controller_drift_corrections_total{extension="b"} 1']);
    expect([...(await lines("extension_info")), ...(await lines("extension_condition"))].filter((line) => line.includes('"a"'))).toEqual(
      [],
    );
    expect((await lines("extension_info")).length).toBe(1);
  });

  test("ExtensionMetrics reports an extension without spec or status", async () => {
    const { metrics, lines } = set();
    const { spec: _, ...bare } = createExtension("a", { packageName: "p" });
    metrics.report(bare as never, {});
    expect(await lines("extension_info")).toEqual(['operator_controller_extension_info{extension="a",package="",bundle="",version=""} 1']);
  });

  test("ExtensionMetrics counts drift corrections, and measures successful and failed steps", async () => {
    const { metrics, lines } = set();
    metrics.countCorrections("a", 2);
    metrics.countCorrections("a", 1);
    expect(await lines("drift_corrections_total")).toEqual(['operator_controller_drift_corrections_total{extension="a"} 3']);
    metrics.recordStep("good", 0.5, false);
    metrics.recordStep("bad", 0.5, true);
    expect(await lines("step_duration_seconds_count")).toEqual([
      'operator_controller_step_duration_seconds_count{step="good",result="success"} 1',
      'operator_controller_step_duration_seconds_count{step="bad",result="error"} 1',
    ]);
  });
});
