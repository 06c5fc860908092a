import { beforeAll, expect, test } from "vitest";
import { LABEL_BUNDLE_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { Applier } from "../../pkg/operatorcontroller/apply/applier.ts";
import { DryRun } from "../../pkg/operatorcontroller/apply/dryRun.ts";
import { takeOver } from "../../pkg/operatorcontroller/apply/handovers.ts";
import { ObjectReconciler } from "../../pkg/operatorcontroller/apply/objectReconciler.ts";
import { keepInstalled } from "../../pkg/operatorcontroller/reconcile/apply.ts";
import { checkHealth } from "../../pkg/operatorcontroller/reconcile/health.ts";
import { type Authenticated, newStarted, type Phase } from "../../pkg/operatorcontroller/state/phases.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { GO_FIELD_MANAGER } from "../../pkg/release/managedFields.ts";
import { INSTALLED, passOver } from "../support/applyPasses.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { MemoryReleases, stepContext } from "../support/extensionFakes.ts";
import { listActions, liveKinds, loneExtension, prepareObjectsFor } from "../support/loneExtension.ts";
import { configMap, releaseRecord } from "../support/releases.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const signal = new AbortController().signal;
const { log } = stepContext();

describeWithCluster("applying an extension's objects on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  test("Applier.apply reports its effect on each object, and restores changed or deleted objects", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const objects = prepareObjectsFor(x, [configMap("a", ns, { k: "v" }), configMap("b", ns, { k: "v" })]);
    const pass = async (): Promise<string[]> => {
      const applier = new Applier(account.client, log, signal);
      await applier.apply(objects, await applier.read(objects.map(toObjectRef)));
      return applier.actions.map(({ verb, ref }) => `${verb} ${ref.name}`).sort();
    };
    expect(await pass()).toEqual(["created a", "created b"]);
    expect(await pass()).toEqual(["unchanged a", "unchanged b"]);
    await cluster.client.patch(toObjectRef(objects[0]!), { data: { k: "other", theirs: "stays" } }, { type: "merge" });
    await cluster.client.delete(toObjectRef(objects[1]!));
    expect(await pass()).toEqual(["created b", "updated a"]);
    expect((await cluster.client.get(toObjectRef(objects[0]!)))?.["data"]).toEqual({ k: "v", theirs: "stays" });
    const applier = new Applier(account.client, log, signal);
    await applier.remove([...(await applier.read(objects.map(toObjectRef))).values()]);
    expect(listActions(applier)).toEqual(["deleted ConfigMap", "deleted ConfigMap"]);
    expect(await liveKinds(cluster, objects)).toEqual([]);
  });

  test("takeOver keeps the labels and annotations of Helm through the next apply when no other manager owns labels or annotations", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const marks = {
      labels: { "app.kubernetes.io/managed-by": "Helm" },
      annotations: { "meta.helm.sh/release-name": "x", "meta.helm.sh/release-namespace": ns },
    };
    const object = configMap("a", ns, { k: "v" });
    await cluster.client.create({ ...object, metadata: { ...object.metadata, ...marks } }, { fieldManager: GO_FIELD_MANAGER });
    const applier = new Applier(account.client, log, signal);
    const live = await applier.read([toObjectRef(object)]);
    await takeOver(account.client, [...live.values()], x.metadata.uid ?? "", signal);
    await applier.apply(prepareObjectsFor(x, [object]), await applier.read([toObjectRef(object)]));
    expect((await cluster.client.get(toObjectRef(object)))?.metadata).toMatchObject(marks);
  });

  test("a dry run reports all errors at once without writes, and accepts a binding to a role of the same release", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const verbsOfObjects = ["get", "create", "patch"];
    const roles: PolicyRule = {
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["roles", "rolebindings"],
      verbs: [...verbsOfObjects, "escalate", "bind"],
    };
    await account.grant([roles]);
    const role = {
      apiVersion: RBAC,
      kind: "Role",
      metadata: { name: "r", namespace: ns },
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    };
    const binding = (name: string, to: string): KubeObject => ({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata: { name, namespace: ns },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: to },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace: ns }],
    });
    const fine = prepareObjectsFor(x, [role, binding("b", "r")]);
    const dryRun = new DryRun(account.client, signal);
    expect((await dryRun.run(fine)).failures).toEqual([]);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: ns }, stringData: { a: "b" } };
    const more = prepareObjectsFor(x, [...fine, configMap("c", ns), secret]);
    const err = dryRun.toError((await dryRun.run(more)).failures, more);
    expect(err?.message).toMatch(/^2 errors occurred:\n\t\* Secret .*\n\t\* ConfigMap .*\n\n$/);
    for (const resource of ["configmaps", "secrets"])
      expect(err?.message).toContain(`User "system:serviceaccount:${ns}:installer" cannot patch resource "${resource}" in API group ""`);
    expect(await liveKinds(cluster, [...fine, secret])).toEqual([]);
  });

  // Source: O-04.
  test("only Deployments and bindings are recreated when an immutable field changes, and the error lists objects of other kinds", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const buildLabelled = (kind: string, app: string): KubeObject => ({
      apiVersion: "apps/v1",
      kind,
      metadata: { name: "w", namespace: ns },
      spec: {
        selector: { matchLabels: { app } },
        template: { metadata: { labels: { app } }, spec: { containers: [{ name: "c", image: "registry.example.com/i" }] } },
      },
    });
    const binding = (to: string): KubeObject => ({
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata: { name: "b", namespace: ns },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: to },
      subjects: [{ kind: "ServiceAccount", name: "operator", namespace: ns }],
    });
    const pass = async (objects: KubeObject[]): Promise<string[]> => {
      const applier = new Applier(account.client, log, signal);
      const live = await applier.read(objects.map(toObjectRef));
      const dryRun = new DryRun(account.client, signal);
      const refusal = dryRun.toError((await dryRun.run(objects)).failures, objects);
      if (refusal) throw refusal;
      await applier.apply(objects, live);
      return listActions(applier).sort();
    };
    await pass(prepareObjectsFor(x, [buildLabelled("Deployment", "a"), binding("view"), buildLabelled("StatefulSet", "a")]));
    const recreated = ["recreated Deployment", "recreated RoleBinding"];
    expect(await pass(prepareObjectsFor(x, [buildLabelled("Deployment", "b"), binding("edit")]))).toEqual(recreated);
    expect((await cluster.client.get(toObjectRef(binding(""))))?.["roleRef"]).toMatchObject({ name: "edit" });
    await expect(pass(prepareObjectsFor(x, [buildLabelled("StatefulSet", "b")]))).rejects.toMatchObject({
      message: expect.stringMatching(/^StatefulSet \S+\/w: StatefulSet\.apps "w" is invalid: /),
      problems: [expect.objectContaining({ type: "ObjectRejected", next: expect.stringContaining("because data could be lost") })],
    });
    await cluster.client.patch(toObjectRef(binding("")), { metadata: { ownerReferences: null } }, { type: "merge" });
    await expect(pass(prepareObjectsFor(x, [binding("view")]))).rejects.toMatchObject({
      problems: [expect.objectContaining({ next: expect.stringContaining("because the object is not marked as owned by this extension") })],
    });
    const broken = buildLabelled("Deployment", "c");
    (broken["spec"] as { replicas: number }).replicas = -1;
    await expect(pass(prepareObjectsFor(x, [broken]))).rejects.toThrow(/replicas/);
    expect((await cluster.client.get(toObjectRef(broken)))?.["spec"]).toMatchObject({ selector: { matchLabels: { app: "b" } } });
  });

  test("Applier.apply does not change an object that was recreated after the read", async () => {
    const { ns, account } = await loneExtension(cluster);
    const first = await cluster.client.create(configMap("a", ns, { whose: "ours" }));
    await cluster.client.delete(toObjectRef(first));
    await cluster.client.create(configMap("a", ns, { whose: "theirs" }));
    const applier = new Applier(account.client, log, signal);
    await applier.remove([first]);
    expect(listActions(applier)).toEqual(["absent ConfigMap"]);
    expect((await cluster.client.get(toObjectRef(first)))?.["data"]).toEqual({ whose: "theirs" });
  });

  test("drift correction restores objects of kinds that the cluster serves, and reports kinds that it does not serve", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const monitor = { apiVersion: `${ns}.example.com/v1`, kind: "Monitor", metadata: { name: "m", namespace: ns } };
    const objects = prepareObjectsFor(x, [configMap("a", ns, { k: "v" }), monitor]);
    const releases = new MemoryReleases(releaseRecord(1, "deployed", { name: ns, objects }));
    const { deps, phase, events, memory, context } = passOver(cluster.client, x, account.client, releases);
    await expect(new ObjectReconciler(deps, phase, context).maintain()).rejects.toThrow(
      `cannot restore objects of bundle "p.v1.0.0": this cluster no longer serves Monitor (${ns}.example.com/v1)`,
    );
    expect(await liveKinds(cluster, [configMap("a", ns)])).toEqual(["ConfigMap"]);
    expect(events.seen).toEqual([
      `Warning Drifted: objects of bundle "p.v1.0.0" drifted: ConfigMap ${ns}/a was deleted`,
      `Normal DriftCorrected: corrected objects of bundle "p.v1.0.0": ConfigMap ${ns}/a (created)`,
    ]);
    expect(memory.of(x).checkedAt).toBeUndefined();
  });

  test("installed objects are compared once per interval, and the comparison completes unfinished releases after a crash", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const objects = prepareObjectsFor(x, [configMap("a", ns, { k: "v" })]);
    const releases = new MemoryReleases(
      releaseRecord(1, "deployed", { name: ns }),
      releaseRecord(2, "pending-upgrade", { name: ns }),
      releaseRecord(3, "deployed", { name: ns, objects }),
    );
    const { deps, phase, events, context } = passOver(cluster.client, x, account.client, releases);
    await new ObjectReconciler(deps, phase, context).maintain();
    expect(releases.state).toEqual(["v1 superseded", "v2 failed", "v3 deployed"]);
    await cluster.client.delete(toObjectRef(objects[0]!));
    await new ObjectReconciler(deps, phase, context).maintain();
    expect([await liveKinds(cluster, objects), events.seen.length]).toEqual([[], 2]);
    deps.driftIntervalMs = 0;
    await new ObjectReconciler(deps, phase, context).maintain();
    expect([await liveKinds(cluster, objects), events.seen.length]).toEqual([["ConfigMap"], 4]);
  });

  test.for<[why: string, change: (phase: Authenticated) => Phase, kept: boolean]>([
    ["no newer release was started", (phase) => phase, true],
    ["this reconcile started a newer release", (phase) => ({ ...phase, changes: { began: true } }), false],
    [
      "the newest release is a failed attempt",
      (phase) => (phase.releases.history.current.unshift(releaseRecord(2, "failed")), phase),
      false,
    ],
    [
      "the extension is being deleted",
      ({ extension, releases }) => ({ ...newStarted(extension), phase: "deleting", releases, progress: "uninstalling" }),
      false,
    ],
    ["the ServiceAccount is missing", ({ extension, releases }) => ({ ...newStarted(extension), phase: "observed", releases }), false],
    ["no release is installed", (phase) => ({ ...phase, releases: { ...phase.releases, installed: undefined } }), false],
  ])("the controller reconciles the installed bundle after a failure when %s", async ([, change, kept]) => {
    const { x, ns, account } = await loneExtension(cluster);
    const objects = prepareObjectsFor(x, [configMap("a", ns)]);
    const { deps, phase, context } = passOver(
      cluster.client,
      x,
      account.client,
      new MemoryReleases(releaseRecord(1, "deployed", { name: ns, objects })),
    );
    await keepInstalled(deps, change(phase), context);
    expect(await liveKinds(cluster, objects)).toEqual(kept ? ["ConfigMap"] : []);
  });

  /** Makes dry runs of ConfigMaps in a namespace succeed and writes fail. @returns a function that ends this. */
  async function refuseConfigMaps(ns: string): Promise<() => Promise<unknown>> {
    const policy = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata: { name: ns } };
    const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns } };
    const validations = [{ expression: "has(request.dryRun) && request.dryRun", message: "not today" }];
    await cluster.client.create({ ...policy, spec: { matchConstraints: { resourceRules: [rule], namespaceSelector }, validations } });
    const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding" };
    await cluster.client.create({ ...binding, spec: { policyName: ns, validationActions: ["Deny"] } });
    await eventually(async () => {
      const probe = await cluster.client.create(configMap(cluster.name("probe"), ns)).catch((err: unknown) => err);
      expect(String(probe)).toContain("not today");
    });
    return async () => {
      await cluster.client.delete(toObjectRef(binding));
      await cluster.client.delete(toObjectRef(policy));
      await eventually(() => cluster.client.create(configMap(cluster.name("probe"), ns)));
    };
  }

  test("a release whose object is rejected during the apply is recorded as failed, and the next attempt has the same revision", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: ns } };
    const objects = [configMap("a", ns), secret];
    const releases = new MemoryReleases();
    const pass = async (): Promise<{ error: string; events: string[] }> => {
      const { deps, phase, events, context } = passOver(cluster.client, x, account.client, releases);
      phase.releases.installed = undefined;
      const rendered = { bundle: { ...INSTALLED, explanation: "" }, objects, annotations: {} };
      const running = new ObjectReconciler(deps, phase, context).release(rendered);
      return {
        error: await running.then(
          () => "",
          (err: Error) => err.message,
        ),
        events: events.seen,
      };
    };
    const lift = await refuseConfigMaps(ns);
    const refused = await pass();
    expect(refused.error).toMatch(new RegExp(`^ConfigMap ${ns}/a: .*not today$`));
    expect(refused.events).toEqual([
      `Warning ApplyFailed: install of bundle "p.v1.0.0" failed (objects so far: 1 created): ${refused.error}`,
    ]);
    expect(releases.records.get(1)).toMatchObject({
      status: "failed",
      description: expect.stringContaining("(objects so far: 1 created)") as string,
    });
    await pass();
    expect(releases.state).toEqual(["v1 failed"]);
    await lift();
    expect(await pass()).toEqual({ error: "", events: ['Normal Installed: installed bundle "p.v1.0.0": 1 unchanged, 1 created'] });
    expect(releases.state).toEqual(["v1 deployed"]);
  });

  // Source: G-08.
  test("the list of active releases contains a failed attempt and the deployed release, until another release is deployed", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const labels = { [LABEL_BUNDLE_NAME]: "p.v0.9.0" };
    const releases = new MemoryReleases(releaseRecord(1, "deployed", { name: ns, labels }));
    const lift = await refuseConfigMaps(ns);
    const counting = async (): Promise<(string | undefined)[]> => {
      const { deps, phase, context } = passOver(cluster.client, x, account.client, releases);
      const rendered = { bundle: { ...INSTALLED, explanation: "" }, objects: [configMap("a", ns)], annotations: {} };
      await new ObjectReconciler(deps, phase, context).release(rendered).catch(() => undefined);
      return (phase.releases.active ?? []).map((release) => release.labels[LABEL_BUNDLE_NAME]);
    };
    expect(await counting()).toEqual(["p.v1.0.0", "p.v0.9.0"]);
    expect(await counting()).toEqual(["p.v1.0.0", "p.v0.9.0"]);
    await lift();
    expect(await counting()).toEqual(["p.v1.0.0"]);
    expect(releases.state).toEqual(["v1 superseded", "v2 deployed"]);
  });

  test("checkHealth keeps the input digest that the same reconcile stored when the release is healthy for the first time", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const releases = new MemoryReleases();
    const labels = { app: "w" };
    const containers = [{ name: "c", image: "registry.example.com/i" }];
    const metadata = { name: "w", namespace: ns };
    const workload = { apiVersion: "apps/v1", kind: "Deployment", metadata };
    const spec = { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
    const pass = async (inputDigest: string): Promise<void> => {
      const { deps, phase, memory, context } = passOver(cluster.client, x, account.client, releases);
      const rendered = { bundle: { ...INSTALLED, explanation: "" }, objects: [{ ...workload, spec }], annotations: {}, inputDigest };
      await new ObjectReconciler(deps, phase, context).release(rendered);
      await checkHealth(
        { releases, memory, now: Date.now, requeueAfter: () => undefined, minuteMs: 60_000, driftIntervalMs: 300_000 },
        phase,
        context,
      );
    };
    await pass("d1");
    expect(releases.records.get(1)).toMatchObject({ inputDigest: "d1" });
    await eventually(async () => {
      const live = await cluster.client.get(toObjectRef(workload));
      const conditions = [
        expect.objectContaining({ reason: "MinimumReplicasAvailable" }),
        expect.objectContaining({ reason: "NewReplicaSetAvailable" }),
      ];
      expect(live?.["status"]).toMatchObject({ observedGeneration: 1, conditions: expect.arrayContaining(conditions) as unknown[] });
    });
    await pass("d2");
    expect(releases.records.get(1)).toMatchObject({ inputDigest: "d2", rolledOutAt: expect.any(String) as string });
  });

  test("a failed release is reported even if the failure cannot be recorded", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const releases = new MemoryReleases();
    releases.failures.update = new Error("connection refused");
    const { deps, phase, context } = passOver(cluster.client, x, account.client, releases);
    const lift = await refuseConfigMaps(ns);
    const rendered = { bundle: { ...INSTALLED, explanation: "" }, objects: [configMap("a", ns)], annotations: {} };
    await expect(new ObjectReconciler(deps, phase, context).release(rendered)).rejects.toThrow("not today");
    expect(releases.state).toEqual(["v1 pending-install"]);
    await lift();
  });
});
