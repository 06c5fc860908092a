import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { ejectExtension } from "../../pkg/eject/ejectExtension.ts";
import { previewEject } from "../../pkg/eject/ejectPreview.ts";
import { buildDetachPatch } from "../../pkg/eject/ownMarks.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { eventually } from "../support/eventually.ts";
import { ManagedWorld, type PublishedVersion } from "../support/managedWorld.ts";
import { runTool } from "../support/manifests.ts";
import { type Ended, olmv1, runCli } from "../support/runCli.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { webhookBundle } from "../support/webhookBundle.ts";

const OWN = "olm.operatorframework.io";

const VERSION = "1.0.0";
const NEXT = "2.0.0";

/** Renames a bundle of package `p`. */
function rename(files: Record<string, string>, name: string): Record<string, string> {
  const renamed = Object.entries(files).map(([path, text]) => [
    path,
    text.replace(/"p\.v([\d.]+)"/, `"${name}.v$1"`).replace(':"p"}', `:"${name}"}`),
  ]);
  return Object.fromEntries(renamed) as Record<string, string>;
}

/** A bundle with a CustomResourceDefinition, a ConfigMap whose text looks like a Helm template, and one Deployment, all named after the package. */
function publish(name: string, requires: readonly string[] = [], version = VERSION): PublishedVersion {
  const group = `${name}.example.com`;
  const files = tinyBundle(version, {
    name,
    objects: [thingDefinition(group), { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text: "{{ .Values.text }}" } }],
    spec: { customresourcedefinitions: { owned: [{ name: `things.${group}`, version: "v1", kind: "Thing" }] } },
    clusterPermissions: [{ serviceAccountName: name, rules: [{ apiGroups: [group], resources: ["things"], verbs: ["get", "list"] }] }],
  });
  const value = (packageName: string): object => ({ packageName, versionRange: ">=1.0.0" });
  const properties = requires.map((one): Property => ({ type: "olm.package.required", value: value(one) }));
  return { version, files: rename(files, name), properties };
}

