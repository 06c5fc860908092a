import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { InstalledSupport } from "../../api/clusterExtensionStatus.ts";
import type { ReportedProblem } from "../../api/problemSchema.ts";
import { ExtensionOverview } from "../../consoleapi/overview.ts";
import type { ExtensionDescription } from "../../rollout/extensionDescription.ts";
import type { ReleaseRow } from "../../rollout/releaseHistory.ts";
import { buildOverview } from "./overview.ts";

const RELEASES = [3, 2, 1].map(
  (revision): ReleaseRow => ({
    revision,
    status: revision === 3 ? "deployed" : revision === 2 ? "failed" : "superseded",
    bundle: "",
    version: "",
    deployed: "",
    description: "",
    pinned: false,
    current: revision === 3,
    cause: "",
  }),
);

function build(status: ClusterExtension["status"], change: Partial<ExtensionDescription> = {}): ExtensionOverview {
  const extension = { ...createExtension("x", { packageName: "p" }), status } as ClusterExtension;
  const described = {
    extension,
    account: "there",
    installed: { refs: [], count: 0 },
    objects: [],
    releases: RELEASES,
    events: [],
    others: [],
    catalogs: [],
    ...change,
  } as ExtensionDescription;
  return z.parse(ExtensionOverview, JSON.parse(JSON.stringify(buildOverview(described, 0))));
}

function problem(type: string, change: Partial<ReportedProblem> = {}): ReportedProblem {
  return { type, severity: "Error", message: "it does not work", ...change };
}

