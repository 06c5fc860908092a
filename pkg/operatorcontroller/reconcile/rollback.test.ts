import { expect, test } from "vitest";
import { MemoryReleases, RecordedEvents, stepContext } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated, buildResolved, buildUnpacked, problemTexts, runStep } from "../../../test/support/phases.ts";
import { configMap, releaseRecord } from "../../../test/support/releases.ts";
import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { getObjectKey } from "../../release/identity.ts";
import { readInstalledBundle, toReleaseLabels } from "../../release/installedBundle.ts";
import { withBundleLabels } from "../../release/labels.ts";
import { prepareObjects } from "../../release/prepare.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { RolledBack } from "../../release/rollbackBackoff.ts";
import { Handovers, ObjectLocks } from "../apply/handovers.ts";
import { limitOperatorCondition } from "../permissions/conditionPermission.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { ResolvedBundle, Unpacked } from "../state/phases.ts";
import { applyBundle, keepInstalled } from "./apply.ts";
import { pinRevision, type RollbackServices, rollBackOverdue, skipRolledBackBundle, undoFailedUpgrade } from "./rollback.ts";
import { computeInputDigest } from "./unpack.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const made = createExtension("x", { packageName: "p" });
const X: ClusterExtension = {
  ...made,
  metadata: { ...made.metadata, uid: "u" },
  spec: { ...made.spec, progressDeadlineMinutes: 10, install: { onFailure: "Rollback" } },
};
const bundle = (version: string): ResolvedBundle => ({
  packageName: "p",
  name: `p.v${version}`,
  version,
  image: `i:${version}`,
  catalog: "c",
  explanation: "",
});
const DIGEST = computeInputDigest(buildResolved(X, bundle("2.0.0")));
const FAILED_ATTEMPT: RolledBack = {
  release: 2,
  bundle: "p.v2.0.0",
  version: "2.0.0",
  inputDigest: DIGEST,
  generation: 1,
  catalog: "c@1",
  reason: "ProgressDeadlineExceeded",
  message: "Revision has not rolled out",
  attempts: 1,
  at: "2026-01-02T00:00:00Z",
};

/** A cluster that accepts all objects except those in `refused`. */
class FakeCluster {
  readonly live = new Map<string, KubeObject>();
  readonly refused = new Set<string>();

  get(ref: ObjectRef): Promise<KubeObject | undefined> {
    return this.refused.has(`get ${ref.name}`) ? Promise.reject(new Error("reset")) : Promise.resolve(this.live.get(getObjectKey(ref)));
  }

  apply(object: KubeObject, { dryRun = false }: { dryRun?: boolean }): Promise<KubeObject> {
    if (this.refused.has(object.metadata.name)) return Promise.reject(new Error("not today"));
    if (!dryRun) this.live.set(getObjectKey(object), object);
    return Promise.resolve(object);
  }

  delete(ref: ObjectRef): Promise<boolean> {
    return Promise.resolve(this.live.delete(getObjectKey(ref)));
  }

  list(): Promise<{ items: KubeObject[] }> {
    return Promise.resolve({ items: [] });
  }

  /** Returns all permissions. */
  raw(): Promise<unknown> {
    return Promise.resolve({ status: { resourceRules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] } });
  }

  resourceFor({ kind }: { kind: string }): Promise<{ group: string; resource: string; namespaced: boolean }> {
    return Promise.resolve({ group: "", resource: `${kind.toLowerCase()}s`, namespaced: kind !== "CustomResourceDefinition" });
  }

  get names(): string[] {
    return [...this.live.values()].map(({ metadata }) => metadata.name).sort();
  }
}

/**
 * Returns objects in the form in which a release of the extension contains them. A string is the name of a ConfigMap.
 */
function prepared(objects: readonly (string | KubeObject)[]): KubeObject[] {
  const owner = { apiVersion: X.apiVersion, kind: X.kind, name: "x", uid: "u" };
  const all = objects.map((object) => (typeof object === "string" ? configMap(object) : object));
  return prepareObjects(all, { owner, installNamespace: getNamespace(X), isNamespaced: ({ kind }) => kind !== "CustomResourceDefinition" })
    .objects;
}

function release(
  version: number,
  of: string,
  status: ReleaseRecord["status"],
  objects: readonly (string | KubeObject)[],
  parts: Partial<ReleaseRecord> = {},
): ReleaseRecord {
  const labels = toReleaseLabels(bundle(of));
  return releaseRecord(version, status, { labels, inputDigest: of === "2.0.0" ? DIGEST : of, ...parts, objects: prepared(objects) });
}

