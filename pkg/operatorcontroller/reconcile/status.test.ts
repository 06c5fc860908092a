import { expect, test } from "vitest";
import { ArgoCustomizations } from "../../../test/support/argoCustomizations.ts";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { type CatalogFixture, type ClusterFixture, catalogsFrom, clusterFrom } from "../../../test/support/catalogFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { expectKstatus } from "../../../test/support/kstatus.ts";
import { buildAuthenticated, buildObserved, buildResolved, buildStarted } from "../../../test/support/phases.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { isKstatusCondition } from "../../api/conditions.ts";
import type { Condition } from "../../api/k8s.ts";
import { RetryableError, TerminalError } from "../../errors/errors.ts";
import type { BundleHold, KnownReleases } from "../state/clusterChanges.ts";
import type { Phase, ResolvedBundle } from "../state/phases.ts";
import type { CatalogObservations, Report } from "../state/report.ts";
import { computeExtensionStatus } from "./status.ts";

/** Result of a reconcile. */
interface Reached extends Partial<KnownReleases>, Partial<Omit<Report, "catalogs">>, Partial<Pick<CatalogObservations, "deprecation">> {
  resolved?: ResolvedBundle;
  held?: BundleHold;
  deleting?: string;
  isSuspended?: boolean;
  unpacking?: { image: string };
}

function phaseFrom(extension: ClusterExtension, given: Reached): Phase {
  const {
    resolved: bundle,
    held,
    deleting,
    isSuspended,
    unpacking,
    deprecation,
    problems = [],
    lacking,
    plan,
    availability,
    overdue,
    ...releases
  } = given;
  const reports = { lacking, plan, availability, overdue, ...(deprecation ? { catalogs: { deprecation } } : {}) };
  const { report } = buildStarted(extension);
  Object.assign(report, Object.fromEntries(Object.entries(reports).filter(([, value]) => value !== undefined)));
  report.problems.push(...problems);
  const parts = { releases, report };
  if (deleting !== undefined) return { ...buildObserved(extension, parts), phase: "deleting", progress: deleting };
  if (isSuspended) return { ...buildObserved(extension, parts), phase: "suspended" };
  const acting = { ...parts, ...(held ? { changes: { held } } : {}) };
  if (!bundle) return buildAuthenticated(extension, acting);
  const phase = buildResolved(extension, bundle, acting);
  return unpacking ? { ...phase, phase: "unpacking", image: unpacking.image, lastError: undefined } : phase;
}

interface StatusCase extends CaseHead {
  channels?: string[];
  catalog?: Partial<CatalogSource>;
  cluster?: ClusterFixture;
  /**
   * Active releases, newest first. `properties` is annotation olm.properties, `max` one property
   * olm.maxOpenShiftVersion in it.
   */
  active?: { bundle: string; version: string; properties?: string; max?: string }[];
  /** Content of the catalogs in this reconcile. */
  catalogs?: Record<string, CatalogFixture>;
  /** Conditions before the reconcile. */
  before?: Condition[];
  reached: Reached;
  error?: { kind: "retryable" | "terminal"; reason?: string; message: string };
  want: Record<string, [Condition["status"], string, string]>;
  /** The complete `status.problems`, if the case checks them. */
  problems?: unknown[];
  install?: unknown;
}

/** Returns a release in the form in which a reconcile reads it. */
function releaseFrom({ bundle, version, properties, max }: NonNullable<StatusCase["active"]>[number]) {
  const stated = max === undefined ? properties : JSON.stringify([{ type: "olm.maxOpenShiftVersion", value: max }]);
  const labels = { "olm.operatorframework.io/bundle-name": bundle, "olm.operatorframework.io/bundle-version": version };
  return { labels, annotations: stated === undefined ? {} : { "olm.properties": stated } };
}

const argo = new ArgoCustomizations();
const NOW = "2026-01-01T00:00:00Z";

test.for(loadCases<StatusCase>("status"))("$name", async ({ channels, catalog, reached, error, want, install, ...rest }) => {
  const { cluster, active, catalogs, before, problems } = rest;
  const made = createExtension("x", { packageName: "p", ...catalog, ...(channels ? { channels } : {}) });
  const extension = before ? { ...made, status: { conditions: before } } : made;
  const phase = phaseFrom(extension, { ...reached, ...(active ? { active: active.map(releaseFrom) } : {}) });
  if (catalogs) phase.report.catalogs.packages = catalogsFrom(catalogs, "p");
  const thrown = error && new (error.kind === "terminal" ? TerminalError : RetryableError)(error.reason ?? "Blocked", error.message);
  const status = computeExtensionStatus({ ...phase, clusterVersion: clusterFrom(cluster) }, thrown, NOW);
  const got = Object.fromEntries((status.conditions ?? []).map((c) => [c.type, [c.status, c.reason, c.message]]));
  expect(got).toMatchObject(want);
  const { deleting, isSuspended = false } = reached;
  const deprecations =
    deleting === undefined && !isSuspended ? ["BundleDeprecated", "ChannelDeprecated", "Deprecated", "PackageDeprecated"] : [];
  const object = { ...extension, metadata: { ...extension.metadata, generation: extension.metadata.generation ?? 0 }, status };
  const kstatus = expectKstatus(object);
  const { status: health } = await argo.computeHealth(object);
  expect(health === "Healthy").toBe(kstatus === "Current");
  if (kstatus === "Failed") expect(health).toBe("Degraded");
  const upgrade = "ClusterUpgradeBlocked" in want ? ["ClusterUpgradeBlocked"] : [];
  const available = isSuspended ? [] : ["Available"];
  const lasting = Object.keys(got).filter((type) => !isKstatusCondition(type));
  expect(lasting.sort()).toEqual([...deprecations, ...upgrade, ...available, "Installed", "Progressing", "Ready"].sort());
  expect(status.install).toEqual(install);
  if (problems) expect(status.problems ?? []).toEqual(problems);
});