describe("buildOverview", () => {
  test("works with a status of the Go implementation", () => {
    const conditions = ["Installed", "Progressing"].map((type) => ({
      type,
      status: "True" as const,
      reason: "Succeeded",
      message: "done",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    }));
    const installed = { refs: [], count: 0, unknown: "secrets is forbidden" };
    const overview = build({ conditions, install: { bundle: { name: "p.v1", version: "1.0.0" } } }, { installed });
    expect(overview).toMatchObject({ state: { text: "Installed", mood: "good" }, problems: [], keptCrds: [] });
    expect(overview.objects).toEqual({ unknown: "secrets is forbidden", notReady: [] });
    expect(overview.summary).toMatchObject({
      installer: "ServiceAccount x-system/x-installer; its permissions are not reported by this OLM",
      updates: ["not reported by this OLM"],
      drift: "not reported by this OLM",
      crdPolicy: "Delete: this OLM deletes them with all custom resources",
    });
  });

  test("shows the support phase and the supported platforms, if the catalog contains them", () => {
    const days = { phaseEndDate: "2026-06-30", endDate: "2026-12-31" };
    const support: InstalledSupport = {
      state: "Supported",
      phase: "Full support",
      ...days,
      platform: "Incompatible",
      platformVersions: ["4.18"],
    };
    expect(build({ support }).summary).toMatchObject({
      support: {
        text: "Full support until 2026-06-30, support ends on 2026-12-31, but not on the cluster's version",
        mood: "warning",
      },
      platform: "OpenShift 4.18; not the version of the cluster",
    });
    expect(build({ support: { state: "Unknown", platform: "Unknown" } }).summary.support).toEqual({ text: "unknown", mood: "faint" });
    expect(build({}).summary.support).toBeUndefined();
  });

  test("works without a status", () => {
    expect(build(undefined)).toMatchObject({ state: { text: "Pending" }, conditions: [] });
  });

  test("reports which parts cannot be read", () => {
    const overview = build({}, { releases: "forbidden", events: "forbidden", others: "forbidden", catalogs: "forbidden" });
    expect(overview).toMatchObject({ events: { error: "forbidden" }, catalogs: { error: "forbidden" } });
  });

  test.for<[type: string, actions: object[], tab: string | undefined]>([
    ["Unhealthy", [{ action: "rollBack", extension: "x", revision: 1 }], "objects"],
    ["RevisionPinned", [{ action: "removePin", extension: "x" }], "history"],
    ["Suspended", [{ action: "resume", extension: "x" }], undefined],
    ["DriftDetected", [{ action: "setDriftPolicy", extension: "x", policy: "Correct" }], "history"],
    ["RegistryUnavailable", [{ action: "reconcile", extension: "x" }], undefined],
    ["AwaitingApproval", [], "plan"],
    ["TypeOfANewerController", [], undefined],
  ])("offers actions for problem %s", ([type, actions, tab]) => {
    const [view] = build({ problems: [problem(type)] }).problems;
    expect(view).toMatchObject({ type, severity: "error", actions });
    expect(view?.tab).toBe(tab);
  });

  test("offers the approval of the plan that the status contains", () => {
    const plan = { digest: "d1", bundle: { name: "p.v2", version: "2.0.0" }, create: 0, update: 1, delete: 0, unchanged: 0 };
    const [view] = build({ plan, problems: [problem("AwaitingApproval", { severity: "Info" })] }).problems;
    expect(view?.actions).toEqual([{ action: "approvePlan", extension: "x", digest: "d1" }]);
  });

  test("offers no rollback when the releases cannot be read", () => {
    expect(build({ problems: [problem("Unhealthy")] }, { releases: "forbidden" }).problems[0]?.actions).toEqual([]);
  });

  test("lists the missing permissions by namespace", () => {
    const permissions = [
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["patch"], namespace: "shop" },
      { apiGroups: [""], resources: ["secrets"], verbs: ["*"] },
    ];
    expect(build({ problems: [problem("MissingPermissions", { details: { permissions } })] }).problems[0]?.permissions).toEqual([
      { namespace: "", rules: ["all verbs on secrets: all"] },
      { namespace: "shop", rules: ["patch deployments.apps: all"] },
    ]);
  });

  test("links objects of the installed bundle with their version", () => {
    const inventory = { count: 1, objects: [{ group: "apps", version: "v1", kind: "Deployment", namespace: "shop", name: "web" }] };
    const objects = ["web", "other"].map((name) => ({ group: "apps", kind: "Deployment", namespace: "shop", name }));
    const details = build({ inventory, problems: [problem("Unhealthy", { details: { objects } })] }).problems[0]?.details;
    expect(details?.map(({ name, object }) => [name, object?.apiVersion])).toEqual([
      ["Deployment shop/web", "apps/v1"],
      ["Deployment shop/other", undefined],
    ]);
  });

  test("shows the meaning in place of a message that joins the texts of the details", () => {
    const crds = ["removed field", "changed type"].map((message) => ({ name: "a.example.com", check: "type", message }));
    const [view] = build({ problems: [problem("CRDUpgradeUnsafe", { details: { crds } })] }).problems;
    expect(view).toMatchObject({
      message: expect.stringContaining("could lose data"),
      details: [{ name: "a.example.com (type)", text: "removed field" }, {}],
    });
    const [single] = build({ problems: [problem("CRDUpgradeUnsafe", { details: { crds: crds.slice(1) } })] }).problems;
    expect(single?.message).toBe("it does not work");
  });

  test("lists a deprecation and a blocked update, which no problem reports", () => {
    const { problems } = build({
      conditions: [condition("Ready", "True"), condition("Deprecated", "True")],
      blockedUpdate: { version: "2.0.0", bundle: "p.v2", catalog: "c", reason: "VersionRange", message: "out of range" },
    });
    expect(problems).toMatchObject([
      { type: "Deprecated", severity: "warning", message: "m" },
      {
        type: "BlockedUpdate",
        severity: "info",
        tab: "why",
        next: [
          { command: "olmv1 why-not x 2.0.0" },
          { command: "olmv1 upgrade x --version 2.0.0" },
          { command: "olmv1 upgrade x --any-version" },
        ],
      },
    ]);
  });

  test("refers to the problems from a condition with the same message", () => {
    const { conditions } = build({ conditions: [condition("Available", "False")], problems: [problem("Unhealthy", { message: "m" })] });
    expect(conditions).toMatchObject([{ type: "Available", see: "problems", message: "", means: "", next: [] }]);
  });
});

function condition(type: string, status: "True" | "False") {
  return { type, status, reason: "Unhealthy", message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" };
}
