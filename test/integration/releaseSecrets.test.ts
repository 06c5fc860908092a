import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, FINALIZER_UNINSTALL } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { assessRelease, type ReleaseVerdict } from "../../pkg/openshift/upgradeable.ts";
import { parseUpgradeTarget } from "../../pkg/openshift/upgradeCheck.ts";
import { handleDeletion } from "../../pkg/operatorcontroller/reconcile/delete.ts";
import { retrieveReleases } from "../../pkg/operatorcontroller/reconcile/retrieveReleases.ts";
import { InstalledReleases } from "../../pkg/operatorcontroller/releases/installedReleases.ts";
import { InstalledSummaryCache } from "../../pkg/operatorcontroller/releases/releaseReader.ts";
import { ReleaseStore, ReleaseUnreadable } from "../../pkg/operatorcontroller/releases/releaseStore.ts";
import { ExtensionCache } from "../../pkg/operatorcontroller/state/extensionCache.ts";
import { getReleases } from "../../pkg/operatorcontroller/state/phases.ts";
import { readExtensions } from "../../pkg/preview/clusterState.ts";
import { getReleaseKey } from "../../pkg/release/storage/encode.ts";
import { readReleaseRows } from "../../pkg/rollout/releaseHistory.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import type { ClusterVersion } from "../../pkg/version/clusterVersion.ts";
import { loadCases } from "../support/caseFiles.ts";
import { describeWithCluster, describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { RecordedEvents } from "../support/extensionFakes.ts";
import { createExtension } from "../support/extensions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { buildStarted, runStep } from "../support/phases.ts";
import { type ReleaseSecretsCase, releaseSecrets } from "../support/releaseSecrets.ts";
import { olmv1 } from "../support/runCli.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
const CLUSTER: ClusterVersion = { kind: "known", text: "4.18.0", minor: { major: 4, minor: 18 } };

describeWithCluster("release Secrets on a real API server", (cluster) => {
  let system = "";
  let store: ReleaseStore;
  let installed: InstalledReleases;
  const ended = new AbortController();

  beforeAll(async () => {
    await cluster.installCrds();
    system = await cluster.namespace("release-secrets");
    const cache = new InstalledSummaryCache();
    const log = createLogger({ component: "test", level: "silent" });
    store = new ReleaseStore(cluster.client, system, cache);
    installed = new InstalledReleases({ client: cluster.client, store, cache, systemNamespace: system, log });
    void installed.run(ended.signal);
    await installed.synced;
  });
  afterAll(() => ended.abort());

  const toOwner = ({ metadata: { name, uid = "" } }: KubeObject): { name: string; uid: string } => ({ name, uid });
  const secretsThere = async (name: string): Promise<string[]> =>
    (await cluster.client.list(SECRET, { namespace: system })).items
      .filter(({ metadata }) => metadata.labels?.["name"] === name)
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
      .sort();

  /** Creates the Secrets of a case for a new extension, and runs `work` while they exist. */
  async function withSecrets(given: ReleaseSecretsCase, work: (extension: ClusterExtension) => Promise<void>): Promise<void> {
    const [created, other] = await Promise.all(
      ["x", "other"].map((name) => cluster.client.create<ClusterExtension>(createExtension(cluster.name(name), { packageName: "p" }))),
    );
    if (!created || !other) throw new Error("no extension");
    const status = given.installed && {
      conditions: [],
      install: { bundle: { name: given.installed, version: `${given.installed.replace("x.v", "")}.0.0` } },
    };
    const extension = status
      ? await cluster.client.patch<ClusterExtension>(toObjectRef(created), { status }, { type: "merge", subresource: "status" })
      : created;
    const secrets = releaseSecrets(given.secrets, toOwner(extension), toOwner(other), system);
    try {
      for (const secret of secrets) await cluster.client.create(secret);
      await work(extension);
    } finally {
      for (const object of [...secrets, extension, other]) await cluster.client.delete(toObjectRef(object));
    }
  }

  const formatVerdict = ({ kind, bundle }: ReleaseVerdict): string => `${kind} ${bundle}`.trim();

  test.for(loadCases<ReleaseSecretsCase>("release-secrets"))("$name", async (given) => {
    const { want } = given;
    await withSecrets(given, async (extension) => {
      const { name, uid = "" } = extension.metadata;
      const before = await secretsThere(name);
      const question = { name, uid, installed: extension.status?.install?.bundle };
      await eventually(() => {
        expect(
          installed
            .listActive([question])
            ?.map((release) => formatVerdict(assessRelease(release, CLUSTER)))
            .toSorted(),
        ).toEqual(want.gate);
      });
      expect(installed.getInstalled(question).kind).toBe(want.dependents);

      const target = parseUpgradeTarget(undefined, CLUSTER);
      const all = await readExtensions(cluster.client, { systemNamespace: system, cluster: CLUSTER, target });
      const { releases = [], unreadable = [] } = all.find((one) => one.extension === name) ?? {};
      const checked = [...releases, ...unreadable.map((reason) => ({ extension: name, reason }))];
      expect(checked.map((release) => formatVerdict(assessRelease(release, CLUSTER))).toSorted()).toEqual(want.gate);

      const rows = await readReleaseRows(cluster.client, extension, system);
      expect(rows.map(({ revision, status }) => `${revision || "-"} ${status}`)).toEqual(want.history);

      const { phase, error } = await runStep(retrieveReleases({ releases: store, memory: new ExtensionCache() }), buildStarted(extension));
      if (want.stops) expect(error).toBeInstanceOf(ReleaseUnreadable);
      else expect(error).toBeUndefined();
      expect(getReleases(phase).installed?.name).toBe(want.installed);

      if (want.stops) {
        expect((await uninstall(extension)).error).toBeInstanceOf(ReleaseUnreadable);
        const run = await olmv1("rollback", name, "--system-namespace", system, "--kubeconfig", cluster.kubeconfig);
        expect([run.code, run.err]).toEqual([
          expect.any(Number),
          expect.stringMatching(/cannot roll back: release secret ".+" cannot be read: /),
        ]);
      }
      expect(await secretsThere(name)).toEqual(before);
    });
  });

  function uninstall(extension: ClusterExtension) {
    const metadata = { ...extension.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [FINALIZER_UNINSTALL] };
    const step = handleDeletion({
      client: cluster.client,
      discovery: cluster.client,
      releases: store,
      managed: { covers: () => false, hasAccount: () => Promise.resolve(false) },
      identities: { clientFor: () => Promise.resolve(cluster.client) },
      events: new RecordedEvents(),
      memory: new ExtensionCache(),
      dependents: { of: () => Promise.resolve([]) },
      now: Date.now,
      created: { release: () => Promise.resolve() },
      forget: () => Promise.resolve(),
    });
    return runStep(step, buildStarted({ ...extension, metadata }));
  }
});

describeWithPrivateCluster("an extension with a release that cannot be read", (cluster) => {
  let world: OperatorWorld;
  const SYSTEM = "olmv1-system";

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { driftIntervalMs: 1_000, maxBackoffMs: 300_000 });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const stray = (name: string): KubeObject => ({
    ...SECRET,
    type: "operatorframework.io/index.v1",
    metadata: {
      name: `copy-of-${name}`,
      namespace: SYSTEM,
      labels: { owner: "operator-controller", type: "index", name, status: "deployed", version: "x" },
    },
    data: { chunk: "", extraChunks: Buffer.from("[]").toString("base64") },
  });
  const deployment = (namespace: string) => ({ apiVersion: "apps/v1", kind: "Deployment", namespace, name: "tiny" });
  const PROBLEM = /release secret "[^"]+" cannot be read: .*\. Restore or delete this Secret/;

  test("an extension with an unreadable release is not upgraded, corrected or uninstalled until the Secret of the release is deleted", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", {}));
    world.bundle("p.v1.1.0", tinyBundle("1.1.0", {}));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    const x = await world.extension("held");
    const namespace = getNamespace(x);
    await world.conditions("held", { Ready: "True/Succeeded" });

    const secret = await cluster.client.create(stray("held"));
    await cluster.client.patch(deployment(namespace), { spec: { replicas: 7 } }, { type: "merge" });
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: ["p.v1.0.0", "p.v1.1.0"],
    });
    const { Progressing = "" } = await world.conditions("held", { Progressing: "True/Retrying", Installed: "True/Succeeded" });
    expect(Progressing).toMatch(PROBLEM);
    expect(Progressing).toContain('"copy-of-held"');
    await world.expectProblem("held", "ReleaseUnreadable", { message: /^release secret "copy-of-held" cannot be read: / });
    const handled = "2026-11-01T00:00:00Z";
    await cluster.client.patch(
      toObjectRef(x),
      { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: handled } } },
      { type: "merge" },
    );
    await world.until("held", ({ status }) => expect(status?.lastHandledReconcileAt).toBe(handled));
    expect((await world.get("held")).status?.install?.bundle.version).toBe("1.0.0");
    expect(await world.releases("held")).toEqual(["v1 deployed", "vx deployed"]);
    expect((await cluster.client.get(deployment(namespace)))?.["spec"]).toMatchObject({ replicas: 7 });

    await cluster.client.delete(toObjectRef(secret));
    await world.until("held", ({ status }) => expect(status?.install?.bundle.version).toBe("1.1.0"));
    await world.conditions("held", { Ready: "True/Succeeded" });

    const again = await cluster.client.create(stray("held"));
    await cluster.client.delete(toObjectRef(x));
    const { Progressing: stopped = "" } = await world.conditions("held", { Progressing: "True/Retrying" });
    expect(stopped).toMatch(PROBLEM);
    expect(await world.releases("held")).toContain("v2 deployed");
    expect(await cluster.client.get(deployment(namespace))).toBeDefined();
    await cluster.client.delete(toObjectRef(again));
    await world.gone("held");
    expect(await cluster.client.get(deployment(namespace))).toBeUndefined();
  });

  test("an extension keeps status.install when its only release is damaged, and resumes when the release is restored", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", {}));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    const x = await world.extension("damaged");
    await world.conditions("damaged", { Ready: "True/Succeeded" });
    const ref = { ...SECRET, namespace: SYSTEM, name: getReleaseKey("damaged", 1) };
    const before = await cluster.client.get(ref);
    await cluster.client.patch(ref, { data: { chunk: Buffer.from("damaged").toString("base64") } }, { type: "merge" });
    await cluster.client.patch(toObjectRef(x), { spec: { progressDeadlineMinutes: 20 } }, { type: "merge" });
    await world.conditions("damaged", { Installed: "Unknown/Failed", ClusterUpgradeBlocked: "True/ReleasesUnreadable" });
    expect((await world.get("damaged")).status).toMatchObject({ install: { bundle: { name: "p.v1.0.0" } }, inventory: { count: 1 } });
    await cluster.client.patch(ref, { data: before?.["data"] }, { type: "merge" });
    await world.conditions("damaged", { Ready: "True/Succeeded", Installed: "True/Succeeded" });
    expect(await world.releases("damaged")).toEqual(["v1 deployed"]);
    expect((await world.get("damaged")).status?.conditions?.map(({ type }) => type)).not.toContain("ClusterUpgradeBlocked");
    await world.remove("damaged");
  });

  test("a suspended extension keeps status.install when its release is deleted, and is installed again when it resumes", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", {}));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    const x = await world.extension("lost");
    await world.conditions("lost", { Ready: "True/Succeeded" });
    await cluster.client.patch(toObjectRef(x), { spec: { suspend: true } }, { type: "merge" });
    await world.conditions("lost", { Progressing: "False/Suspended" });
    await cluster.client.delete({ ...SECRET, namespace: SYSTEM, name: getReleaseKey("lost", 1) });
    await cluster.client.patch(toObjectRef(x), { metadata: { annotations: { again: "1" } } }, { type: "merge" });
    await world.conditions("lost", { Installed: "Unknown/Failed", ClusterUpgradeBlocked: "True/ReleasesUnreadable" });
    expect((await world.get("lost")).status?.install?.bundle.name).toBe("p.v1.0.0");
    await cluster.client.patch(toObjectRef(x), { spec: { suspend: false } }, { type: "merge" });
    await world.conditions("lost", { Ready: "True/Succeeded", Installed: "True/Succeeded" });
    expect((await world.get("lost")).status?.conditions?.map(({ type }) => type)).not.toContain("ClusterUpgradeBlocked");
    await world.remove("lost");
  });
});