function start(...records: ReleaseRecord[]) {
  const cluster = new FakeCluster();
  const releases = new MemoryReleases(...records);
  const events = new RecordedEvents();
  const client = cluster as unknown as Client;
  const deps: RollbackServices = {
    discovery: client,
    releases,
    events,
    now: () => NOW,
    driftIntervalMs: 60_000,
    extensionExists: () => true,
    memory: new ExtensionCache(),
    locks: new ObjectLocks(),
    handovers: new Handovers(() => []),
    catalogContent: (name) => (name === undefined ? "" : `${name}@1`),
  };
  const history = releases.now();
  const [latest] = history.current;
  const phase: Unpacked = buildUnpacked(X, bundle("2.0.0"), {
    releases: { history, installed: latest && readInstalledBundle(latest) },
    client,
    inputDigest: DIGEST,
  });
  return { cluster, releases, events, deps, phase, context: stepContext() };
}

const V1 = (status: ReleaseRecord["status"], parts: Partial<ReleaseRecord> = {}): ReleaseRecord =>
  release(1, "1.0.0", status, ["a"], parts);
const OVERDUE = "Revision has not rolled out for 10 minute(s).";

test("rollBackOverdue deploys a new release and marks the overdue release as failed", async () => {
  const { cluster, releases, deps, phase, context, events } = start(
    V1("superseded", { rolledOutAt: "2026-01-01T00:00:00Z" }),
    release(2, "2.0.0", "deployed", ["b"]),
  );
  phase.report.overdue = OVERDUE;
  expect(await rollBackOverdue(deps, phase, context)).toBe(true);
  expect([cluster.names, releases.state]).toEqual([["a"], ["v1 superseded", "v2 failed", "v3 deployed"]]);
  expect(releases.records.get(3)).toMatchObject({ inputDigest: "1.0.0", rolledBack: { ...FAILED_ATTEMPT, message: OVERDUE } });
  expect([phase.releases.installed?.name, phase.report.overdue, phase.changes.held?.reason]).toEqual([
    "p.v1.0.0",
    undefined,
    "ProgressDeadlineExceeded",
  ]);
  expect(phase.changes.held?.message).toBe(
    `${OVERDUE}; rolled back to bundle "p.v1.0.0"; the controller retries bundle "p.v2.0.0" after 2026-01-02T00:10:00Z, or as soon as the spec, bundle or catalog changes`,
  );
  expect(events.seen).toEqual(['Normal RolledBack: rolled back to bundle "p.v1.0.0" from "p.v2.0.0": 1 created']);
});

test("rollBackOverdue restores the newest release that was rolled out, and records how often the failed release was applied", async () => {
  const { releases, deps, phase, context } = start(
    V1("superseded", { rolledOutAt: "2026-01-01T00:00:00Z" }),
    release(2, "2.0.0", "failed", ["b"]),
    release(3, "1.0.0", "superseded", ["a"], { rolledOutAt: "2026-01-01T00:00:00Z", rolledBack: FAILED_ATTEMPT }),
    release(4, "1.1.0", "superseded", ["c"]),
    release(5, "2.0.0", "deployed", ["b"]),
  );
  phase.report.overdue = OVERDUE;
  await rollBackOverdue(deps, phase, context);
  expect(releases.records.get(6)).toMatchObject({ inputDigest: "1.0.0", rolledBack: { release: 5, attempts: 2 } });
});

test.for<[why: string, records: ReleaseRecord[], change: (phase: Unpacked) => void]>([
  ["it is not overdue", [V1("superseded"), release(2, "2.0.0", "deployed", ["b"])], (phase) => delete phase.report.overdue],
  [
    "spec.install.onFailure is Retain",
    [V1("superseded"), release(2, "2.0.0", "deployed", ["b"])],
    (phase) => Object.assign(phase, { extension: { ...X, spec: { ...X.spec, install: { onFailure: "Retain" } } } }),
  ],
  ["it is a rollback itself", [V1("superseded"), release(2, "2.0.0", "deployed", ["b"], { rolledBack: FAILED_ATTEMPT })], () => undefined],
  ["a newer release failed", [release(2, "2.0.0", "deployed", ["b"]), release(3, "2.1.0", "failed", ["b"])], () => undefined],
])("rollBackOverdue does nothing when %s", async ([, records, change]) => {
  const { releases, deps, phase, context } = start(...records);
  phase.report.overdue = OVERDUE;
  change(phase);
  expect(await rollBackOverdue(deps, phase, context)).toBe(false);
  expect(releases.calls).toEqual([]);
});

test("rollBackOverdue appends the reason why a rollback failed to the message about the deadline", async () => {
  const { cluster, deps, phase, context, releases } = start(V1("superseded"), release(2, "2.0.0", "deployed", ["b"]));
  cluster.refused.add("a");
  phase.report.overdue = OVERDUE;
  expect(await rollBackOverdue(deps, phase, context)).toBe(false);
  expect(phase.report.overdue).toBe(`${OVERDUE}; rollback failed, retrying: ConfigMap x-system/a: not today`);
  expect(releases.state).toEqual(["v1 superseded", "v2 deployed"]);
});

