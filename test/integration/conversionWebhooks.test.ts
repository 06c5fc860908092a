import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import type { InstallPlan } from "../../pkg/operatorcontroller/plan/installPlan.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { runCli } from "../support/runCli.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { webhook, webhookBundle } from "../support/webhookBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const HELD = { Progressing: "False/ConversionNeeded" };

const ANY: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const STRICT: JsonObject = { type: "object", properties: { spec: { type: "object", properties: { size: { type: "integer" } } } } };

/** The definition of Things in versions v1, which is stored, and v2. */
function definition(group: string, v2: JsonObject): KubeObject {
  const version = (name: string, storage: boolean, openAPIV3Schema: JsonObject) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema },
  });
  const one = thingDefinition(group);
  const versions = [version("v1", true, ANY), version("v2", false, v2)];
  return { ...one, spec: { ...(one["spec"] as JsonObject), scope: "Cluster", versions } };
}

function bundleWith(version: string, group: string, v2: JsonObject): Record<string, string> {
  const conversion = webhook({
    generateName: "convert.tiny.example.com",
    type: "ConversionWebhook",
    webhookPath: "/convert",
    conversionCRDs: [`things.${group}`],
    rules: [],
  });
  return webhookBundle(version, { webhooks: [conversion], objects: [definition(group, v2)] });
}

