import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandTerminal } from "../../cmd/olmv1/cli/terminal.ts";
import { runCommandLine } from "../../cmd/olmv1/program.ts";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { type JsonObject, type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { CONVERSION_STEPS } from "../../pkg/api/migration.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { ClassicOlm } from "../support/classicOlm.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import type { Ended } from "../support/runCli.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { webhook } from "../support/webhookBundle.ts";

const NAMESPACE = "operators";
const EXTENSION: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "hello" };
const THINGS = thingDefinition("classic.example.com");
/** Versions that the operator's webhook converts between. */
const CONVERTED = thingDefinition("converted.example.com");
const PERMISSIONS = [
  { serviceAccountName: "tiny-operator", rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }] },
];
const OBJECTS: KubeObject[] = [
  THINGS,
  CONVERTED,
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "metrics" },
    spec: { selector: { app: "tiny" }, ports: [{ name: "http", port: 8080, protocol: "TCP", targetPort: 8080 }] },
  },
];
const buildBundle = (version: string): Record<string, string> =>
  tinyBundle(version, {
    objects: OBJECTS,
    permissions: PERMISSIONS,
    properties: '[{"type":"olm.maxOpenShiftVersion","value":"9.9"}]',
    spec: {
      webhookdefinitions: [
        webhook(),
        {
          ...webhook({ generateName: "convert.tiny.example.com", type: "ConversionWebhook", conversionCRDs: [CONVERTED.metadata.name] }),
          rules: undefined,
        },
      ],
      customresourcedefinitions: {
        owned: [THINGS, CONVERTED].map(({ metadata }) => ({ name: metadata.name, version: "v1", kind: "Thing" })),
      },
    },
  });
const VERSIONS = ["1.0.0", "1.1.0"];
const CATALOG = [
  { schema: "olm.package", name: "p", defaultChannel: "stable" },
  { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
  ...VERSIONS.map((version) => ({
    schema: "olm.bundle",
    package: "p",
    name: `p.v${version}`,
    image: `registry.example/p:v${version}`,
    properties: [{ type: "olm.package", value: { packageName: "p", version } }],
  })),
];
const classic = (kind: string, name: string, version = "v1alpha1"): ObjectRef => ({
  apiVersion: `operators.coreos.com/${version}`,
  kind,
  namespace: NAMESPACE,
  name,
});
const SUBSCRIPTION = classic("Subscription", "hello");
const CSV = classic("ClusterServiceVersion", "p.v1.0.0");
const COPY = { ...CSV, namespace: "default" };
const GROUP = classic("OperatorGroup", "global", "v1");
const CONDITION = classic("OperatorCondition", "p.v1.0.0", "v2");
const PLAN = classic("InstallPlan", "install-abcde");
const OPERATOR: ObjectRef = { apiVersion: "operators.coreos.com/v1", kind: "Operator", name: `p.${NAMESPACE}` };
const DEPLOYMENT: ObjectRef = { apiVersion: "apps/v1", kind: "Deployment", namespace: NAMESPACE, name: "tiny" };
const OLD_ROLE: ObjectRef = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "p.v1.0.0-x7k2p" };

/** Slow intervals only: the garbage collector needs up to 15 seconds to discover new definitions. */
const PROGRESS = /^(olmv1: .* \(\d+ s\)\n)*$/;

