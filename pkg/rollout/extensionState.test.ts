import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Condition } from "../api/k8s.ts";
import { findMostRelevantCondition } from "./conditionAdvice.ts";
import { describeExtensionState } from "./extensionState.ts";

type ShortCondition = readonly [type: string, status: Condition["status"], reason: string];

function describeState(conditions: readonly ShortCondition[], change: Partial<ClusterExtension> = {}) {
  return describeExtensionState({
    metadata: { name: "x" },
    spec: { source: { sourceType: "Catalog", catalog: { packageName: "p" } } },
    status: { conditions: conditions.map(toCondition) },
    ...change,
  });
}

function toCondition([type, status, reason]: ShortCondition): Condition {
  return { type, status, reason, message: `${type} message`, lastTransitionTime: "2026-01-01T00:00:00Z" };
}

describe("describeExtensionState", () => {
  const SUCCEEDED: ShortCondition = ["Progressing", "True", "Succeeded"];
  const INSTALLED: ShortCondition = ["Installed", "True", "Succeeded"];
  const NOT_INSTALLED: ShortCondition = ["Installed", "False", "Failed"];

  test.for<[string, readonly ShortCondition[], string, string]>([
    ["Ready is True", [["Ready", "True", "Succeeded"], SUCCEEDED, INSTALLED], "Ready", "good"],
    ["Ready is False", [["Ready", "False", "Unhealthy"], SUCCEEDED, INSTALLED], "Unhealthy", "bad"],
    ["no condition exists", [], "Pending", "faint"],
    ["Go installed the bundle", [INSTALLED, SUCCEEDED], "Installed", "good"],
    ["Go retries the installation", [NOT_INSTALLED, ["Progressing", "True", "Retrying"]], "Retrying", "bad"],
    ["Go retries an upgrade", [INSTALLED, ["Progressing", "True", "Retrying"]], "Retrying", "bad"],
    ["Go is blocked", [NOT_INSTALLED, ["Progressing", "False", "Blocked"]], "Blocked", "bad"],
    ["Go rejects the configuration", [INSTALLED, ["Progressing", "False", "InvalidConfiguration"]], "InvalidConfiguration", "bad"],
    [
      "Go rolls out a revision",
      [
        ["Installed", "False", "Absent"],
        ["Progressing", "True", "RollingOut"],
      ],
      "RollingOut",
      "warning",
    ],
    ["Go exceeds the deadline", [INSTALLED, ["Progressing", "False", "ProgressDeadlineExceeded"]], "ProgressDeadlineExceeded", "bad"],
    ["Go has not started the first revision", [["Installed", "False", "Absent"]], "Absent", "warning"],
    ["the probes of Go's revision fail", [INSTALLED, SUCCEEDED, ["Available", "False", "ProbeFailure"]], "ProbeFailure", "bad"],
    ["Go cannot read the installed bundle", [["Installed", "Unknown", "Failed"], SUCCEEDED], "Failed", "bad"],
  ])("describes the state when %s", ([, conditions, text, mood]) => {
    expect(describeState(conditions)).toEqual({ text, mood });
  });

  test("describes the uninstallation when the extension is being deleted", () => {
    const metadata = { name: "x", deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(describeState([INSTALLED, SUCCEEDED], { metadata }).text).toBe("Uninstalling");
  });
});

describeWithData("describeExtensionState with a status of the Go implementation", (folder) => {
  const recorded = JSON.parse(readFileSync(join(folder, "go-release/clusterextension.json"), "utf8")) as ClusterExtension;
  const change = (reason: string): ClusterExtension => ({
    ...recorded,
    status: {
      ...recorded.status,
      conditions: (recorded.status?.conditions ?? []).map((one) => (one.type === "Progressing" ? { ...one, reason } : one)),
    },
  });

  test("reports the reason of Progressing when the controller retries", () => {
    expect(describeExtensionState(recorded)).toEqual({ text: "Retrying", mood: "bad" });
  });

  test("reports Installed when the desired state is reached", () => {
    expect(describeExtensionState(change("Succeeded"))).toEqual({ text: "Installed", mood: "good" });
  });
});

describe("findMostRelevantCondition", () => {
  test("finds the condition that decides the state when Ready does not exist", () => {
    const conditions = (["Installed", "Progressing"] as const).map((type) => toCondition([type, "False", "Blocked"]));
    expect(findMostRelevantCondition(conditions)?.type).toBe("Progressing");
  });
});