describeWithPrivateCluster("olmv1 eject", (cluster) => {
  let world: ManagedWorld;
  let folder: TempFolder;

  beforeAll(async () => {
    world = await ManagedWorld.start(cluster);
    folder = new TempFolder();
    await world.publish("catalog", {
      helmed: [publish("helmed")],
      plain: [publish("plain")],
      user: [publish("user", ["plain"])],
      hooked: [{ version: VERSION, files: rename(webhookBundle(VERSION), "hooked") }],
      base: [publish("base")],
      shop: [publish("shop", ["base"])],
      moving: [publish("moving"), publish("moving", [], NEXT)],
    });
    for (const name of ["helmed", "plain", "hooked"]) await world.create(name, name, { namespace: name });
    await world.create("moving", "moving", { namespace: "moving" }, { version: VERSION });
    await world.create("shop", "shop", { namespace: "shop", dependencies: { policy: "Install" } });
    await world.ready("plain", VERSION);
    await world.create("user", "user", { namespace: "user" });
    for (const name of ["helmed", "user", "hooked", "moving", "shop"]) await world.ready(name, VERSION);
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const eject = (name: string, ...args: string[]): Promise<Ended> =>
    olmv1("eject", name, "--kubeconfig", cluster.kubeconfig, "--output-dir", join(folder.path, name), ...args);
  const helm = (...args: string[]): Promise<string> =>
    runTool("helm", [...args, "--kubeconfig", cluster.kubeconfig, "--namespace", "helmed"]);
  const refs = (name: string) => [
    { apiVersion: "apps/v1", kind: "Deployment", namespace: name, name },
    { apiVersion: "v1", kind: "ConfigMap", namespace: name, name },
    { apiVersion: "v1", kind: "ServiceAccount", namespace: name, name },
    { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: `things.${name}.example.com` },
  ];
  const read = (name: string): Promise<(KubeObject | undefined)[]> => Promise.all(refs(name).map((ref) => cluster.client.get(ref)));
  const readPods = async (namespace: string): Promise<(string | undefined)[]> =>
    (await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace })).items.map(({ metadata }) => metadata.uid);
  const isGone = async (name: string): Promise<void> => {
    expect(await cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name })).toBeUndefined();
    expect(await cluster.client.get({ ...EXTENSION_PERMISSIONS, name })).toBeUndefined();
    const releases = await cluster.client.list(
      { apiVersion: "v1", kind: "Secret" },
      { namespace: SYSTEM_NAMESPACE, labelSelector: `name=${name}` },
    );
    expect(releases.items).toEqual([]);
    expect(await world.listGranted(name)).toEqual([]);
  };

  /** Records the Pod template in every version of a Deployment, until `stop` is called. */
  function watchTemplates(namespace: string): { templates: Set<string>; stop: () => Promise<void> } {
    const templates = new Set<string>();
    const end = new AbortController();
    const deployments = { apiVersion: "apps/v1", kind: "Deployment" };
    const watching = (async () => {
      const { items, resourceVersion } = await cluster.client.list(deployments, { namespace });
      const note = (object: KubeObject): void => {
        const { template, replicas } = object["spec"] as { template: object; replicas: number };
        templates.add(JSON.stringify({ uid: object.metadata.uid, replicas, template }));
      };
      for (const item of items) note(item);
      const events = cluster.client.watch(deployments, { namespace, resourceVersion, signal: end.signal });
      for await (const { object } of events) note(object);
    })().catch((err: unknown) => {
      if (!end.signal.aborted) throw err;
    });
    return { templates, stop: () => (end.abort(), watching) };
  }

  test("olmv1 eject keeps the workload unchanged, and Helm adopts, upgrades and uninstalls it", async () => {
    const thing = { apiVersion: "helmed.example.com/v1", kind: "Thing", metadata: { name: "data", namespace: "helmed" } };
    await cluster.client.create(thing);
    const [before, pods] = [await read("helmed"), await readPods("helmed")];
    const watch = watchTemplates("helmed");
    const ended = await eject("helmed", "--format", "helm", "--yes");
    expect(ended, ended.err).toMatchObject({ code: 0, out: expect.stringContaining("olmv1 no longer manages helmed.v1.0.0") as string });
    await isGone("helmed");
    const after = await read("helmed");
    expect(after.map((object) => object?.metadata.uid)).toEqual(before.map((object) => object?.metadata.uid));
    for (const { metadata } of after.flatMap((object) => object ?? [])) {
      expect(metadata.ownerReferences).toBeUndefined();
      expect(JSON.stringify([metadata.labels, metadata.annotations, metadata.managedFields?.map(({ manager }) => manager)])).not.toContain(
        OWN,
      );
      expect(metadata.annotations).toMatchObject({ "meta.helm.sh/release-name": "helmed", "meta.helm.sh/release-namespace": "helmed" });
    }
    const namespace = await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: "helmed" });
    expect([namespace?.metadata.deletionTimestamp, JSON.stringify(namespace?.metadata.labels).includes(OWN)]).toEqual([undefined, false]);

    const chart = join(folder.path, "helmed");
    // What `helm upgrade --install` does without a release.
    await helm("install", "helmed", chart);
    await watch.stop();
    expect(watch.templates.size).toBe(1);
    expect(await readPods("helmed")).toEqual(pods);
    expect((await read("helmed"))[1]?.["data"]).toEqual({ text: "{{ .Values.text }}" });

    const file = join(chart, "templates", readdirSync(join(chart, "templates")).find((one) => one.endsWith("-deployment.yaml")) ?? "");
    writeFileSync(file, readFileSync(file, "utf8").replace("tiny:1.0.0", "tiny:2.0.0"));
    expect(await helm("upgrade", "helmed", chart)).toContain("STATUS: deployed\nREVISION: 2\n");
    expect(JSON.stringify((await read("helmed"))[0])).toContain("tiny:2.0.0");
    await helm("uninstall", "helmed", "--wait");
    expect((await read("helmed")).map((object) => object?.kind)).toEqual([undefined, undefined, undefined, "CustomResourceDefinition"]);
    expect(await cluster.client.get({ ...thing, name: "data", namespace: "helmed" })).toBeDefined();
  });

  test("olmv1 eject writes the manifests and changes nothing in the cluster with --dry-run", async () => {
    const before = await read("plain");
    const { code, out } = await eject("plain", "--output-dir", join(folder.path, "dry"), "--dry-run", "--force");
    expect([code, out]).toEqual([0, expect.stringMatching(/^wrote the manifests of \d+ objects to /)]);
    expect(await read("plain")).toEqual(before);
  });

  test("olmv1 eject writes nothing when you decline", async () => {
    const output = join(folder.path, "declined");
    const args = ["eject", "plain", "--force", "--kubeconfig", cluster.kubeconfig, "--output-dir", output];
    const { code, err } = await runCli(args, { interactive: true, stdin: "n\n" });
    expect([code, err, existsSync(output)]).toEqual([1, expect.stringMatching(/no changes were made\n$/), false]);
  });

  test("olmv1 eject refuses an extension that others depend on, and resumes an eject with --force", async () => {
    const refused = await eject("plain", "--yes");
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(
        /^ClusterExtension plain is not ejected, .*:\n {2}ClusterExtension user \(bundle user\.v1\.0\.0\) needs .*plain/,
      ),
    ]);
    // As an eject leaves it that was killed after its first change of an object.
    const [deployment] = await read("plain");
    await world.edit("plain", { spec: { suspend: true } });
    await world.world.condition(CLUSTER_EXTENSION, "plain", (condition) => condition("Progressing")?.reason === "Suspended");
    const [deploymentRef] = refs("plain");
    const extension = await cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "plain" });
    if (deployment && deploymentRef)
      await cluster.client.patch(deploymentRef, buildDetachPatch(deployment, extension?.metadata.uid ?? "", undefined), { type: "merge" });
    expect((await eject("plain", "--dry-run", "--force")).code).toBe(0); // the killed eject has written the manifests
    const ended = await eject("plain", "--yes", "--force");
    expect(ended.code, ended.err).toBe(0);
    await isGone("plain");
    const pods = await readPods("plain");
    const kustomization = join(folder.path, "plain");
    await runTool("kubectl", ["apply", "--server-side", "-k", kustomization, "--kubeconfig", cluster.kubeconfig]);
    expect(await readPods("plain")).toEqual(pods);
    const name = readdirSync(join(kustomization, "objects")).find((one) => one.endsWith("-deployment.yaml")) ?? "";
    const file = join(kustomization, "objects", name);
    writeFileSync(file, readFileSync(file, "utf8").replace("tiny:1.0.0", "tiny:2.0.0"));
    await runTool("kubectl", ["apply", "--server-side", "-k", kustomization, "--kubeconfig", cluster.kubeconfig]);
    await eventually(async () => expect(JSON.stringify((await read("plain"))[0])).toContain("tiny:2.0.0"));
  });

  test("olmv1 eject keeps the webhook certificate, and reports when it expires", async () => {
    const selector = { labelSelector: `${OWN}/owner-name=hooked` };
    const secrets = { apiVersion: "v1", kind: "Secret" };
    const hooks = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
    const [secret, hook] = await Promise.all([secrets, hooks].map(async (kind) => (await cluster.client.list(kind, selector)).items[0]));
    const { code, err } = await eject("hooked", "--yes");
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^Secret hooked\/\S+ contains a webhook certificate .* before \d{4}-\d\d-\d\d$/m),
    ]);
    const live = await cluster.client.get({ ...secrets, namespace: "hooked", name: secret?.metadata.name ?? "" });
    expect([live?.["data"], live?.metadata.labels]).toEqual([secret?.["data"], undefined]);
    expect((await cluster.client.get({ ...hooks, name: hook?.metadata.name ?? "" }))?.["webhooks"]).toEqual(hook?.["webhooks"]);
    const manifests = readdirSync(join(folder.path, "hooked/objects"));
    expect(manifests.filter((name) => name.endsWith("-secret.yaml"))).toEqual([]);
  });

  test("olmv1 eject makes a dependency an extension of its own", async () => {
    const dependency = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "base" };
    expect((await cluster.client.get(dependency))?.metadata.labels).toMatchObject({ [`${OWN}/dependency`]: "true" });
    const { code, err } = await eject("shop", "--yes");
    expect([code, err]).toEqual([0, expect.stringContaining("ClusterExtension base, a dependency, stays as an extension of its own.")]);
    await isGone("shop");
    const { metadata } = (await world.ready("base", VERSION)) ?? {};
    expect([metadata?.deletionTimestamp, JSON.stringify(metadata?.labels ?? {}).includes(OWN)]).toEqual([undefined, false]);
  });

  test("ejectExtension changes nothing when the extension was upgraded after the preview", async () => {
    const signal = AbortSignal.timeout(120_000);
    const preview = await previewEject(cluster.client, "moving", SYSTEM_NAMESPACE, signal);
    await world.edit("moving", { spec: { source: { catalog: { version: NEXT } } } });
    await world.ready("moving", NEXT);
    const before = await read("moving");
    const written: string[] = [];
    const ejecting = ejectExtension(cluster.client, preview, {
      helm: undefined,
      systemNamespace: SYSTEM_NAMESPACE,
      timeoutMs: 60_000,
      signal,
      writeManifests: () => Promise.resolve(void written.push("manifests")),
      report: () => undefined,
    });
    await expect(ejecting).rejects.toThrow("its releases changed while they were shown (no changes were made). Run the command again");
    expect(written).toEqual([]);
    expect((await read("moving")).map((object) => object?.metadata.labels)).toEqual(before.map((object) => object?.metadata.labels));
    const extension = await cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "moving" });
    expect([extension?.metadata.deletionTimestamp, extension?.["spec"]]).toEqual([undefined, expect.objectContaining({ suspend: false })]);
    expect((await eject("moving", "--yes")).code).toBe(0);
    await isGone("moving");
    expect(JSON.stringify((await read("moving"))[0])).toContain(`tiny:${NEXT}`);
  });

  test.for<[what: string, args: string[], message: string]>([
    ["an invalid name of a Helm release", ["user", "--format", "helm", "--release-name", "A_b"], '"A_b" is not a name of a Helm release'],
    ["a folder that contains files", ["user", "--output-dir", import.meta.dirname], "is not empty. Use --output-dir with a new folder"],
    ["an unknown extension", ["usr"], 'ClusterExtension "usr" not found; did you mean "user"?'],
  ])("olmv1 eject reports %s", async ([, args, message]) => {
    const { code, err } = await olmv1("eject", ...args, "--kubeconfig", cluster.kubeconfig, "--yes");
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