/** Returns a reconcile whose upgrade to these objects was rejected after some of them had been applied. */
function failedUpgrade(objects: KubeObject[]) {
  const world = start(V1("deployed"));
  const failed = release(2, "2.0.0", "failed", objects);
  world.releases.records.set(2, failed);
  for (const object of objects) world.cluster.live.set(getObjectKey(object), object);
  world.phase.changes.failed = {
    release: failed,
    applied: new Map(objects.map((object) => [getObjectKey(object), object])),
    actions: objects.map((object) => ({ verb: "updated" as const, ref: toObjectRef(object) })),
  };
  return world;
}

test("undoFailedUpgrade deploys a new release when an upgrade was rejected", async () => {
  const { deps, phase, context, cluster, releases } = failedUpgrade([configMap("b")]);
  expect(await undoFailedUpgrade(deps, phase, context, new Error("refused"))).toBe(true);
  expect(cluster.names).toContain("a");
  expect(releases.state).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
  expect(phase.changes.held).toMatchObject({
    reason: "Retrying",
    message: expect.stringMatching(
      /^error for resolved bundle "p\.v2\.0\.0" with version "2\.0\.0": refused; bundle "p\.v1\.0\.0" was restored; /,
    ) as string,
  });
});

const deployment = (ready: number): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", namespace: "x-system", generation: 1 },
  status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: ready },
});

test.for<[why: string, object: KubeObject, undone: boolean, unreadable?: boolean]>([
  ["true when no Pod of the upgrade is ready", deployment(0), true],
  ["false when a Pod of the upgrade is ready", deployment(1), false],
  ["false when Pods cannot be read", deployment(0), false, true],
])("undoFailedUpgrade returns %s", async ([, object, undone, unreadable = false]) => {
  const { deps, phase, context, cluster, releases } = failedUpgrade([object]);
  if (unreadable) cluster.refused.add("get d");
  expect(await undoFailedUpgrade(deps, phase, context, new Error("refused"))).toBe(undone);
  expect(releases.state.length).toBe(undone ? 3 : 2);
});

const definition = (version: string): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", description: version } } }],
  },
});

test.for<[when: string, live: string, want: string]>([
  ["keeps a CustomResourceDefinition when an earlier attempt of the release applied it", "2.0.0", "2.0.0"],
  ["keeps the earlier CustomResourceDefinition when no attempt of the release applied it", "1.0.0", "1.0.0"],
])("undoFailedUpgrade %s", async ([, live, want]) => {
  const b = configMap("b");
  const world = failedUpgrade([b]);
  const label = (object: KubeObject, version: string): KubeObject => withBundleLabels(object, { packageName: "p", version });
  const [base, failed] = ["1.0.0", "2.0.0"].map((version) => prepared([label(definition(version), version)])) as [
    KubeObject[],
    KubeObject[],
  ];
  const { history } = world.phase.releases;
  history.current[0]!.objects.push(...base);
  world.phase.changes.failed!.release.objects.push(...failed);
  const [key] = failed.map(getObjectKey);
  world.cluster.live.set(key!, (live === "2.0.0" ? failed : base)[0]!);
  expect(await undoFailedUpgrade(world.deps, world.phase, world.context, new Error("refused"))).toBe(true);
  expect(JSON.stringify(world.cluster.live.get(key!)?.["spec"])).toContain(`"description":"${want}"`);
});

test("undoFailedUpgrade throws both errors when the upgrade and the restore fail", async () => {
  const { deps, phase, context, cluster, releases } = failedUpgrade([configMap("b")]);
  cluster.refused.add("a");
  await expect(undoFailedUpgrade(deps, phase, context, new Error("refused"))).rejects.toThrow(
    'refused; restoring bundle "p.v1.0.0" also failed: ConfigMap x-system/a: not today',
  );
  expect(releases.state).toEqual(["v1 deployed", "v2 failed"]);
});

test("undoFailedUpgrade does nothing when the upgrade failed without a rejection", async () => {
  const { deps, phase, context, releases } = failedUpgrade([configMap("b")]);
  const cut = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
  expect(await undoFailedUpgrade(deps, phase, context, new Error("2 errors occurred", { cause: cut }))).toBe(false);
  expect(releases.state).toEqual(["v1 deployed", "v2 failed"]);
});

test("undoFailedUpgrade does nothing after a first install or a rollback", async () => {
  const first = failedUpgrade([configMap("b")]);
  first.phase.releases.history = { ...first.phase.releases.history, current: [] };
  expect(await undoFailedUpgrade(first.deps, first.phase, first.context, new Error("refused"))).toBe(false);
  const back = failedUpgrade([configMap("b")]);
  back.phase.changes.failed!.release.rolledBack = FAILED_ATTEMPT;
  expect(await undoFailedUpgrade(back.deps, back.phase, back.context, new Error("refused"))).toBe(false);
});

