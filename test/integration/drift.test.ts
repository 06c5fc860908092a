import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, LABEL_OWNER_NAME } from "../../pkg/api/constants.ts";
import { type JsonObject, type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { getValueAt } from "../../pkg/release/jsonPointer.ts";
import { type AuditEvent, describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { expectProblem } from "../support/problems.ts";
import { SampleWorld } from "../support/sampleWorld.ts";
import type { World } from "../support/world.ts";

/** Long enough that periodic comparisons find nothing: these tests check corrections that watches trigger. */
const DRIFT_INTERVAL = "1h";
const FIGHT_MS = 12_000;
const REQUESTED = "olm.operatorframework.io/reconcile-requested-at";

describeWithPrivateCluster("drift", (cluster, dev) => {
  let sample: SampleWorld;
  let world: World;

  beforeAll(async () => {
    sample = await SampleWorld.start(cluster, DRIFT_INTERVAL);
    world = sample.world;
  });
  afterEach(() => sample.clear());
  afterAll(async () => {
    await world?.stop();
  });

  const toPhrasesRef = (extension: ClusterExtension): ObjectRef => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: getNamespace(extension),
    name: "hello-operator-phrases",
  });
  const patchExtension = (name: string, body: JsonObject): Promise<KubeObject> =>
    cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, body, { type: "merge" });
  const say = (name: string, text: string): Promise<string> => world.problems(name, (problems) => problems.includes(text));

  /** Polls the object at short intervals until `holds` succeeds. @returns the duration in milliseconds. */
  async function measureRepair(ref: ObjectRef, holds: (object: KubeObject | undefined) => void): Promise<number> {
    const started = performance.now();
    await eventually(async () => holds(await cluster.client.get(ref)), { intervalMs: 20, timeoutMs: 60_000 });
    return performance.now() - started;
  }

  async function expectCorrected(extension: ClusterExtension): Promise<number> {
    await cluster.client.delete(toPhrasesRef(extension));
    return measureRepair(toPhrasesRef(extension), (live) => expect(live?.["data"]).toEqual({ greeting: "Hello, %s!" }));
  }

  /** Returns the requests of an extension's installer, for one object or for all. */
  async function listRequests(extension: ClusterExtension, ref?: ObjectRef): Promise<AuditEvent[]> {
    const username = `system:serviceaccount:${getNamespace(extension)}:${extension.spec.serviceAccount?.name ?? ""}`;
    const events = await cluster.auditEvents();
    return events.filter(
      ({ user, objectRef, verb }) =>
        user.username === username &&
        (!ref ||
          (objectRef?.name === ref.name && objectRef.resource === `${ref.kind.toLowerCase()}s` && !["list", "watch"].includes(verb))),
    );
  }

  /** Replaces the rules of the installer in its namespace and in the cluster. */
  async function changeRules(extension: ClusterExtension, change: (rule: PolicyRule) => PolicyRule): Promise<void> {
    const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" };
    const namespace = getNamespace(extension);
    const account = extension.spec.serviceAccount?.name ?? "";
    for (const ref of [
      { ...rbac, kind: "ClusterRole", name: `${namespace}-${account}` },
      { ...rbac, kind: "Role", namespace, name: account },
    ]) {
      const role = await cluster.client.get(ref);
      if (!role) throw new Error(`there is no ${ref.kind} ${ref.name}`);
      await cluster.client.replace({ ...role, rules: (role["rules"] as PolicyRule[]).map(change).filter(({ verbs }) => verbs.length > 0) });
    }
  }

  const print = (times: readonly (readonly [string, number])[]): void =>
    void process.stderr.write(times.map(([what, ms]) => `${what}: repaired in ${Math.round(ms)} ms\n`).join(""));

  test("an object of any kind is corrected when it is deleted or changed, even with permissions for single names only", async () => {
    const extension = await sample.installed("kinds", "1.0.0");
    const rendered = sample.rendered("1.0.0", getNamespace(extension));
    const objects = (await Promise.all(rendered.map((object) => cluster.client.get(toObjectRef(object))))).flatMap(
      (object) => object ?? [],
    );
    expect(objects.map(describeObject).sort()).toEqual(sample.wanted("1.0.0", extension));
    const times: [string, number][] = [];
    for (const object of objects) {
      const ref = toObjectRef(object);
      await cluster.client.patch(ref, { metadata: { labels: { [LABEL_OWNER_NAME]: "somebody" } } }, { type: "merge" });
      const changed = await measureRepair(ref, (live) => expect(live?.metadata.labels?.[LABEL_OWNER_NAME]).toBe("kinds"));
      times.push([`${ref.kind} changed`, changed]);
    }
    for (const object of objects) {
      const ref = toObjectRef(object);
      await cluster.client.delete(ref);
      const deleted = await measureRepair(ref, (live) => {
        expect(live).toBeDefined();
        expect(live?.metadata.uid).not.toBe(object.metadata.uid);
      });
      times.push([`${ref.kind} deleted`, deleted]);
    }
    print(times);
    expect(await sample.releases("kinds")).toEqual(["v1 deployed"]);
    const account = `ServiceAccount ${getNamespace(extension)}/hello-operator`;
    await eventually(async () => {
      const drifted = (await sample.events("kinds")).filter((event) => event.startsWith("Drifted")).join("\n");
      expect(drifted).toContain(`${account} was changed: metadata.labels["olm.operatorframework.io/owner-name"] by `);
      expect(drifted).toContain(`${account} was deleted`);
    });
  });

  test("a changed port number of a Service or container is corrected, or reported with policy Warn and corrected when the policy becomes Correct", async () => {
    const extension = await sample.installed("ports", "1.0.0");
    const namespace = getNamespace(extension);
    const service: ObjectRef = { apiVersion: "v1", kind: "Service", namespace, name: "hello-operator-metrics" };
    const deployment: ObjectRef = { apiVersion: "apps/v1", kind: "Deployment", namespace, name: "hello-operator" };
    const places = [
      [service, "/spec/ports/0/port"],
      [deployment, "/spec/template/spec/containers/0/ports/0/containerPort"],
    ] as const;
    const readPorts = async (): Promise<string> => {
      const found = await Promise.all(
        places.map(async ([ref, path]) => getValueAt(await cluster.client.get(ref), path.split("/").slice(1))),
      );
      return found.join(" ");
    };
    const before = await readPorts();
    const edit = ([ref, path]: (typeof places)[number]): Promise<KubeObject> =>
      cluster.client.patch(ref, [{ op: "replace", path, value: 9999 }], { type: "json", fieldManager: "kubectl-edit" });
    for (const place of places) await edit(place);
    await eventually(async () => expect(await readPorts()).toBe(before));
    const readEvents = (): Promise<string> => sample.events("ports").then((events) => events.join("\n"));
    await eventually(async () =>
      expect(await readEvents()).toContain(`DriftCorrected: corrected objects of bundle "hello-operator.v1.0.0"`),
    );
    const text = `Service ${namespace}/hello-operator-metrics was changed: spec.ports[name=metrics].port by "kubectl-edit"`;
    await eventually(async () => expect(await readEvents()).toContain(text));
    await patchExtension("ports", { spec: { drift: { policy: "Warn" } }, metadata: { annotations: { [REQUESTED]: "now" } } });
    await eventually(async () => expect((await world.extension("ports"))?.status?.lastHandledReconcileAt).toBe("now"));
    await edit(places[0]);
    await eventually(async () => {
      const message = `drift is not corrected because spec.drift.policy is Warn: ${text}`;
      expectProblem((await world.extension("ports"))!, "DriftDetected", { message });
    });
    expect(await readPorts()).not.toBe(before);
    await patchExtension("ports", { spec: { drift: null } });
    await eventually(async () => expect(await readPorts()).toBe(before));
  });

  test("objects are not compared again after an install, and changes of fields that the bundle does not set are ignored", async () => {
    const extension = await sample.installed("once", "1.0.0");
    const phrases = toPhrasesRef(extension);
    const service: ObjectRef = { ...phrases, kind: "Service", name: "hello-operator-metrics" };
    await cluster.client.patch(service, { metadata: { annotations: { "example.com/team": "theirs" } } }, { type: "merge" });
    await expectCorrected(extension);
    const verbs = async (ref: ObjectRef): Promise<string[]> => (await listRequests(extension, ref)).map(({ verb }) => verb);
    // The watch event of a write arrives before the write is recorded.
    await eventually(async () => expect(await verbs(phrases)).toEqual(["get", "patch", "patch", "get", "patch"]));
    expect(await verbs(service)).toEqual(["get", "patch", "patch"]); // read, dry run, apply
    expect((await cluster.client.get(service))?.metadata.annotations?.["example.com/team"]).toBe("theirs");
  });

  test("objects of a kind share a watch when the ServiceAccount may watch the whole kind", async () => {
    const extension = await sample.extension("wide", { version: "1.0.0" });
    await changeRules(extension, () => EVERYTHING);
    await world.apply(extension);
    await world.installed("wide", "1.0.0");
    const lists = async (): Promise<string[]> =>
      (await listRequests(extension)).filter(({ verb }) => verb === "list").map(({ requestURI }) => requestURI);
    await eventually(async () => {
      const roles = (await lists()).filter((uri) => uri.includes("/clusterroles?"));
      expect(roles).toEqual([expect.stringContaining("labelSelector=olm.operatorframework.io%2Fowner-name%3Dwide") as string]);
    });
    print([["with permissions for whole kinds", await expectCorrected(extension)]]);
    const role = sample.rendered("1.0.0", getNamespace(extension)).find(({ kind }) => kind === "ClusterRole")!;
    await cluster.client.delete(toObjectRef(role));
    await measureRepair(toObjectRef(role), (live) => expect(live).toBeDefined());
  });

  test("a missing permission to watch is reported as a problem, and annotation reconcile-requested-at starts a comparison", async () => {
    const extension = await sample.extension("blind", { version: "1.0.0" });
    await changeRules(extension, (rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== "watch" && verb !== "list") }));
    await world.apply(extension);
    await world.installed("blind", "1.0.0");
    await eventually(async () => {
      const message = /^cannot watch .*, so the controller can take up to 60 minutes to notice changes: .*cannot list resource/;
      expectProblem((await world.extension("blind"))!, "DriftUnwatched", { message });
    });
    await cluster.client.delete(toPhrasesRef(extension));
    await patchExtension("blind", { metadata: { annotations: { [REQUESTED]: "now" } } });
    await measureRepair(toPhrasesRef(extension), (live) => expect(live).toBeDefined());
    await eventually(async () => expect((await world.extension("blind"))?.status?.lastHandledReconcileAt).toBe("now"));
  });

  test("an object that another client keeps changing is corrected three times at once and then at growing intervals", async () => {
    const extension = await sample.installed("fight", "1.0.0");
    const phrases = toPhrasesRef(extension);
    const before = (await listRequests(extension, phrases)).length;
    const end = performance.now() + FIGHT_MS;
    let edits = 0;
    while (performance.now() < end) {
      await cluster.client.patch(phrases, { data: { greeting: `edit ${edits++}` } }, { type: "merge" });
    }
    const writes = (await listRequests(extension, phrases)).slice(before).filter(({ verb }) => verb === "patch");
    process.stderr.write(`${edits} edits in ${FIGHT_MS / 1_000} s were answered by ${writes.length} writes\n`);
    expect(writes.length).toBeGreaterThanOrEqual(3);
    expect(writes.length).toBeLessThanOrEqual(5);
    await measureRepair(phrases, (live) => expect(live?.["data"]).toEqual({ greeting: "Hello, %s!" }));
  });

  test("objects are watched again after the API server restarts", async () => {
    const extension = await sample.installed("restart", "1.0.0");
    await dev().restart("kube-apiserver");
    await eventually(() => cluster.client.delete(toPhrasesRef(extension)));
    print([["after a restart of the API server", await measureRepair(toPhrasesRef(extension), (live) => expect(live).toBeDefined())]]);
  });

  test("policy Warn reports drift without correcting it, and policy Ignore watches nothing", async () => {
    const extension = await sample.extension("warn", { version: "1.0.0", channels: ["stable"] });
    await world.apply({ ...extension, spec: { ...extension.spec, drift: { policy: "Warn" } } });
    await world.installed("warn", "1.0.0");
    const phrases = toPhrasesRef(extension);
    await cluster.client.patch(phrases, { data: { greeting: "Hi" } }, { type: "merge", fieldManager: "somebody" });
    const text = `ConfigMap ${getNamespace(extension)}/hello-operator-phrases was changed: data.greeting by "somebody"`;
    const object = { kind: "ConfigMap", namespace: getNamespace(extension), name: "hello-operator-phrases" };
    await eventually(async () => {
      const message = `drift is not corrected because spec.drift.policy is Warn: ${text}`;
      const details = [{ ...object, fields: ["data.greeting"] }];
      expectProblem((await world.extension("warn"))!, "DriftDetected", { message, details });
    });
    await eventually(async () =>
      expect(await sample.events("warn")).toContain(`Drifted: objects of bundle "hello-operator.v1.0.0" drifted: ${text}`),
    );
    expect((await cluster.client.get(phrases))?.["data"]).toEqual({ greeting: "Hi" });
    await cluster.client.patch(phrases, { data: { greeting: "Hello, %s!" } }, { type: "merge", fieldManager: "somebody" });
    await world.condition(CLUSTER_EXTENSION, "warn", (c) => c("Progressing")?.message === "Desired state reached");
    await world.problems("warn", (problems) => problems === "");
    await patchExtension("warn", { spec: { drift: { policy: "Ignore" } } });
    await cluster.client.delete(phrases);
    await patchExtension("warn", { metadata: { annotations: { [REQUESTED]: "now" } } });
    await eventually(async () => expect((await world.extension("warn"))?.status?.lastHandledReconcileAt).toBe("now"));
    expect(await cluster.client.get(phrases)).toBeUndefined();
    await patchExtension("warn", { spec: { drift: { policy: "Correct" } } });
    await measureRepair(phrases, (live) => expect(live).toBeDefined());
    await eventually(() => expectCorrected(extension));
  });

  test("condition Available becomes False at once when a Pod becomes unready", async () => {
    const extension = await sample.installed("ill", "1.0.0");
    await world.condition(CLUSTER_EXTENSION, "ill", (c) => c("Available")?.status === "True");
    await cluster.setPodOutcome(getNamespace(extension), "NotReady");
    await world.condition(CLUSTER_EXTENSION, "ill", (c) => c("Available")?.status === "False");
    await cluster.setPodOutcome(getNamespace(extension), "Ready");
    await world.condition(CLUSTER_EXTENSION, "ill", (c) => c("Available")?.status === "True");
  });

  test("a suspended extension is not reconciled until it resumes, and can be deleted", async () => {
    const extension = await sample.installed("suspended", "1.0.0");
    await patchExtension("suspended", { spec: { suspend: true } });
    await say("suspended", "spec.suspend is true");
    const before = (await listRequests(extension)).filter(({ verb }) => verb !== "watch").length;
    await cluster.client.delete(toPhrasesRef(extension));
    await patchExtension("suspended", { metadata: { annotations: { [REQUESTED]: "1" } } });
    const status = (await world.extension("suspended"))?.status;
    expect(status?.install?.bundle.version).toBe("1.0.0");
    expect(findCondition(status?.conditions, "Progressing")).toMatchObject({ status: "False", reason: "Suspended" });
    await patchExtension("suspended", { spec: { source: { catalog: { version: "1.1.0" } } } });
    await world.condition(CLUSTER_EXTENSION, "suspended", (c, { metadata }) => c("Installed")?.observedGeneration === metadata.generation);
    expect((await listRequests(extension)).filter(({ verb }) => verb !== "watch")).toHaveLength(before);
    await patchExtension("suspended", { spec: { suspend: false } });
    await world.installed("suspended", "1.1.0");
    await patchExtension("suspended", { spec: { suspend: true } });
    await say("suspended", "spec.suspend is true");
    await world.removed(CLUSTER_EXTENSION, "suspended");
    expect(await sample.owned("suspended")).toEqual([]);
  });
});