// No server responds for these webhooks: a request that needs one fails, as after the removal of an operator.
describeWithPrivateCluster("kept definitions whose conversion webhook is removed", (cluster) => {
  let world: OperatorWorld;
  let dir: string;

  const toCrdRef = (group: string): ObjectRef => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    name: `things.${group}`,
  });
  const thing = (group: string, version = "v1"): ObjectRef => ({ apiVersion: `${group}/${version}`, kind: "Thing", name: "mine" });
  const create = (group: string): Promise<KubeObject> =>
    eventually(() =>
      cluster.client.create({ apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "mine" }, spec: { size: "huge" } }),
    );
  const readConversion = async (group: string): Promise<unknown> =>
    ((await cluster.client.get(toCrdRef(group)))?.["spec"] as { conversion?: unknown } | undefined)?.conversion;
  const patch = (name: string, body: object): Promise<KubeObject> =>
    cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, body, { type: "merge" });
  const remove = (name: string): Promise<boolean> => cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const annotate = (name: string): Promise<KubeObject> =>
    patch(name, { metadata: { annotations: { "olm.operatorframework.io/drop-conversion": "true" } } });
  const deployment = (name: string): Promise<KubeObject | undefined> =>
    cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: `${name}-system`, name: "tiny" });

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { maxBackoffMs: 1_000 });
    dir = await mkdtemp(join(tmpdir(), "olmv1-conversion-"));
    world.bundle("p.v1.0.0", bundleWith("1.0.0", "same.example.com", ANY));
    world.bundle("p.v2.0.0", bundleWith("2.0.0", "other.example.com", STRICT));
    const last = tinyBundle("3.0.0");
    const { digest } = await pushImage(cluster.registry, "p", "p.v3.0.0", {
      files: new Map(Object.entries(last).map(([path, text]) => [path, Buffer.from(text)])),
    });
    world.bundle("p.v3.0.0", last, digest);
    await world.serve({
      channels: { same: ["p.v1.0.0"], other: [{ name: "p.v2.0.0" }, { name: "p.v3.0.0", replaces: "p.v2.0.0" }] },
      bundles: ["p.v1.0.0", "p.v2.0.0", "p.v3.0.0"],
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  /** Runs `olmv1 plan` for the upgrade of an extension to version 3.0.0. */
  async function readPlan(name: string): Promise<InstallPlan> {
    const version = (of: string): object => ({ type: "olm.package", value: { packageName: "p", version: of } });
    const bundle = (of: string): object => ({
      schema: "olm.bundle",
      package: "p",
      name: `p.v${of}`,
      image: `registry.example/p:p.v${of}`,
      properties: [version(of)],
    });
    const catalog = [
      { schema: "olm.package", name: "p" },
      {
        schema: "olm.channel",
        package: "p",
        name: "other",
        entries: [{ name: "p.v2.0.0" }, { name: "p.v3.0.0", replaces: "p.v2.0.0" }],
      },
      bundle("2.0.0"),
      bundle("3.0.0"),
    ];
    const { apiVersion, kind, metadata, spec } = await world.get(name);
    const source = { ...spec.source, catalog: { ...spec.source.catalog, version: "3.0.0" } };
    const { annotations } = metadata;
    await writeFile(join(dir, "catalog.json"), catalog.map((meta) => JSON.stringify(meta)).join("\n"));
    await writeFile(
      join(dir, "extension.json"),
      JSON.stringify({ apiVersion, kind, metadata: { name, annotations }, spec: { ...spec, source } }),
    );
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host, "registry.example"));
    const files = ["-f", join(dir, "extension.json"), "--catalog", join(dir, "catalog.json")];
    const access = ["--kubeconfig", cluster.kubeconfig, "--registries-conf", join(dir, "registries.conf")];
    const { out, err } = await runCli(["plan", ...files, ...access, "--output", "json"]);
    expect(err).toBe("");
    return JSON.parse(out) as InstallPlan;
  }

  /** Expects that an uninstall with these arguments is not blocked. */
  async function expectUnblocked(name: string, ...args: string[]): Promise<void> {
    const { code, err } = await runCli(["uninstall", name, ...args, "--kubeconfig", cluster.kubeconfig], { width: 300 });
    expect([code, err]).toEqual([2, expect.not.stringContaining("ConversionNeeded")]);
  }

  async function start(name: string, channel: string, version: string, group: string): Promise<void> {
    await world.extension(name, { catalog: { channels: [channel], version } });
    await world.conditions(name, DONE);
    expect(await readConversion(group)).toMatchObject({ strategy: "Webhook" });
    await create(group);
  }

  test("uninstall sets conversion strategy None when all served versions have the schema of the stored version", async () => {
    await start("same", "same", "1.0.0", "same.example.com");
    await expect(cluster.client.get(thing("same.example.com", "v2"))).rejects.toThrow("conversion webhook");
    await world.remove("same");
    expect(await readConversion("same.example.com")).toEqual({ strategy: "None" });
    expect(await cluster.client.get(thing("same.example.com", "v2"))).toMatchObject({ spec: { size: "huge" } });
    const events = await world.events("same");
    expect(events.filter((text) => text.startsWith("ConversionDropped: "))).toEqual([
      "ConversionDropped: CustomResourceDefinition things.same.example.com: set conversion.strategy to None because its conversion webhook is removed; all versions have the same schema",
    ]);
    await cluster.client.delete(thing("same.example.com"));
    await world.extension("again", { catalog: { channels: ["same"] } });
    await world.conditions("again", DONE);
    expect(await readConversion("same.example.com")).toMatchObject({ strategy: "Webhook" });
    await world.remove("again");
    expect(await cluster.client.get(toCrdRef("same.example.com"))).toBeUndefined();
  });

  test("uninstall deletes nothing while the schemas of versions differ and custom resources exist", async () => {
    await start("held", "other", "2.0.0", "other.example.com");
    const uninstall = await runCli(["uninstall", "held", "--kubeconfig", cluster.kubeconfig], { width: 300 });
    expect([uninstall.code, uninstall.err]).toEqual([
      2,
      expect.stringMatching(
        /The uninstall will stop with reason ConversionNeeded before it deletes any object:\n {2}CustomResourceDefinition things\.other\.example\.com is kept \(custom resources exist\), .*: mine\n(.*\n)+.*drop-conversion=true/,
      ),
    ]);
    await expectUnblocked("held", "--crd-policy", "Delete");
    await remove("held");
    const { Progressing, problems } = await world.conditions("held", HELD);
    const message =
      "not uninstalled: CustomResourceDefinition things.other.example.com is kept (custom resources exist), and only the conversion webhook of this extension can convert its custom resources (stored versions: v1): mine";
    expect(Progressing).toBe(message);
    expect(problems).toBe(
      `Error ConversionNeeded: ${message}; next: ` +
        "keep the custom resources without conversion, which can hide fields that only one version has: " +
        "kubectl annotate clusterextension held olm.operatorframework.io/drop-conversion=true; or delete the custom resources that you no longer need",
    );
    await world.expectProblem("held", "ConversionNeeded", {
      next: "olm.operatorframework.io/drop-conversion=true",
      details: [{ name: "things.other.example.com" }],
    });
    expect(await deployment("held")).toBeDefined();
    await eventually(async () =>
      expect((await world.events("held")).filter((text) => text.startsWith("ConversionNeeded: "))).toHaveLength(1),
    );
    await cluster.client.delete(thing("other.example.com"));
    await world.gone("held");
    expect(await cluster.client.get(toCrdRef("other.example.com"))).toBeUndefined();
  });

  test("uninstall with annotation drop-conversion keeps custom resources, which can still be read and deleted", async () => {
    await start("forced", "other", "2.0.0", "other.example.com");
    await remove("forced");
    await world.conditions("forced", HELD);
    await annotate("forced");
    await world.gone("forced");
    expect(await readConversion("other.example.com")).toEqual({ strategy: "None" });
    expect(await cluster.client.get(thing("other.example.com", "v1"))).toMatchObject({ spec: { size: "huge" } });
    expect(await cluster.client.delete(thing("other.example.com", "v2"))).toBe(true);
    await cluster.client.delete(toCrdRef("other.example.com"));
    await eventually(async () => expect(await cluster.client.get(toCrdRef("other.example.com"))).toBeUndefined());
  });

  test("uninstall deletes custom resources with their CRD when crdPolicy becomes Delete", async () => {
    await start("deleting", "other", "2.0.0", "other.example.com");
    await remove("deleting");
    await world.conditions("deleting", HELD);
    await patch("deleting", { spec: { uninstall: { crdPolicy: "Delete" } } });
    await world.gone("deleting");
    expect(await cluster.client.get(toCrdRef("other.example.com"))).toBeUndefined();
  });

  test("uninstall does not change a conversion webhook that has another owner", async () => {
    await start("theirs", "other", "2.0.0", "other.example.com");
    await cluster.client.create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "converter", namespace: "default" },
      spec: { ports: [{ port: 443 }] },
    });
    const crd = await cluster.client.get(toCrdRef("other.example.com"));
    const { conversion } = (crd?.["spec"] ?? {}) as { conversion?: { webhook: { clientConfig: JsonObject } } };
    const service = { name: "converter", namespace: "default", path: "/convert", port: 443 };
    await patch("theirs", { spec: { drift: { policy: "Ignore" } } });
    await world.conditions("theirs", DONE);
    await cluster.client.patch(
      toCrdRef("other.example.com"),
      { spec: { conversion: { webhook: { clientConfig: { ...conversion?.webhook.clientConfig, service } } } } },
      { type: "merge" },
    );
    await world.remove("theirs");
    expect(await readConversion("other.example.com")).toMatchObject({ strategy: "Webhook", webhook: { clientConfig: { service } } });
    await cluster.client.delete(thing("other.example.com"));
    await cluster.client.delete(toCrdRef("other.example.com"));
    await eventually(async () => expect(await cluster.client.get(toCrdRef("other.example.com"))).toBeUndefined());
  });

  test("an upgrade that removes a CRD is not applied while its custom resources need the conversion webhook", async () => {
    await start("upgraded", "other", "2.0.0", "other.example.com");
    const { findings } = await readPlan("upgraded");
    await patch("upgraded", { spec: { source: { catalog: { version: "3.0.0" } } } });
    const { Progressing } = await world.conditions("upgraded", { ...HELD, Installed: "True/Succeeded" });
    expect(Progressing).toContain("not applied: CustomResourceDefinition things.other.example.com is kept");
    expect(findings.map(({ kind }) => kind)).toEqual(["conversion"]);
    const { message } = await world.expectProblem("upgraded", "ConversionNeeded");
    expect(findings[0]?.text.startsWith(message)).toBe(true);
    expect((await world.get("upgraded")).status?.install?.bundle.version).toBe("2.0.0");
    await annotate("upgraded");
    await world.conditions("upgraded", DONE);
    await eventually(async () => expect((await world.get("upgraded")).status?.install?.bundle.version).toBe("3.0.0"));
    expect(await readConversion("other.example.com")).toEqual({ strategy: "None" });
    expect(await cluster.client.delete(thing("other.example.com", "v2"))).toBe(true);
    await world.remove("upgraded");
    await cluster.client.delete(toCrdRef("other.example.com"));
  });
});