test("applyBundle and keepInstalled complete a rollback after a crash", async () => {
  const pending = release(3, "1.0.0", "pending-rollback", ["a"], { rolledBack: FAILED_ATTEMPT, inputDigest: "1.0.0" });
  const waits: number[] = [];
  const resumed = start(V1("superseded"), release(2, "2.0.0", "deployed", ["b"]), pending);
  const skipping = skipRolledBackBundle({ ...resumed.deps, requeueAfter: (_, ms) => void waits.push(ms) });
  const { next } = await runStep(skipping, { ...resumed.phase, phase: "resolved" });
  if (!next) throw new Error("the reconcile ended");
  expect(waits).toEqual([600_000]);
  await runStep(applyBundle(resumed.deps), { ...next, phase: "unpacked" });
  expect([resumed.cluster.names, resumed.releases.state]).toEqual([["a"], ["v1 superseded", "v2 failed", "v3 deployed"]]);
  expect(resumed.phase.releases.installed?.name).toBe("p.v1.0.0");
  const unresolved = start(V1("superseded"), release(2, "2.0.0", "deployed", ["b"]), pending);
  await keepInstalled(unresolved.deps, unresolved.phase, unresolved.context);
  expect(unresolved.releases.state).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
});

test("skipRolledBackBundle retries a bundle when its catalog has changed", async () => {
  const world = start(
    V1("superseded"),
    release(2, "2.0.0", "failed", ["b"]),
    release(3, "1.0.0", "deployed", ["a"], { rolledBack: FAILED_ATTEMPT }),
  );
  const step = (catalog: string) => skipRolledBackBundle({ ...world.deps, catalogContent: () => catalog, requeueAfter: () => undefined });
  const phase = { ...world.phase, phase: "resolved" } as const;
  expect((await runStep(step("c@2"), phase)).next?.held).toBeUndefined();
  expect((await runStep(step("c@1"), phase)).next?.held).toBeDefined();
});

/** Returns a client whose ServiceAccount may create these resources. */
function mayCreate(resources: string[]): Client {
  const resourceRules = [{ apiGroups: ["*"], resources, verbs: ["create"] }];
  return { raw: () => Promise.resolve({ status: { resourceRules } }) } as unknown as Client;
}

test.for<[when: string, resources: string[]]>([
  ["its ServiceAccount may not create OperatorConditions", ["deployments"]],
  ["its ServiceAccount may create OperatorConditions", ["deployments", "operatorconditions"]],
])("skipRolledBackBundle skips a bundle after its rollback when %s", async ([, resources]) => {
  const served = buildResolved(X, bundle("2.0.0"), { conditionSupport: "Served" });
  const recorded = computeInputDigest(await limitOperatorCondition(served, mayCreate(resources), new AbortController().signal));
  const rolledBack = { ...FAILED_ATTEMPT, inputDigest: recorded };
  const world = start(V1("superseded"), release(2, "2.0.0", "failed", ["b"]), release(3, "1.0.0", "deployed", ["a"], { rolledBack }));
  const waits: number[] = [];
  const step = skipRolledBackBundle({ ...world.deps, requeueAfter: (_, ms) => void waits.push(ms) });
  const { next } = await runStep(step, { ...world.phase, conditionSupport: "Served", phase: "resolved" });
  expect([next?.held?.reason, waits]).toEqual(["ProgressDeadlineExceeded", [600_000]]);
});

/** Returns the extension with the annotation for a revision. */
function pinnedTo(revision: string): ClusterExtension {
  return { ...X, metadata: { ...X.metadata, annotations: { [ANNOTATION_ROLLBACK_TO]: revision } } };
}

test("pinRevision pins the bundle of the revision in the annotation", async () => {
  const releases = new MemoryReleases(
    releaseRecord(1, "superseded", { labels: toReleaseLabels(bundle("1.0.0")) }),
    releaseRecord(2, "deployed", { labels: toReleaseLabels(bundle("2.0.0")) }),
  );
  const run = (extension: ClusterExtension) =>
    runStep(pinRevision({ releases }), buildAuthenticated(extension, { releases: { history: releases.now() } }));
  const { phase, next } = await run(pinnedTo("1"));
  expect([next?.pinned?.revision, next?.pinned?.bundle.name, problemTexts(phase).length]).toEqual([1, "p.v1.0.0", 1]);
  expect(problemTexts(phase)[0]).toContain('pins bundle "p.v1.0.0" of revision 1');
  expect(problemTexts((await run(X)).phase)).toEqual([]);
  for (const revision of ["7", "one", "-1"])
    expect((await run(pinnedTo(revision))).error).toMatchObject({ reason: "Blocked", retry: false });
});