test("computeExtensionStatus returns an equal status after an equal reconcile, and updates the transition time of a changed condition", () => {
  const extension = createExtension("x", { packageName: "p" });
  const first = computeExtensionStatus(buildStarted(extension), undefined, NOW);
  const again = computeExtensionStatus(buildStarted({ ...extension, status: first }), undefined, "2026-01-02T00:00:00Z");
  expect(again).toEqual(first);
  const blocked = computeExtensionStatus(
    buildStarted({ ...extension, status: first }),
    new TerminalError("Blocked", "no"),
    "2026-01-02T00:00:00Z",
  );
  const moved = (blocked.conditions ?? []).filter((c) => c.lastTransitionTime === "2026-01-02T00:00:00Z").map((c) => c.type);
  expect(moved).toEqual(["Progressing", "Stalled"]);
});

test.for<[when: string, finalizers: string[], isKept: boolean]>([
  ["objects are being deleted", ["olm.operatorframework.io/uninstall", "foregroundDeletion"], true],
  ["the uninstall is complete", ["foregroundDeletion"], false],
])(
  "computeExtensionStatus decides about the installed bundle of a deleted extension without releases when %s",
  ([, finalizers, isKept]) => {
    const made = createExtension("x", { packageName: "p" });
    const before = {
      install: { bundle: { name: "p.v1.0.0", version: "1.0.0" } },
      inventory: { count: 1, objects: [{ version: "v1", kind: "ConfigMap", name: "a" }] },
      keptCRDs: [{ name: "things.example.com", message: "custom resources exist" }],
    };
    const extension = { ...made, metadata: { ...made.metadata, finalizers }, status: { conditions: [], ...before } };
    const { install, inventory, keptCRDs } = computeExtensionStatus(phaseFrom(extension, { deleting: "uninstalling" }), undefined, NOW);
    expect({ install, inventory, keptCRDs }).toEqual(isKept ? before : {});
  },
);

test.for<[name: string, annotation: string | undefined, before: string | undefined, reached: Reached, want: string | undefined]>([
  ["is unset without a request", undefined, undefined, {}, undefined],
  ["is the request of the reconcile that handles it", "2026-01-01", undefined, {}, "2026-01-01"],
  ["is truncated when the request is long", "x".repeat(100), undefined, {}, "x".repeat(64)],
  ["is removed when the request is removed", undefined, "2026-01-01", {}, undefined],
  ["does not change while the extension is suspended", "2026-01-02", "2026-01-01", { isSuspended: true }, "2026-01-01"],
])("lastHandledReconcileAt %s", ([, annotation, before, reached, want]) => {
  const made = createExtension("x", { packageName: "p" });
  const annotations = annotation === undefined ? {} : { "olm.operatorframework.io/reconcile-requested-at": annotation };
  const status = before === undefined ? {} : { lastHandledReconcileAt: before };
  const extension = { ...made, metadata: { ...made.metadata, annotations }, status };
  expect(computeExtensionStatus(phaseFrom(extension, reached), undefined, NOW).lastHandledReconcileAt).toBe(want);
});

test.for<[when: string, chosen: Partial<ResolvedBundle> | undefined, before: [bundle: string, catalog: string] | undefined, want: unknown]>(
  [
    ["it was resolved in this reconcile", { catalog: "new" }, ["p.v1.0.0", "old"], "new"],
    ["no catalog was read in this reconcile", undefined, ["p.v1.0.0", "old"], "old"],
    ["the installed bundle was kept without a catalog", {}, ["p.v1.0.0", "old"], "old"],
    [
      "another bundle was resolved and is not installed yet",
      { name: "p.v2.0.0", version: "2.0.0", catalog: "new" },
      ["p.v1.0.0", "old"],
      "old",
    ],
    ["another bundle was installed before", undefined, ["p.v0.9.0", "old"], undefined],
    ["nothing is installed according to the status", undefined, undefined, undefined],
  ],
)("computeExtensionStatus reports the catalog of the installed bundle when %s", ([, chosen, before, want]) => {
  const installed = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "registry.example/p" };
  const made = createExtension("x", { packageName: "p" });
  const install = before && { bundle: { name: before[0], version: before[0].slice(3) }, catalog: before[1] };
  const extension = install ? { ...made, status: { conditions: [], install } } : made;
  const reached = { installed, ...(chosen ? { resolved: { ...installed, explanation: "", ...chosen } } : {}) };
  expect(computeExtensionStatus(phaseFrom(extension, reached), undefined, NOW).install?.catalog).toBe(want);
});