// Source: D-26.
describeWithPrivateCluster("a Subscription of OLM v0", (cluster) => {
  let world: OperatorWorld;
  let olm: AsyncDisposable;
  let dir: string;

  /** Runs `olmv1 migrate`; `onLine` receives each line when it is printed. */
  const migrate = async (
    args: readonly string[],
    onLine: (text: string, stop: AbortController) => void = () => undefined,
  ): Promise<Ended> => {
    const [verb = "", ...rest] = args;
    const ended = { out: "", err: "" };
    const stop = new AbortController();
    const terminal = new CommandTerminal({
      out: (text) => {
        ended.out += text;
        onLine(text, stop);
      },
      err: (text) => void (ended.err += text),
      signal: stop.signal,
      width: 200,
    });
    const reading = ["--registries-conf", join(dir, "registries.conf"), "--catalog-dir", `c=${join(dir, "catalog.json")}`];
    const all = [
      "migrate",
      verb,
      ...rest,
      "--kubeconfig",
      cluster.kubeconfig,
      ...(verb === "check" || verb === "convert" ? reading : []),
      ...(verb === "catalogs" ? reading.slice(0, 2) : []),
    ];
    return { code: await runCommandLine(all, terminal), ...ended };
  };
  const there = async (...refs: ObjectRef[]): Promise<boolean[]> =>
    Promise.all(refs.map(async (ref) => (await cluster.client.get(ref)) !== undefined));
  /** Returns everything that must not change: identity of the workload, its Pods, the definition with a custom resource, and other objects of the bundle. */
  const running = async (): Promise<string[]> => {
    const refs: ObjectRef[] = [
      DEPLOYMENT,
      toObjectRef(THINGS),
      { apiVersion: "v1", kind: "Service", namespace: NAMESPACE, name: "metrics" },
      { apiVersion: "v1", kind: "ServiceAccount", namespace: NAMESPACE, name: "tiny-operator" },
      { apiVersion: "classic.example.com/v1", kind: "Thing", namespace: NAMESPACE, name: "mine" },
    ];
    const objects = await Promise.all(refs.map((ref) => cluster.client.get(ref)));
    const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: NAMESPACE });
    return [...objects, ...items].map(
      (object) => `${object?.kind} ${object?.metadata.name} ${object?.metadata.uid} ${object?.metadata.generation}`,
    );
  };
  const everything = async (): Promise<string[]> => {
    const refs = [DEPLOYMENT, SUBSCRIPTION, CSV, GROUP, toObjectRef(THINGS), OLD_ROLE];
    return Promise.all(refs.map(async (ref) => (await cluster.client.get(ref))?.metadata.resourceVersion ?? "absent"));
  };

  beforeAll(async () => {
    const classicOlm = new ClassicOlm(cluster.client);
    await classicOlm.serve();
    world = await OperatorWorld.start(cluster);
    dir = await mkdtemp(join(tmpdir(), "olmv1-migrate-"));
    await writeFile(join(dir, "catalog.json"), CATALOG.map((meta) => JSON.stringify(meta)).join("\n"));
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host, "registry.example"));
    for (const version of VERSIONS) {
      const files = Object.entries(buildBundle(version)).map(([path, text]) => [path, new TextEncoder().encode(text)] as const);
      const { digest } = await pushImage(cluster.registry, "p", `v${version}`, { files: new Map(files) });
      world.bundle(`p:v${version}`, buildBundle(version), digest);
    }
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: VERSIONS.map((version) => ({ name: `p.v${version}`, image: `registry.example/p:v${version}` })),
    });
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    await classicOlm.install({ namespace: NAMESPACE, packageName: "p", version: "1.0.0", files: buildBundle("1.0.0") });

    olm = classicOlm.run();
    await eventually(() =>
      cluster.client.create({ apiVersion: "classic.example.com/v1", kind: "Thing", metadata: { name: "mine", namespace: NAMESPACE } }),
    );
    await eventually(async () => expect((await cluster.client.get(DEPLOYMENT))?.["status"]).toMatchObject({ readyReplicas: 1 }));
  });
  afterAll(async () => {
    await olm?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  test("olmv1 migrate check prints that a Subscription is eligible, and the resulting ClusterExtension", async () => {
    const { code, out, err } = await migrate(["check"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("operators/hello: Eligible\n  note: the conversion replaces the certificates of the webhooks");
    expect(out).toContain("  becomes ClusterExtension hello in namespace operators: version 1.0.0 of package p from ClusterCatalog c\n");
  });

  test("olmv1 migrate convert --dry-run prints all steps and changes nothing", async () => {
    const before = await everything();
    const { code, out, err } = await migrate(["convert", "hello", "-n", NAMESPACE]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("no Pod restarts");
    expect(out).toMatch(/Adopted unchanged \(7\):(\n  .*)*\n  Secret operators\/tiny-service-cert\n/);
    expect(out).toContain("  ClusterRole p.v1.0.0-x7k2p\n");
    expect(await everything()).toEqual(before);
    expect(out).toContain("/spec/template/metadata/annotations/olm.properties");
    expect(await there(EXTENSION)).toEqual([false]);
    const { clusterExtension, objects } = JSON.parse((await migrate(["convert", "hello", "-o", "json"])).out) as {
      clusterExtension: ClusterExtension;
      objects: { kind: string; action: string; restarts: boolean }[];
    };
    expect(clusterExtension.spec.drift?.ignore).toHaveLength(1);
    expect(objects.find(({ kind }) => kind === "Deployment")).toMatchObject({ action: "keep", restarts: false });
  });

  test("olmv1 migrate convert --all prints one table of all Subscriptions and their ClusterExtensions", async () => {
    const before = await everything();
    const lonely = {
      ...SUBSCRIPTION,
      metadata: { name: "lonely", namespace: NAMESPACE },
      spec: { name: "q", source: "c", sourceNamespace: "olm" },
    };
    await cluster.client.create(lonely, { fieldManager: "test" });
    const { code, out, err } = await migrate(["convert", "--all"]);
    expect([code, err]).toEqual([1, ""]);
    expect(out).toMatch(
      /^operators +hello +Eligible +becomes ClusterExtension hello: 7 objects adopted, 3 created, 4 left, no Pod restarts$/m,
    );
    expect(out).toMatch(/^operators +lonely +Ineligible +NotInstalled: the Subscription has not installed anything/m);
    expect(out).toContain("1 Eligible, 1 Ineligible\n");
    expect((await migrate(["convert", "--all", "-n", "default"])).out).toBe("no Subscriptions found\n");
    await cluster.client.delete(toObjectRef(lonely));
    expect(await everything()).toEqual(before);
    expect(await there(EXTENSION)).toEqual([false]);
  });

  test("olmv1 migrate catalogs converts the CatalogSources of Subscriptions", async () => {
    const image = "registry.example/catalog";
    const labels = { "operators.operatorframework.io.index.configs.v1": "/configs" };
    const older = CATALOG.filter(({ name }) => name !== "p.v1.0.0").map((meta) =>
      meta.schema === "olm.channel" ? { ...meta, entries: [{ name: "p.v1.1.0" }] } : meta,
    );
    for (const [tag, metas] of [
      ["full", CATALOG],
      ["older", older],
    ] as const) {
      const content = metas.map((meta) => JSON.stringify(meta)).join("\n");
      await pushImage(cluster.registry, "catalog", tag, { labels, files: new Map([["configs/p.json", Buffer.from(content)]]) });
    }
    const source = (name: string, spec: JsonObject): KubeObject => ({
      ...classic("CatalogSource", name),
      metadata: { name, namespace: "olm" },
      spec,
    });
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "olm" } });
    const poll = { updateStrategy: { registryPoll: { interval: "10m" } } };
    await cluster.client.create(source("c", { sourceType: "grpc", image: `${image}:full`, priority: -5, secrets: ["pull"], ...poll }));
    await cluster.client.create(source("remote", { sourceType: "grpc", address: "catalog.example:50051" }));
    const dry = await migrate(["catalogs"]);
    expect([dry.code, dry.err]).toEqual([1, ""]);
    expect(dry.out).toMatch(/^olm +c +Conflict$/m); // the world has a ClusterCatalog of that name
    expect(dry.out).toMatch(/^olm +remote +Refused$/m);
    expect(dry.out).toContain("no image is set, only the address catalog.example:50051 of a server\n");
    const named = await migrate(["catalogs", "c", "-n", "olm", "--name", "from-classic"]);
    expect([named.code, named.err]).toEqual([0, ""]);
    expect(named.out).toContain("note: pull secrets are not migrated: olm/pull.");
    expect(named.out).toContain(`ref: ${image}:full\n      pollIntervalMinutes: 10\n  priority: -5\n`);
    expect(named.out).not.toContain("the image does not contain");
    await cluster.client.patch(toObjectRef(source("c", {})), { spec: { image: `${image}:older` } }, { type: "merge" });
    const lacking = await migrate(["catalogs", "c", "--name", "from-classic"]);
    expect(lacking.out).toContain('the image does not contain "p.v1.0.0", version 1.0.0, which Subscription operators/hello installed');
    const ref = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "from-classic" };
    expect(await there(ref)).toEqual([false]);
    const created = await migrate(["catalogs", "c", "--name", "from-classic", "--yes", "--timeout", "1s"]);
    expect([created.code, created.out]).toEqual([1, expect.stringContaining("created but not served")]); // no catalogd runs here
    expect((await cluster.client.get(ref))?.["spec"]).toMatchObject({ priority: -5, source: { image: { pollIntervalMinutes: 10 } } });
    expect((await migrate(["catalogs", "c"])).out).toContain('ClusterCatalog "from-classic" already has the same image');
    await cluster.client.delete(ref);
  });

  test("olmv1 migrate reports an unknown Subscription or ServiceAccount", async () => {
    const unknown = await migrate(["check", "nobody"]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('no Subscription "nobody" found in this cluster')]);
    const withoutAccount = await migrate(["convert", "hello", "--yes"]);
    expect([withoutAccount.code, withoutAccount.err]).toEqual([2, expect.stringContaining("--create-service-account")]);
    const asOther = await migrate(["convert", "hello", "--service-account", "nobody", "--yes"]);
    expect([asOther.code, asOther.out]).toEqual([1, expect.stringContaining("ServiceAccount operators/nobody does not exist")]);
    const { items } = JSON.parse((await migrate(["check", "-o", "json"])).out) as { items: { state: string; approval: string }[] };
    expect(items).toMatchObject([{ state: "Eligible", approval: "Automatic" }]);
    expect(await there(EXTENSION, SUBSCRIPTION)).toEqual([false, true]);
  });

  test("olmv1 migrate convert and its rollback do not change the running objects", async () => {
    const before = await running();
    const backup = join(dir, "backup.yaml");
    const converted = await migrate(["convert", "hello", "-n", NAMESPACE, "--create-service-account", "--yes", "--backup", backup]);
    expect([converted.code, converted.err]).toEqual([0, expect.stringMatching(PROGRESS)]);
    expect(await running()).toEqual(before);
    expect(await there(SUBSCRIPTION, CSV, GROUP, OLD_ROLE)).toEqual([false, false, true, true]);
    expect(await readFile(backup, "utf8")).toMatch(/kind: OperatorGroup[^]*kind: ClusterServiceVersion[^]*kind: Subscription/);
    const { metadata, spec, status } = await world.get("hello");
    expect(metadata.annotations?.["olm.operatorframework.io/migrated-from-subscription"]).toBe("operators/hello");
    expect(spec.source.catalog).toMatchObject({ version: "1.0.0", channels: ["stable"] });
    expect(status?.install?.bundle.name).toBe("p.v1.0.0");
    expect((await migrate(["check"])).out).toContain("operators/hello: AlreadyMigrated");
    await cluster.client.patch(EXTENSION, { metadata: { annotations: { [ANNOTATION_RECONCILE_REQUESTED_AT]: "now" } } }, { type: "merge" });
    await world.until("hello", ({ status: now }) => expect(now?.lastHandledReconcileAt).toBe("now"));
    expect(await running()).toEqual(before); // everything was compared with the bundle

    const taken = await migrate(["rollback", "hello", "--yes"]);
    expect([taken.code, taken.err]).toEqual([0, expect.stringMatching(PROGRESS)]);
    expect(await running()).toEqual(before);
    expect(await there(SUBSCRIPTION, CSV, EXTENSION)).toEqual([true, true, false]);
    const csv = await cluster.client.get(CSV);
    expect(csv?.["status"]).toEqual({ phase: "Succeeded" });
    expect((await cluster.client.get(SUBSCRIPTION))?.["status"]).toMatchObject({ installedCSV: "p.v1.0.0" });
    const deployment = await cluster.client.get(DEPLOYMENT);
    expect(deployment?.metadata.labels).toMatchObject({ "olm.owner": "p.v1.0.0", "olm.deployment-spec-hash": "5f9" });
    expect(deployment?.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid])).toEqual([
      ["ClusterServiceVersion", csv?.metadata.uid],
    ]);
    const roles = await cluster.client.list(
      { apiVersion: OLD_ROLE.apiVersion, kind: "ClusterRole" },
      { labelSelector: "olm.operatorframework.io/owner-name=hello" },
    );
    expect(roles.items).toEqual([]);
    expect((await migrate(["check"])).out).toContain("operators/hello: Eligible");
  });

  test("olmv1 migrate convert completes after any interruption", async () => {
    const before = await running();
    for (const step of CONVERSION_STEPS.slice(0, -1)) {
      const { code } = await migrate(["convert", "hello", "-n", NAMESPACE, "--create-service-account", "--yes"], (text, stop) => {
        if (text === `${step}\n`) stop.abort();
      });
      expect([step, code]).toEqual([step, 130]);
      expect(await running()).toEqual(before);
      expect((await cluster.client.get(toObjectRef(CONVERTED)))?.["spec"]).toMatchObject({ conversion: { strategy: "Webhook" } });
      expect((await migrate(["check"])).out).toContain(`operators/hello: Conflict`);
    }
    const { code, out, err } = await migrate(["convert", "--all", "--create-service-account", "--yes", "--unpin"]);
    expect([code, err]).toEqual([0, expect.stringMatching(PROGRESS)]);
    expect(out).toMatch(/^operators +hello +Converted +ClusterExtension hello$/m);
    expect((await migrate(["convert", "--all", "--create-service-account", "--yes"])).out).toContain("1 AlreadyMigrated\n");
    expect(await running()).toEqual(before);
    expect(await there(SUBSCRIPTION, CSV)).toEqual([false, false]);
    expect((await world.get("hello")).spec.source.catalog?.version).toBeUndefined();
  });

  test("olmv1 migrate rolls back only when the backups are unchanged", async () => {
    const ref: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name: "hello-migration-backup" };
    const { marks } = ((await cluster.client.get(ref))?.["data"] ?? {}) as { marks: string };
    const write = (text: string): Promise<KubeObject> => cluster.client.patch(ref, { data: { marks: text } }, { type: "merge" });
    await write(Buffer.from("other").toString("base64"));
    const { code, err } = await migrate(["rollback", "hello", "--yes"]);
    expect([code, err]).toEqual([2, expect.stringContaining("was changed after the conversion wrote it")]);
    await write(marks);
  });

  test("olmv1 migrate cleanup deletes all backups, so that a rollback fails", async () => {
    const before = await running();
    expect((await migrate(["cleanup", "hello"])).out).toContain("ClusterRole p.v1.0.0-x7k2p");
    expect((await migrate(["cleanup", "--all"])).out).toMatch(
      /^operators +hello +LeftOver +\d+ objects and the backups of ClusterExtension hello$/m,
    );
    expect((await migrate(["rollback", "--all"])).out).toMatch(
      /^operators +hello +Possible +ClusterExtension hello becomes this Subscription again$/m,
    );
    expect(await there(OLD_ROLE, COPY)).toEqual([true, true]);
    const { code, err } = await migrate(["cleanup", "hello", "--operator-group", "--yes"]);
    expect([code, err]).toEqual([0, ""]);
    await eventually(async () => expect(await there(OLD_ROLE, COPY, GROUP, CONDITION, PLAN, OPERATOR)).toEqual(Array(6).fill(false)));
    expect(await running()).toEqual(before);
    const { metadata } = await world.get("hello");
    expect(Object.keys(metadata.annotations ?? {}).filter((key) => key.includes("migrat"))).toEqual([
      "olm.operatorframework.io/migrated-from-subscription",
    ]);
    expect((await migrate(["cleanup", "--all", "--yes"])).out).toContain("1 NothingLeft\n");
    const refused = await migrate(["rollback", "hello", "--yes"]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("cannot be rolled back: it has no backup of Subscription")]);
  });

  test("the first upgrade after a migration removes the annotations of OLM v0 from the Pods, and names the new OperatorCondition", async () => {
    const pods = async (): Promise<{
      metadata: { annotations: JsonObject };
      spec: { containers: { image: string; env?: unknown[] }[] };
    }> => {
      const deployment = await cluster.client.get<KubeObject & { spec: { template: Awaited<ReturnType<typeof pods>> } }>(DEPLOYMENT);
      if (!deployment) throw new Error("the Deployment is gone");
      return deployment.spec.template;
    };
    expect(await pods()).toMatchObject({
      metadata: { annotations: { "olm.operatorGroup": "global" } },
      spec: { containers: [{ env: [{ name: "OPERATOR_CONDITION_NAME", value: "p.v1.0.0" }] }] },
    });
    await serviceAccount(cluster.client, NAMESPACE, "hello-installer", [EVERYTHING]); // roles of another version have other names
    await world.until("hello", ({ status }) => expect(status?.install?.bundle.version).toBe("1.1.0"));
    const { metadata, spec } = await pods();
    const variable = { name: "OPERATOR_CONDITION_NAME", value: "p.v1.1.0" };
    expect(spec.containers.map(({ image, env = [] }) => [image, env])).toEqual([["registry.example.com/tiny:1.1.0", [variable]]]);
    expect(metadata.annotations).not.toHaveProperty("olm.operatorGroup");
  });
});
