import { beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { KubeError } from "../../pkg/kube/errors.ts";
import { ObjectReconciler } from "../../pkg/operatorcontroller/apply/objectReconciler.ts";
import { ObjectWatches } from "../../pkg/operatorcontroller/watches/objectWatches.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { INSTALLED, type PassParts, passOver } from "../support/applyPasses.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";
import { MemoryReleases } from "../support/extensionFakes.ts";
import { FakeClock } from "../support/fakeClock.ts";
import { type LoneExtension, loneExtension, prepareObjectsFor } from "../support/loneExtension.ts";
import { configMap, releaseRecord } from "../support/releases.ts";

/** Permission to watch one ConfigMap. */
const createWatchRule = (name: string): PolicyRule => ({
  apiGroups: [""],
  resources: ["configmaps"],
  resourceNames: [name],
  verbs: ["list", "watch"],
});

type DriftSpec = NonNullable<ClusterExtension["spec"]["drift"]>;

describeWithCluster("drift policies on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  const deployment = (namespace: string): KubeObject => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", namespace, annotations: { "example.com/theme": "dark" } },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "d" } },
      template: { metadata: { labels: { app: "d" } }, spec: { containers: [{ name: "c", image: "i:1" }] } },
    },
  });

  /** Creates objects of an extension as a deployed release applied them; runs reconciles with a drift spec. */
  async function install(objectsIn: (ns: string) => KubeObject[]) {
    const lone: LoneExtension = await loneExtension(cluster);
    const { x, ns, account } = lone;
    const rendered = objectsIn(ns);
    const releases = new MemoryReleases();
    const first = passOver(cluster.client, x, account.client, releases);
    first.phase.releases.installed = undefined;
    await new ObjectReconciler(first.deps, first.phase, first.context).release({
      bundle: { ...INSTALLED, explanation: "" },
      objects: rendered,
      annotations: {},
    });
    const maintain = async (drift: DriftSpec): Promise<PassParts> => {
      const parts = passOver(cluster.client, { ...x, spec: { ...x.spec, drift } }, account.client, releases);
      await new ObjectReconciler(parts.deps, parts.phase, parts.context).maintain();
      return parts;
    };
    const live = (i = 0): Promise<KubeObject | undefined> => cluster.client.get(toObjectRef(rendered[i]!));
    const edit = (body: object, fieldManager = "somebody", i = 0): Promise<KubeObject> =>
      cluster.client.patch(toObjectRef(rendered[i]!), body, { type: "merge", fieldManager });
    return { ...lone, rendered, releases, maintain, live, edit };
  }

  test("drift correction keeps fields of other managers: a restart by kubectl, labels, a sidecar and data", async () => {
    const { ns, maintain, live, edit } = await install((namespace) => [deployment(namespace)]);
    const restarted = { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" };
    await edit({ metadata: { labels: { team: "theirs" } }, spec: { template: { metadata: { annotations: restarted } } } });
    const sidecar = { spec: { template: { spec: { containers: [{ name: "sidecar", image: "s:1" }] } } } };
    await cluster.client.patch({ apiVersion: "apps/v1", kind: "Deployment", name: "d", namespace: ns }, sidecar, {
      type: "strategic",
      fieldManager: "injector",
    });
    const before = await live();
    const { events } = await maintain({ policy: "Correct" });
    expect(events.seen).toEqual([]);
    const after = await live();
    expect([after?.["spec"], after?.metadata.labels]).toEqual([before?.["spec"], before?.metadata.labels]);
  });

  test("drift correction reports nothing when an old API server drops a field", async () => {
    const spec = { ports: [{ port: 80 }], trafficDistribution: "PreferClose" }; // since Kubernetes 1.31
    const { maintain, live } = await install((namespace) => [
      { apiVersion: "v1", kind: "Service", metadata: { name: "s", namespace }, spec },
    ]);
    const before = await live();
    for (const policy of ["Correct", "Warn"] as const) expect((await maintain({ policy })).events.seen).toEqual([]);
    expect(await live()).toEqual(before);
  });

  // S0-090: the cluster fills a ConfigMap that the bundle leaves empty.
  test("drift correction keeps trusted certificates that the cluster writes into a ConfigMap", async () => {
    const labels = { "config.openshift.io/inject-trusted-cabundle": "true" };
    const { maintain, live, edit, releases, x, account, rendered } = await install((namespace) => [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "trusted-ca", namespace, labels } },
    ]);
    await edit({ data: { "ca-bundle.crt": "PEM" } }, "cluster-network-operator");
    expect((await maintain({ policy: "Correct" })).events.seen).toEqual([]);
    expect((await live())?.["data"]).toEqual({ "ca-bundle.crt": "PEM" });
    await edit({ metadata: { labels: { "config.openshift.io/inject-trusted-cabundle": "false" } } });
    await maintain({ policy: "Correct" });
    expect(await live()).toMatchObject({ metadata: { labels }, data: { "ca-bundle.crt": "PEM" } });
    const upgrade = passOver(cluster.client, x, account.client, releases);
    const more = { ...rendered[0]!, metadata: { ...rendered[0]!.metadata, annotations: { version: "2" } } };
    await new ObjectReconciler(upgrade.deps, upgrade.phase, upgrade.context).release({
      bundle: { ...INSTALLED, name: "p.v2.0.0", version: "2.0.0", explanation: "" },
      objects: [more],
      annotations: {},
    });
    expect(await live()).toMatchObject({ metadata: { annotations: { version: "2" } }, data: { "ca-bundle.crt": "PEM" } });
  });

  test("a changed field is corrected and reported with its path and the manager that changed it, without its value", async () => {
    const { ns, maintain, live, edit } = await install((namespace) => [
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace }, data: { password: "b3Vycw==" } },
    ]);
    await edit({ data: { password: "dGhlaXJz" } }, "kubectl-edit");
    const { events } = await maintain({ policy: "Correct" });
    expect(events.seen).toEqual([
      `Warning Drifted: objects of bundle "p.v1.0.0" drifted: Secret ${ns}/s was changed: data.password by "kubectl-edit"`,
      `Normal DriftCorrected: corrected objects of bundle "p.v1.0.0": Secret ${ns}/s (updated)`,
    ]);
    expect((await live())?.["data"]).toEqual({ password: "b3Vycw==" });
  });

  test.for([
    {
      what: "another manager changes a field of the bundle",
      interfere: (ref: ObjectRef) => cluster.client.patch(ref, { data: { k: "theirs" } }, { type: "merge", fieldManager: "somebody" }),
      reported: "was changed during the comparison",
    },
    {
      what: "another client deletes the object",
      interfere: (ref: ObjectRef) => cluster.client.delete(ref),
      reported: "was deleted during the comparison",
    },
    {
      what: "another manager adds a field",
      interfere: (ref: ObjectRef) => cluster.client.patch(ref, { data: { other: "theirs" } }, { type: "merge", fieldManager: "somebody" }),
      reported: undefined,
    },
    { what: "nothing changes", interfere: () => Promise.resolve(), reported: undefined },
  ])(
    "drift correction reports a change during the comparison only if it affects the bundle's fields: $what",
    async ({ interfere, reported }) => {
      const { ns, x, account, releases, live, rendered } = await install((namespace) => [configMap("a", namespace, { k: "v" })]);
      const appliedAt = (await live())?.metadata.managedFields?.map(({ time }) => Date.parse(String(time))) ?? [];
      await eventually(() => Promise.resolve(expect(Date.now()).toBeGreaterThan(Math.max(...appliedAt) + 1_000))); // times have a resolution of one second
      const parts = passOver(cluster.client, { ...x, spec: { ...x.spec, drift: { policy: "Correct" } } }, account.client, releases);
      const scoped = account.client.guardedBy(() => undefined);
      const apply = scoped.apply.bind(scoped);
      scoped.apply = async (object, options) => {
        await interfere(toObjectRef(rendered[0]!));
        return apply(object, options);
      };
      await new ObjectReconciler(parts.deps, { ...parts.phase, client: scoped }, parts.context).maintain();
      expect(await live()).toMatchObject({ data: { k: "v" } });
      const events = [
        `Warning Drifted: objects of bundle "p.v1.0.0" drifted: ConfigMap ${ns}/a ${reported}`,
        `Normal DriftCorrected: corrected objects of bundle "p.v1.0.0": ConfigMap ${ns}/a (updated)`,
      ];
      expect(parts.events.seen).toEqual(reported === undefined ? [] : events);
    },
  );

  test("policy Warn writes nothing, and reports the drift in an Event and a problem", async () => {
    const { ns, maintain, live, edit, rendered } = await install((namespace) => [
      configMap("a", namespace, { k: "v" }),
      configMap("b", namespace),
    ]);
    const edited = await edit({ data: { k: "theirs" } });
    await cluster.client.delete(toObjectRef(rendered[1]!));
    const { events, phase } = await maintain({ policy: "Warn" });
    const texts = `ConfigMap ${ns}/a was changed: data.k by "somebody", ConfigMap ${ns}/b was deleted`;
    expect(events.seen).toEqual([`Warning Drifted: objects of bundle "p.v1.0.0" drifted: ${texts}`]);
    expect(phase.report.problems.map(({ message }) => message)).toEqual([
      `drift is not corrected because spec.drift.policy is Warn: ${texts}`,
    ]);
    expect((await live())?.metadata.resourceVersion).toBe(edited.metadata.resourceVersion);
    expect(await live(1)).toBeUndefined();
  });

  test("policy Ignore compares nothing", async () => {
    const { maintain, live, edit } = await install((namespace) => [configMap("a", namespace, { k: "v" })]);
    await edit({ data: { k: "theirs" } });
    const { events, phase } = await maintain({ policy: "Ignore" });
    expect([events.seen, phase.report.problems.map(({ message }) => message), phase.changes.began]).toEqual([[], [], undefined]);
    expect((await live())?.["data"]).toEqual({ k: "theirs" });
  });

  test("ignored fields keep the values of other managers, even in upgrades, and the remaining fields are corrected", async () => {
    const { x, account, releases, maintain, live, edit, rendered } = await install((namespace) => [deployment(namespace)]);
    const drift: DriftSpec = {
      ignore: [{ paths: ["/spec/replicas", "/metadata/annotations/example.com~1theme"], target: { group: "apps", kind: "Deployment" } }],
    };
    expect((await maintain(drift)).events.seen).toEqual([]);
    await edit({ spec: { replicas: 3, paused: true }, metadata: { annotations: { "example.com/theme": "light" } } }, "hpa");
    await edit({ spec: { selector: { matchLabels: { app: "d" } }, template: { spec: { containers: [{ name: "c", image: "i:9" }] } } } });
    const { events } = await maintain(drift);
    expect(events.seen[0]).toContain('was changed: spec.template.spec.containers[name=c].image by "somebody"');
    expect(events.seen[0]).not.toContain("replicas");
    const { spec, metadata } = (await live()) as KubeObject & { spec: { replicas: number } };
    expect([spec.replicas, metadata.annotations?.["example.com/theme"]]).toEqual([3, "light"]);
    const upgrade = passOver(cluster.client, { ...x, spec: { ...x.spec, drift } }, account.client, releases);
    const next = { ...rendered[0]!, spec: { ...(rendered[0]!["spec"] as object), replicas: 2, minReadySeconds: 5 } };
    await new ObjectReconciler(upgrade.deps, upgrade.phase, upgrade.context).release({
      bundle: { ...INSTALLED, name: "p.v2.0.0", version: "2.0.0", explanation: "" },
      objects: [next],
      annotations: {},
    });
    expect((await live())?.["spec"]).toMatchObject({ replicas: 3, minReadySeconds: 5 });
    await cluster.client.delete(toObjectRef(rendered[0]!));
    await maintain(drift);
    expect((await live())?.["spec"]).toMatchObject({ replicas: 2 });
  });

  test("a newly ignored field keeps its value, although no other manager owns it", async () => {
    const { maintain, live, edit } = await install((namespace) => [deployment(namespace)]);
    const drift: DriftSpec = { ignore: [{ paths: ["/metadata/annotations"], target: { kind: "Deployment", name: "d" } }] };
    await maintain(drift);
    expect((await live())?.metadata.annotations?.["example.com/theme"]).toBe("dark");
    await edit({ metadata: { annotations: { "example.com/theme": null } } });
    await maintain(drift);
    expect((await live())?.metadata.annotations?.["example.com/theme"]).toBeUndefined();
  });

  test("only objects that cannot be watched are compared once per interval", async () => {
    const { x, account, releases, rendered, live } = await install((namespace) => [configMap("a", namespace), configMap("b", namespace)]);
    await account.grant([{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "patch", "create"] }, createWatchRule("b")]);
    const parts = passOver(cluster.client, x, account.client, releases);
    const watches = new ObjectWatches({ log: parts.context.log, requeueAfter: () => undefined, retryRefusedMs: 60_000 });
    try {
      const maintain = (seconds: number): Promise<void> =>
        new ObjectReconciler({ ...parts.deps, now: () => seconds * 1_000, watches }, parts.phase, parts.context).maintain();
      await maintain(1_000);
      const listUnwatched = (): string[] => watches.unwatched(x.metadata.name).map(({ ref }) => ref.name);
      await eventually(() => expect([watches.states.open, listUnwatched()]).toEqual([1, ["a"]]));
      const before = await live(1);
      await cluster.client.delete(toObjectRef(rendered[0]!));
      await maintain(1_059);
      expect(await live()).toBeUndefined();
      expect(parts.phase.report.problems.map(({ message }) => message).join()).toMatch(
        /^cannot watch ConfigMap \S+\/a, so the controller can take up to 1 minute to notice changes: .* cannot list/,
      );
      await maintain(1_061);
      expect(await live()).toBeDefined();
      expect(await live(1)).toEqual(before);
      expect(parts.memory.of(x)).toMatchObject({ comparedAt: 1_000_000, checkedAt: 1_061_000 });
    } finally {
      watches.close();
    }
  });

  test("a change is compared after its delay even when another reconcile runs first", async () => {
    const { x, ns, account, releases, edit } = await install((namespace) => [configMap("a", namespace, { k: "v", l: "w" })]);
    const drift: DriftSpec = { policy: "Warn" };
    const parts = passOver(cluster.client, { ...x, spec: { ...x.spec, drift } }, account.client, releases);
    const clock = new FakeClock();
    const woken: number[] = [];
    const watches = new ObjectWatches({
      log: parts.context.log,
      clock,
      requeueAfter: (_extension, inMs) => woken.push(inMs),
      retryRefusedMs: 60_000,
    });
    try {
      const { deps, phase, context } = parts;
      const maintain = (): Promise<void> => new ObjectReconciler({ ...deps, watches }, phase, context).maintain();
      await maintain();
      await eventually(() => expect(watches.states.open).toBe(1));
      await edit({ data: { k: "theirs" } });
      await eventually(() => expect(woken).toEqual([50]));
      await maintain();
      await edit({ data: { l: "theirs" } });
      await eventually(() => expect(woken).toEqual([50, 5_000]));
      clock.advance(1_000);
      await maintain();
      expect(woken).toEqual([50, 5_000, 4_000]);
      clock.advance(4_000);
      await maintain();
      const changed = `Warning Drifted: objects of bundle "p.v1.0.0" drifted: ConfigMap ${ns}/a was changed: data.k by "somebody"`;
      expect(parts.events.seen).toEqual([changed, `${changed}, data.l by "somebody"`]);
    } finally {
      watches.close();
    }
  });

  test.for(["get", "resourceFor"])(
    "drift from before an adoption, and nothing else, is reported when the comparison after the adoption failed: %s",
    async (failing) => {
      const { x, ns, account, releases, edit, rendered } = await install((namespace) => [configMap("a", namespace, { k: "v" })]);
      const [deployed] = releases.now().current;
      // Objects of the Go operator-controller have fewer labels, so that an adoption writes a new release.
      const recorded = deployed!.objects.map((object) => ({ ...object, metadata: { ...object.metadata, labels: { recorded: "by-go" } } }));
      releases.records.set(1, { ...deployed!, objects: recorded });
      await edit({ data: { k: "theirs" } });
      const failures = [new KubeError("busy", { status: 503, reason: "ServiceUnavailable" })];
      const failAfterAdoption = (client: Client): Client =>
        new Proxy(client, {
          get: (target, member): unknown => {
            const value: unknown = Reflect.get(target, member);
            if (typeof value !== "function") return value;
            return (...args: unknown[]): unknown => {
              const failure = member === failing && releases.state.includes("v2 deployed") ? failures.pop() : undefined;
              return failure ? Promise.reject(failure) : Reflect.apply(value, target, args);
            };
          },
        });
      const { deps, phase, events, context } = passOver(failAfterAdoption(cluster.client), x, failAfterAdoption(account.client), releases);
      const watches = new ObjectWatches({ log: context.log, requeueAfter: () => undefined, retryRefusedMs: 60_000 });
      const rendering = { bundle: { ...INSTALLED, explanation: "" }, objects: rendered, annotations: {}, inputDigest: "1" };
      const release = async (): Promise<void> => {
        phase.releases.history = releases.now();
        await new ObjectReconciler({ ...deps, watches }, phase, context).release(rendering);
      };
      try {
        await expect(release()).rejects.toThrow("busy");
        // Open watches, if there are any, would not report drift from before they were opened.
        await eventually(() => expect(watches.states.starting).toBe(0));
        await release();
        await eventually(() => expect(watches.states.open).toBe(1));
        const drift = `ConfigMap ${ns}/a was changed: data.k by "somebody"`;
        const drifted = events.seen.filter((text) => text.startsWith("Warning Drifted"));
        expect(drifted).toEqual([expect.stringMatching(`^Warning Drifted: objects of bundle "p.v1.0.0" drifted: ${drift};`)]);
        expect(phase.report.problems.map(({ message }) => message)).toEqual([expect.stringMatching(`: ${drift}$`)]);
      } finally {
        watches.close();
      }
    },
  );

  test("an object without a namespace in its stored release is compared with the object in the installed namespace", async () => {
    const { x, ns, account } = await loneExtension(cluster);
    const objects = prepareObjectsFor(x, [configMap("a", ns, { k: "v" })]);
    const { namespace: _left, ...metadata } = objects[0]!.metadata;
    const releases = new MemoryReleases(releaseRecord(1, "deployed", { name: ns, objects: [{ ...objects[0]!, metadata }] }));
    const { deps, phase, context } = passOver(cluster.client, x, account.client, releases);
    await new ObjectReconciler(deps, phase, context).maintain();
    expect(await cluster.client.get(toObjectRef(objects[0]!))).toBeDefined();
  });
});
