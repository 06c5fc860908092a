import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { buildOperatorConditionCrd, OPERATOR_CONDITION } from "../../pkg/api/operatorCondition.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import type { InstallPlan } from "../../pkg/operatorcontroller/plan/installPlan.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { waitForDefinition } from "../support/definitions.ts";
import { createExtension } from "../support/extensions.ts";
import { OpenShift } from "../support/openShift.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { type Ended, olmv1 } from "../support/runCli.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const configMap = (name: string, value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});
const secret = (password: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "key" },
  stringData: { password },
});
const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "helper" } };
const role = (verbs: string[]): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "helper" },
  rules: [{ apiGroups: [""], resources: ["pods"], verbs }],
});
const monitors = (...versions: string[]): KubeObject => {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "podmonitors.monitoring.coreos.com" },
    spec: {
      group: "monitoring.coreos.com",
      scope: "Namespaced",
      names: { plural: "podmonitors", singular: "podmonitor", kind: "PodMonitor", listKind: "PodMonitorList" },
      versions: versions.map((name, i) => ({ name, served: true, storage: i === 0, schema })),
    },
  };
};
const serviceMonitors = (): KubeObject => {
  const { spec, ...crd } = monitors("v1");
  const names = { plural: "servicemonitors", singular: "servicemonitor", kind: "ServiceMonitor", listKind: "ServiceMonitorList" };
  return { ...crd, metadata: { name: "servicemonitors.monitoring.coreos.com" }, spec: { ...(spec as object), names } };
};
const custom = (kind: string): KubeObject => ({ apiVersion: "monitoring.coreos.com/v1", kind, metadata: { name: "mine" }, spec: {} });
/** By tag. */
const BUNDLES = {
  "v1.0.0": tinyBundle("1.0.0", {
    objects: [configMap("kept", "1"), configMap("old", "1"), role(["get"]), secret("first-password"), account],
  }),
  "v1.1.0": tinyBundle("1.1.0", {
    objects: [configMap("kept", "2"), configMap("new", "1"), role(["get", "delete"]), secret("other-password"), account],
  }),
  "v2.0.0": tinyBundle("2.0.0", {
    objects: [monitors("v1"), serviceMonitors(), custom("ServiceMonitor"), custom("PrometheusRule")],
    spec: { minKubeVersion: "9.1.0" },
  }),
};
const CATALOG = [
  { schema: "olm.package", name: "p" },
  { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
  { schema: "olm.channel", package: "p", name: "odd", entries: [{ name: "p.v2.0.0" }] },
  ...["1.0.0", "1.1.0", "2.0.0"].map((version) => ({
    schema: "olm.bundle",
    package: "p",
    name: `p.v${version}`,
    image: `registry.example/p:v${version}`,
    properties: [
      { type: "olm.package", value: { packageName: "p", version } },
      ...(version === "2.0.0" ? [{ type: "olm.package.required", value: { packageName: "q", versionRange: ">=1.0.0" } }] : []),
    ],
  })),
];

// Source: D-04.
describeWithPrivateCluster("olmv1 plan", (cluster) => {
  let world: OperatorWorld;
  let dir: string;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    dir = await mkdtemp(join(tmpdir(), "olmv1-plan-"));
    const catalog = CATALOG.map((meta) => JSON.stringify(meta)).join("\n");
    await writeFile(join(dir, "catalog.json"), catalog);
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host, "registry.example"));
    for (const [tag, files] of Object.entries(BUNDLES)) {
      const { digest } = await pushImage(cluster.registry, "p", tag, { files: toFiles(files) });
      world.bundle(`p:${tag}`, files, digest);
    }
    await pushImage(cluster.registry, "catalog", "latest", {
      files: toFiles({ "configs/catalog.json": catalog }),
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: Object.keys(BUNDLES).map((tag) => ({ name: `p.${tag}`, image: `registry.example/p:${tag}` })),
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  /** Runs `olmv1 plan` for an extension, with the catalog of the folder unless other arguments are given. */
  const plan = async (extension: ClusterExtension, args: string[] = ["--catalog", join(dir, "catalog.json")]): Promise<Ended> => {
    const file = join(dir, `${extension.metadata.name}.json`);
    const { apiVersion, kind, spec } = extension;
    await writeFile(file, JSON.stringify({ apiVersion, kind, metadata: { name: extension.metadata.name }, spec }));
    const access = ["--kubeconfig", cluster.kubeconfig, "--registries-conf", join(dir, "registries.conf")];
    return await olmv1("plan", "-f", file, ...access, ...args);
  };
  const json = async (extension: ClusterExtension, ...args: string[]): Promise<InstallPlan> => {
    const { out, err } = await plan(extension, ["--catalog", join(dir, "catalog.json"), "--output", "json", ...args]);
    expect(err).toBe("");
    return JSON.parse(out) as InstallPlan;
  };
  const formatObjects = ({ objects }: InstallPlan): string[] =>
    objects
      .map(({ action, kind, name, widens, changes }) =>
        [action, kind, name, ...(widens ? ["widens"] : []), ...changes.map(({ path, before, after }) => `${path}:${before}>${after}`)].join(
          " ",
        ),
      )
      .sort();

  test("olmv1 plan reads the sources of the configuration as the user or the ServiceAccount, and prints none of their values", async () => {
    const values = (value: string): string =>
      JSON.stringify({
        deploymentConfig: {
          env: [
            { name: "PASSWORD", value },
            { name: "SHORT", value: value.slice(-1) },
          ],
        },
      });
    const fill = (namespace: string, text: string): Promise<KubeObject> => {
      const metadata = { name: "values", namespace };
      const object = { apiVersion: "v1", kind: "Secret", metadata, stringData: { "values.yaml": text } };
      return cluster.client.apply(object, { fieldManager: "test", force: true });
    };
    const config = { configType: "Inline" as const, valuesFrom: [{ kind: "Secret" as const, name: "values" }] };
    const x = await world.extension("sourced", {
      catalog: { channels: ["stable"], version: "1.0.0" },
      config,
      before: (ns) => fill(ns, values("canary-1")),
    });
    await world.conditions("sourced", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    await cluster.client.patch(toObjectRef(x), { spec: { suspend: true } }, { type: "merge" });
    await world.conditions("sourced", { Progressing: "False/Suspended" });
    await fill(getNamespace(x), values("canary-2"));
    const mask = '"(from spec.config.valuesFrom)"';
    for (const args of [[], ["--as-service-account"]]) {
      const planned = await json(x, ...args);
      const update = planned.objects.find(({ kind }) => kind === "Deployment");
      expect(update?.changes.map(({ before, after }) => [before, after])).toEqual([
        [mask, mask],
        [mask, mask],
      ]);
      expect(JSON.stringify(planned)).not.toMatch(/canary|PASSWORD/);
    }
    await fill(getNamespace(x), "deploymentConfig: {tolerations: [{operator: canary-3}]}");
    const refused = await plan(x);
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('Unsupported value: "(from spec.config.valuesFrom)"')]);
    expect(refused.out + refused.err).not.toContain("canary");
    await fill(getNamespace(x), "[canary-4]");
    const broken = await plan(x);
    expect([broken.code, broken.err]).toEqual([2, expect.stringContaining("contains a list instead of an object")]);
    expect(broken.out + broken.err).not.toContain("canary");
  });

  test("olmv1 plan for a new extension lists all objects to create and all errors, and writes nothing", async () => {
    const extension = createExtension("new", { packageName: "p", channels: ["stable"] });
    const homeless = await plan(extension);
    expect([homeless.code, homeless.err]).toEqual([1, ""]);
    expect(homeless.out).toContain('namespace "new-system" does not exist, so 6 objects cannot be created');
    const labels = { "pod-security.kubernetes.io/warn": "restricted" };
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "new-system", labels } };
    await cluster.client.create(namespace);
    const { code, out, err } = await plan(extension);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^ClusterExtension new does not exist yet\nPlan: p\.v1\.1\.0 \(version 1\.1\.0, from catalog .*\)\nWhy: /);
    expect(out).toContain("\n6 to create, 0 to change, 0 to delete, 0 unchanged\n");
    expect(out).toContain("  + Role new-system/helper  (more permissions)\n");
    expect(out).toContain('\nWarnings from the API server:\n  Deployment new-system/tiny: would violate PodSecurity "restricted:latest": ');
    expect(out).not.toContain("digest");
    const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: "new-system", name: "new" };
    expect(await cluster.client.get(ref)).toBeUndefined();
    expect(await cluster.client.get({ ...extension, name: "new" })).toBeUndefined();
    // The cluster creates one ConfigMap in every namespace; the bundle contains two.
    const hard = { "count/configmaps": "2" };
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "small", namespace: "new-system" }, spec: { hard } };
    await cluster.client.create(quota);
    await eventually(async () =>
      expect((await cluster.client.get(toObjectRef(quota)))?.["status"]).toMatchObject({ used: { "count/configmaps": "1" } }),
    );
    expect((await json(extension)).findings).toEqual([
      {
        kind: "quota",
        text: expect.stringMatching(/^ResourceQuota new-system\/small does not allow all new objects: .*requested: count\/configmaps=2,/),
      },
    ]);
    await cluster.client.delete(toObjectRef(quota));
    await cluster.client.create({ ...configMap("new", "mine"), metadata: { name: "new", namespace: "new-system" } });
    const taken = await json(extension);
    expect(taken.findings).toEqual([
      { kind: "ownership", text: expect.stringMatching(/^ConfigMap 'new' already exists in namespace 'new-system' and cannot be managed/) },
    ]);
    expect(taken.counts).toEqual({ create: 5, update: 1, delete: 0, unchanged: 0 });
    expect(taken.objects.filter(({ refused }) => refused)).toMatchObject([{ kind: "ConfigMap", name: "new", changes: [] }]);
  });

  test("olmv1 plan for an upgrade prints each changed field and the digest of status.plan, and masks Secrets", async () => {
    const extension = await world.extension("first", { catalog: { version: "1.0.0", channels: ["stable"] } });
    await world.conditions("first", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const same = await json(extension);
    expect([same.counts, same.installed]).toEqual([
      { create: 0, update: 0, delete: 0, unchanged: 6 },
      { bundle: "p.v1.0.0", version: "1.0.0", revision: 1 },
    ]);
    const { version: _, ...catalog } = extension.spec.source.catalog!;
    const desired: ClusterExtension = {
      ...extension,
      spec: { ...extension.spec, approval: "Manual", source: { sourceType: "Catalog", catalog } },
    };
    const upgrade = await json(desired);
    expect(upgrade.findings).toEqual([]);
    expect(formatObjects(upgrade)).toEqual([
      "Create ConfigMap new",
      "Delete ConfigMap old",
      "Unchanged ServiceAccount helper",
      'Update ConfigMap kept data.value:"1">"2"',
      'Update Deployment tiny spec.template.spec.containers[name=manager].image:"registry.example.com/tiny:1.0.0">"registry.example.com/tiny:1.1.0"',
      'Update Role helper widens rules[0].verbs[1]:undefined>"delete"',
      "Update Secret key data.password:(secret)>(secret)",
    ]);
    expect(upgrade.approval).toEqual({ needed: true, given: false });
    const relabelled =
      "objects that change only in labels olm.operatorframework.io/package-name and olm.operatorframework.io/bundle-version: 1";
    expect([upgrade.counts.unchanged, same.notes.includes(relabelled), upgrade.notes.includes(relabelled)]).toEqual([1, false, true]);
    await cluster.client.patch(
      { ...extension, name: "first" },
      [
        { op: "remove", path: "/spec/source/catalog/version" },
        { op: "add", path: "/spec/approval", value: "Manual" },
      ],
      { type: "json" },
    );
    await world.conditions("first", { Progressing: "False/AwaitingApproval" });
    expect((await world.get("first")).status?.plan?.digest).toBe(upgrade.digest);
    const { out } = await plan(desired);
    expect(out).toContain(
      `approve: kubectl annotate clusterextension first --overwrite olm.operatorframework.io/approve=${upgrade.digest}\n`,
    );
  });

  // Source: S0-089.
  test("olmv1 plan renders the proxy from operator-controller's flags or from the cluster, and prints no password", async () => {
    const extension = await world.extension("proxied", { catalog: { version: "1.0.0", channels: ["stable"] } });
    await world.conditions("proxied", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const flags = ["--operator-http-proxy", "http://user:s3cr3t@proxy:3128"];
    const byFlag = await plan(extension, ["--catalog", join(dir, "catalog.json"), ...flags]);
    expect([byFlag.code, byFlag.err]).toEqual([0, ""]);
    expect(byFlag.out).toContain("http://[redacted]@proxy:3128");
    expect(byFlag.out).not.toContain("s3cr3t");
    const openShift = new OpenShift(cluster.client);
    await openShift.install(["proxies"]);
    await openShift.setProxy({ httpProxy: "http://user:s3cr3t@proxy:3128", noProxy: ".svc" });
    expect(formatObjects(await json(extension)).filter((line) => line.startsWith("Update"))).toEqual([
      'Update Deployment tiny spec.template.spec.containers[name=manager].env:undefined>[{"name":"HTTP_PROXY","value":"http://[redacted]@proxy:3128"},{"name":"NO_PROXY","value":".svc"}]',
    ]);
    expect((await json(extension, "--operator-proxy", "none")).counts.update).toBe(0);
    const refused = await plan(extension, ["--operator-http-proxy", "user:s3cr3t@proxy"]);
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toMatch(/^olmv1: --operator-http-proxy: expected a proxy URL, such as "http:[^"]+"\n$/);
    await openShift.removeProxy();
  });

  test("olmv1 plan as the ServiceAccount lists all missing permissions, and still prints the plan", async () => {
    const extension = createExtension("weak", { packageName: "p", channels: ["stable"] });
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "weak-system" } });
    const without = await plan(extension, ["--as-service-account", "--catalog", join(dir, "catalog.json")]);
    expect(without).toMatchObject({ code: 2, out: "" });
    expect(without.err).toMatch(
      /^olmv1: --as-service-account: create a token for ServiceAccount "weak-system\/weak-installer": .*not found/,
    );
    const account = await serviceAccount(cluster.client, "weak-system", "weak-installer", []);
    const refused = await json(extension, "--as-service-account");
    expect(refused.findings.map(({ kind }) => kind)).toContain("permissions");
    expect(refused.counts.create).toBe(6);
    await account.grant([{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    await eventually(async () => expect((await json(extension, "--as-service-account")).findings).toEqual([]));
  });

  test("olmv1 upgrade checks the permissions of a ServiceAccount that olmv1 install has not created", async () => {
    const { digest } = await pushImage(cluster.registry, "catalog", "upgrade", {
      files: toFiles({ "configs/catalog.json": CATALOG.map((meta) => JSON.stringify(meta)).join("\n") }),
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    const ref = { type: "Image", image: { ref: `registry.example/catalog@${digest}` } };
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" },
      { status: { resolvedSource: ref } },
      { type: "merge", subresource: "status" },
    );
    const x = await world.extension("granted", { catalog: { version: "1.0.0", channels: ["stable"] } });
    await world.conditions("granted", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const upgrade = (...args: string[]): Promise<Ended> =>
      olmv1(
        "upgrade",
        "granted",
        "--any-version",
        ...args,
        "--kubeconfig",
        cluster.kubeconfig,
        "--registries-conf",
        join(dir, "registries.conf"),
      );
    const sufficient = await upgrade();
    expect([sufficient.code, sufficient.err]).toEqual([2, expect.stringContaining("Plan: p.v1.1.0 (version 1.1.0, from catalog c)")]);
    const who = "ServiceAccount granted-system/granted-installer";
    expect(sufficient.err).toContain(`${who} has the permissions that the upgrade needs\n`);
    const namespace = getNamespace(x);
    const { serviceAccount: installer } = x.spec;
    const rules = [{ apiGroups: ["*"], resources: ["configmaps", "serviceaccounts", "deployments", "roles"], verbs: ["*"] }];
    const account = await serviceAccount(cluster.client, namespace, installer?.name ?? "", rules);
    await eventually(async () => {
      const { err } = await upgrade();
      const [, lacking = ""] = err.split(`${who}, which olmv1 install did not create, lacks these permissions`);
      expect(lacking).toMatch(/secrets: key/);
      expect(lacking).not.toContain("configmaps");
    });
    await account.grant([{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
    await world.remove("granted");
  });

  test("olmv1 plan lists kinds that the cluster does not serve, and creates CRDs only in dry runs", async () => {
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "odd-system" } });
    await cluster.client.create(monitors("v1alpha1"));
    await cluster.client.apply(monitors("v1", "v1alpha1"), { fieldManager: "test", force: true });
    const ref = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "podmonitors.monitoring.coreos.com" };
    const readStoredVersions = async (): Promise<unknown> =>
      ((await cluster.client.get(ref))!["status"] as { storedVersions: unknown }).storedVersions;
    await eventually(async () => expect(await readStoredVersions()).toEqual(["v1alpha1", "v1"]));
    const { findings, notes, counts } = await json(createExtension("odd", { packageName: "p", channels: ["odd"] }));
    expect(findings).toEqual([
      {
        kind: "dependencies",
        text: 'bundle "p.v2.0.0" cannot be installed: p 2.0.0 requires package "q" >=1.0.0, which no selected catalog has',
      },
      {
        kind: "kindNotServed",
        text: expect.stringContaining(
          "does not serve PrometheusRule (monitoring.coreos.com/v1), ServiceMonitor (monitoring.coreos.com/v1): first install the operator that provides PrometheusRule (monitoring.coreos.com/v1), and apply the CustomResourceDefinition of ServiceMonitor (monitoring.coreos.com/v1) from the bundle yourself",
        ),
      },
      { kind: "ownership", text: expect.stringContaining("CustomResourceDefinition 'podmonitors.monitoring.coreos.com' already exists") },
    ]);
    expect(notes.join("\n")).toContain("its minKubeVersion is 9.1.0, but the API server has version v1.");
    expect(notes.join("\n")).toContain("dry run: removed v1alpha1 from status.storedVersions");
    expect(counts.create).toBe(4);
    const odd = createExtension("odd", { packageName: "p", channels: ["odd"] });
    const enforced = await json({ ...odd, spec: { ...odd.spec, install: { requirements: "Enforce" } } });
    expect(enforced.findings[1]).toEqual({ kind: "requirements", text: expect.stringContaining("its minKubeVersion is 9.1.0") });
    expect(await readStoredVersions()).toEqual(["v1alpha1", "v1"]);
  });

  test("olmv1 plan fails for objects that the API server rejects, and for a version that no catalog contains", async () => {
    const broken = createExtension("broken", { packageName: "p", version: "not a version" });
    expect((await plan(broken)).err).toMatch(/^olmv1: ClusterExtension "broken" would be rejected: .*invalid version expression/);
    const { code, out, err } = await plan(createExtension("absent", { packageName: "absent" }));
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^olmv1: no bundles found for package "absent"/);
  });

  // Last, because it adds a catalog for every extension.
  test("olmv1 plan uses the selected catalogs of the cluster when no catalog is given", async () => {
    const name = "pushed";
    await cluster.client.create({
      apiVersion: API_VERSION,
      kind: CLUSTER_CATALOG,
      metadata: { name, labels: { from: "registry" } },
      spec: { source: { type: "Image", image: { ref: "registry.example/catalog:latest" } } },
    });
    const status = {
      conditions: [{ type: "Serving", status: "True", reason: "Available", message: "", lastTransitionTime: new Date().toISOString() }],
      resolvedSource: { type: "Image", image: { ref: `registry.example/catalog@${await readDigest("catalog")}` } },
      urls: { base: "https://catalogd.example.com/catalogs/pushed" },
    };
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name },
      { status },
      { type: "merge", subresource: "status" },
    );
    const selecting = createExtension("chosen", { packageName: "p", version: "1.0.0", selector: { matchLabels: { from: "registry" } } });
    const { out, err } = await plan(selecting, []);
    expect(err).toBe("");
    expect(out).toContain("Plan: p.v1.0.0 (version 1.0.0, from catalog pushed)\n");
  });

  // Runs last, because the plans of other tests do not expect OperatorConditions.
  test("olmv1 plan prints that the installed operator does not allow the upgrade, and an override of an administrator ends that", async () => {
    const x = await world.extension("vetoed", { catalog: { channels: ["stable"], version: "1.0.0" } });
    await world.conditions("vetoed", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const crd = buildOperatorConditionCrd();
    await cluster.client.create(crd);
    await waitForDefinition(cluster.client, crd);
    const lastTransitionTime = new Date().toISOString();
    const conditions = [{ type: "Upgradeable", status: "False", reason: "Migrating", message: "wait for the data", lastTransitionTime }];
    const metadata = { name: "p.v1.0.0", namespace: getNamespace(x) };
    const condition = await cluster.client.create({ ...OPERATOR_CONDITION, metadata, spec: { conditions } });
    const catalog = { ...x.spec.source.catalog!, version: "1.1.0" };
    const next: ClusterExtension = { ...x, spec: { ...x.spec, source: { ...x.spec.source, catalog } } };
    const why =
      'bundle "p.v1.1.0" is not installed: the installed operator sets condition Upgradeable in OperatorCondition "vetoed-system/p.v1.0.0": Migrating: wait for the data';
    const { code, out } = await plan(next);
    expect([code, out]).toEqual([1, expect.stringContaining(why)]);
    const overrides = [{ type: "Upgradeable", status: "True", reason: "Checked", message: "" }];
    await cluster.client.patch(toObjectRef(condition), { spec: { overrides } }, { type: "merge" });
    expect((await plan(next)).out).not.toContain("is not installed");
  });

  async function readDigest(repository: string): Promise<string> {
    const accept = "application/vnd.oci.image.manifest.v1+json";
    const answer = await fetch(`http://${cluster.registry.host}/v2/${repository}/manifests/latest`, { headers: { accept } });
    return answer.headers.get("docker-content-digest") ?? "";
  }
});

function toFiles(files: Readonly<Record<string, string>>): Map<string, Buffer> {
  return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
}
