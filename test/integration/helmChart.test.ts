import { cp, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFlags as parseConsoleFlags } from "../../cmd/console/flags.ts";
import { GROUP } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { encodeCanonicalJson } from "../../pkg/golang/json.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { compareText } from "../../pkg/text/compare.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { renderChart, renderKustomization, runTool } from "../support/manifests.ts";
import { OpenShift } from "../support/openShift.ts";

const CONFIG = resolve(import.meta.dirname, "../../config");
const CHART = join(CONFIG, "helm/olmv1");
const KEEP = { "helm.sh/resource-policy": "keep" };
const SYSTEM = ["--namespace", "olmv1-system"];
/** The namespace is part of config/, and of the chart if it differs from the release's. */
const WITH_NAMESPACE = ["--namespace", "default", "--set", "namespace.create=true,namespace.name=olmv1-system"];

/** Values of the chart, and the equivalent kustomizations. */
interface Variant {
  name: string;
  /** Folders of config/ to combine. */
  folders: string[];
  components?: string[];
  args: string[];
}

const OPENSHIFT = ["--set", "namespace.create=true,namespace.name=openshift-operator-controller,openshift.enabled=true"];
const VARIANTS: Variant[] = [
  { name: "without values", folders: ["."], args: WITH_NAMESPACE },
  {
    name: "sharedWatches",
    folders: ["overlays/shared-watch"],
    args: [...WITH_NAMESPACE, "--set", "operatorController.sharedWatches=true"],
  },
  { name: "permissions.mode=DropIn", folders: ["overlays/drop-in"], args: [...WITH_NAMESPACE, "--set", "permissions.mode=DropIn"] },
  { name: "registries", folders: ["overlays/air-gapped"], args: [...WITH_NAMESPACE, "--values", "registries.yaml"] },
  { name: "signatures", folders: ["overlays/signatures"], args: [...WITH_NAMESPACE, "--values", "signatures.yaml"] },
  {
    name: "openshift",
    folders: ["openshift"],
    args: OPENSHIFT,
  },
  { name: "console", folders: [".", "console"], args: [...WITH_NAMESPACE, "--set", "console.enabled=true"] },
  {
    name: "prometheus, policies and external certificates",
    folders: [".", "prometheus", "admission"],
    components: ["tls"],
    args: [...WITH_NAMESPACE, "--set", "prometheus.enabled=true,admissionPolicies.catalogLabel=true,tls.source=secret"],
  },
];

describeWithPrivateCluster("the Helm chart", (cluster) => {
  let folder: string;
  /** Paths of the values files. */
  const inFolder = (args: readonly string[]): string[] => args.map((arg) => (arg.endsWith(".yaml") ? join(folder, arg) : arg));

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "olmv1-chart-")));
    const readText = (file: string): Promise<string> => readFile(join(CONFIG, "overlays", file), "utf8");
    const registries = { conf: await readText("air-gapped/registries.conf") };
    const signatures = { policy: await readText("signatures/policy.json") };
    await writeFile(join(folder, "registries.yaml"), JSON.stringify({ registries }));
    await writeFile(join(folder, "signatures.yaml"), JSON.stringify({ signatures }));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Returns the objects of several folders of config/, with components. */
  async function renderTogether({ folders, components = [] }: Variant): Promise<KubeObject[]> {
    if (folders.length === 1 && components.length === 0) return renderKustomization(`config/${folders[0]}`);
    const paths = (of: readonly string[]): string => JSON.stringify(of.map((one) => relative(folder, join(CONFIG, one))));
    const lines = ["kind: Kustomization", "apiVersion: kustomize.config.k8s.io/v1beta1"];
    lines.push(`resources: ${paths(folders)}`, `components: ${paths(components)}`);
    await writeFile(join(folder, "kustomization.yaml"), lines.join("\n"));
    return renderKustomization(folder);
  }

  test.for(VARIANTS)("the chart with $name renders the same objects as kustomize", async (variant) => {
    const [expected, rendered] = [await renderTogether(variant), await renderChart(inFolder(variant.args))];
    const names = (objects: readonly KubeObject[]): string[] => objects.map(describeObject).sort();
    expect(names(rendered)).toEqual(names(expected));
    const kept = rendered.filter(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"] === "keep");
    expect([...new Set(kept.map(({ kind }) => kind))].sort()).toEqual(["CustomResourceDefinition", "Namespace"]);
    for (const object of expected) {
      const name = describeObject(object);
      const found = rendered.find((candidate) => describeObject(candidate) === name);
      const annotations = kept.some((one) => describeObject(one) === name) ? KEEP : {};
      expect(normal(found), name).toEqual(normal(object, annotations));
    }
  });

  test("helm lint reports no problems in the chart", async () => {
    for (const { args } of [...VARIANTS, { args: ["--set", "tls.source=cert-manager"] }]) {
      const readText = await runTool("helm", ["lint", "--strict", CHART, ...inFolder(args)]);
      expect(readText.trim()).toBe("[INFO] Chart.yaml: icon is recommended");
    }
  });

  test("the chart and its appVersion have the version of package.json", async () => {
    const { version } = JSON.parse(await readFile(join(CONFIG, "../package.json"), "utf8")) as { version: string };
    const chart = await readFile(join(CHART, "Chart.yaml"), "utf8");
    expect(chart.match(/^(v|appV)ersion: .*$/gm)).toEqual([`version: ${version}`, `appVersion: ${version}`]);
  });

  // Old releases of Helm write paths with dots, new ones with slashes.
  test.for([
    { values: "replicas=2", message: /dditional propert.*replicas.* not allowed/ },
    { values: "operatorController.managed=true", message: /dditional propert.*managed.* not allowed/ },
    { values: "permissions.mode=Everything", message: /permissions.mode/ },
    { values: "operatorController.replicas=many", message: /operatorController.replicas/ },
    { values: "console.replicas=many", message: /console.replicas/ },
    { values: "console.enabled=true,console.oauth2Proxy.enabled=false", message: /needs console\.tls\.secretName/ },
    { values: "tls.source=none", message: /tls.source/ },
    { values: "image.digest=sha256:1", message: /image.digest/ },
    { values: "registries.globalPullSecret=pull", message: /registries.globalPullSecret/ },
    { values: "catalogd.extraArgs={verbose}", message: /catalogd.extraArgs.0/ },
    { values: "namespace.create=true", message: /set namespace\.name/ },
    { values: "openshift.enabled=true,openshift.catalogs.version=4.20", message: /openshift.catalogs.version/ },
    { values: "openshift.enabled=true,openshift.catalogs.version=v4.20", message: /install without catalogs first/ },
    { values: "catalogs[0].name=a,catalogs[0].spec.priority=1", message: /install without catalogs first/ },
  ])("the chart rejects values $values with a reason", async ({ values, message }) => {
    await expect(renderChart([...SYSTEM, "--set", values])).rejects.toThrow(message);
  });

  describe("values without a folder in config/", () => {
    const only = (objects: readonly KubeObject[], kind: string): KubeObject[] => objects.filter((object) => object.kind === kind);
    const pods = (objects: readonly KubeObject[]) =>
      only(objects, "Deployment").map((object) => (object["spec"] as { template: { spec: PodSpec } }).template.spec);

    test("the chart applies the values for each server to its Pods", async () => {
      const set = [
        "image.repository=registry.example.com/olmv1",
        `image.digest=sha256:${"a".repeat(64)}`,
        "image.pullPolicy=Always",
        "imagePullSecrets={mirror}",
        "proxy.https=http://proxy.internal:3128",
        "proxy.noProxy=.svc\\,.cluster.local",
        "registries.globalPullSecret=openshift-config/pull-secret",
        "permissionManager.pullSecret=bundle-pulls",
        "catalogd.replicas=3",
        "catalogd.extraArgs={--log-level=debug}",
        "catalogd.nodeSelector.disk=ssd",
        "catalogd.priorityClassName=high",
        "operatorController.resources.limits.memory=1Gi",
        "podDisruptionBudgets.enabled=false",
        "networkPolicies.enabled=false",
        "admissionPolicies.serviceAccounts=true",
      ];
      const objects = await renderChart([...SYSTEM, ...set.flatMap((one) => ["--set", one])]);
      expect(only(objects, "PodDisruptionBudget")).toEqual([]);
      expect(only(objects, "NetworkPolicy")).toEqual([]);
      expect(only(objects, "ValidatingAdmissionPolicy").map(({ metadata }) => metadata.name)).toContain(
        "clusterextension-service-accounts",
      );
      for (const account of only(objects, "ServiceAccount")) expect(account["imagePullSecrets"]).toEqual([{ name: "mirror" }]);
      for (const { containers } of pods(objects)) {
        expect(containers[0]).toMatchObject({
          image: `registry.example.com/olmv1@sha256:${"a".repeat(64)}`,
          imagePullPolicy: "Always",
          env: [
            { name: "HTTPS_PROXY", value: "http://proxy.internal:3128" },
            { name: "NO_PROXY", value: ".svc,.cluster.local" },
          ],
        });
      }
      const [catalogd, operatorController, permissionManager] = pods(objects);
      for (const pod of [catalogd, operatorController])
        expect(pod?.containers[0]?.args).toContain("--global-pull-secret=openshift-config/pull-secret");
      expect(permissionManager?.containers[0]?.args).toContain("--auth-file=/etc/olmv1/auth/.dockerconfigjson");
      expect(permissionManager?.volumes).toContainEqual({ name: "auth", secret: { secretName: "bundle-pulls" } });
      expect(catalogd).toMatchObject({ nodeSelector: { disk: "ssd" }, priorityClassName: "high" });
      expect(catalogd?.containers[0]?.args).toContain("--log-level=debug");
      expect(operatorController?.containers[0]?.args).not.toContain("--log-level=debug");
      expect(operatorController?.containers[0]?.resources).toMatchObject({ limits: { memory: "1Gi" } });
    });

    test.for([
      { set: "catalogd.replicas=1", programs: ["operator-controller", "permission-manager"] },
      { set: "options.operatorController.deployment.replicas=1", programs: ["catalogd"] },
      {
        set: "catalogd.replicas=1,options.catalogd.podDisruptionBudget.enabled=true",
        programs: ["catalogd", "operator-controller", "permission-manager"],
      },
    ])("the chart with $set contains the PodDisruptionBudgets of $programs, because that of one replica blocks drains", async (row) => {
      const budgets = only(await renderChart([...SYSTEM, "--set", row.set]), "PodDisruptionBudget");
      expect(budgets.map(({ metadata }) => metadata.name).sort()).toEqual(row.programs.map((program) => `${program}-controller-manager`));
    });

    test.for(["registries", "signatures"])(
      "the chart with %s on OpenShift creates the ConfigMaps in the namespace of each Pod",
      async (file) => {
        const objects = await renderChart([...OPENSHIFT, ...inFolder(["--values", `${file}.yaml`])]);
        const maps = only(objects, "ConfigMap").map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
        const deployments = only(objects, "Deployment");
        expect(new Set(deployments.map(({ metadata }) => metadata.namespace)).size).toBe(2);
        for (const deployment of deployments) expect(maps).toContain(`${deployment.metadata.namespace}/${file}`);
      },
    );

    test("the chart with permissions.mode=Off contains no permission-manager, and operator-controller rejects extensions without a ServiceAccount", async () => {
      const objects = await renderChart([...SYSTEM, "--set", "permissions.mode=Off"]);
      const names = objects.filter(({ kind }) => kind !== "NetworkPolicy").map(describeObject);
      expect(names.filter((name) => name.includes("permission-manager"))).toEqual([]);
      const [, operatorController] = pods(objects);
      expect(operatorController?.containers[0]?.args).toContain("--managed-permissions=off");
    });

    test("the chart without oauth2-proxy serves the console over TLS, only to the peers in the values", async () => {
      const values = {
        console: {
          enabled: true,
          oauth2Proxy: { enabled: false },
          tls: { secretName: "console-cert" },
          hosts: ["console.example.com", "olm.example.com"],
          allowChanges: true,
          pullSecret: "pulls",
          ingressFrom: [{ podSelector: { matchLabels: { app: "gateway" } } }],
        },
      };
      const file = join(folder, "console-values.yaml");
      await writeFile(file, JSON.stringify(values));
      const objects = (await renderChart([...SYSTEM, "--values", file])).filter(({ metadata }) => metadata.name === "console");
      const [pod] = pods(objects);
      expect(pod?.containers).toHaveLength(1);
      const flags = parseConsoleFlags(pod?.containers[0]?.args.slice(1) ?? []);
      expect(flags).toMatchObject({
        "bind-address": ":8443",
        "tls-cert": "/etc/olmv1/tls/tls.crt",
        "allowed-host": ["console.example.com", "olm.example.com"],
        "allow-changes": true,
        "auth-file": "/etc/olmv1/auth/.dockerconfigjson",
      });
      expect(pod?.volumes).toContainEqual({ name: "tls", secret: { secretName: "console-cert" } });
      expect(only(objects, "Service")[0]?.["spec"]).toMatchObject({ ports: [{ port: 443, targetPort: "web" }] });
      expect(only(objects, "NetworkPolicy")[0]?.["spec"]).toMatchObject({
        ingress: [{}, { from: [{ podSelector: { matchLabels: { app: "gateway" } } }] }],
      });
    });

    test("cert-manager issues the certificates that the Pods mount", async () => {
      const objects = await renderChart([...SYSTEM, "--set", "tls.source=cert-manager"]);
      const secrets = pods(objects).flatMap(({ volumes }) => volumes.flatMap(({ secret }) => secret?.secretName ?? []));
      const certificates = only(objects, "Certificate").map(({ spec }) => spec as { secretName: string; dnsNames: string[] });
      expect([...new Set(secrets)].sort()).toEqual(certificates.map(({ secretName }) => secretName).sort());
      expect(certificates.flatMap(({ dnsNames }) => dnsNames).sort()).toEqual(
        only(objects, "Service").map(({ metadata }) => `${metadata.name}.olmv1-system.svc`),
      );
      expect(only(objects, "Issuer")).toHaveLength(1);
      const own = await renderChart([...SYSTEM, "--set", "tls.source=cert-manager,tls.certManager.issuerRef.name=ours"]);
      expect(only(own, "Issuer")).toEqual([]);
      for (const { spec } of only(own, "Certificate")) expect(spec).toMatchObject({ issuerRef: { name: "ours" } });
    });
  });

  describe("on a cluster", () => {
    const helm = (command: string, ...args: string[]): Promise<string> =>
      runTool("helm", [command, "olmv1", ...args, ...SYSTEM, "--kubeconfig", cluster.kubeconfig]);
    const definition = () =>
      cluster.client.get({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        name: "clustercatalogs.olm.operatorframework.io",
      });
    const catalog = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterCatalog", name: "given" };
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: "olmv1-system", name: "catalogd-controller-manager" };

    test("helm install --wait succeeds, helm upgrade updates the CRDs, and helm uninstall keeps CRDs and ClusterCatalogs", async () => {
      const older = join(folder, "older");
      await cp(CHART, older, { recursive: true });
      const file = join(older, "templates/crd/olm.operatorframework.io_clustercatalogs.yaml");
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("name: LastUnpacked", "name: Older"));

      const notes = await helm("install", older, "--create-namespace", "--wait", "--timeout", "60s");
      expect(notes).toContain("There is no catalog yet");
      expect(JSON.stringify(await definition())).toContain('"name":"Older"');

      const spec = '{"source":{"type":"Image","image":{"ref":"quay.io/example/catalog:v1"}}}';
      const upgraded = await helm(
        "upgrade",
        CHART,
        "--wait",
        "--timeout",
        "60s",
        "--set-json",
        `catalogs=[{"name":"given","spec":${spec}}]`,
      );
      expect(upgraded).not.toContain("There is no catalog yet");
      expect(JSON.stringify(await definition())).not.toContain('"name":"Older"');
      expect(await cluster.client.get(catalog)).toMatchObject({ spec: { availabilityMode: "Available" } });

      await helm("uninstall", "--wait", "--timeout", "60s");
      expect(await cluster.client.get(deployment)).toBeUndefined();
      expect(await definition()).toBeDefined();
      expect(await cluster.client.get(catalog)).toMatchObject({ metadata: { annotations: KEEP } });
      await helm("install", CHART);
      await helm("uninstall");
    });

    /** Removes the CRDs that an earlier release has left. */
    async function removeDefinitions(): Promise<void> {
      const crds = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
      const list = async () => (await cluster.client.list(crds)).items.filter(({ metadata }) => metadata.name.endsWith(`.${GROUP}`));
      for (const { metadata } of await list()) await cluster.client.delete({ ...crds, name: metadata.name });
      await eventually(async () => expect(await list()).toEqual([]), { timeoutMs: 60_000 });
    }

    test("the two commands in docs/how-to/install-on-openshift.md install olmv1, and then the catalogs of Red Hat", async () => {
      const openShift = new OpenShift(cluster.client);
      await openShift.install(["prometheusrules", "servicemonitors"]);
      await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "openshift-config" } });
      const page = await readFile(join(CONFIG, "../docs/how-to/install-on-openshift.md"), "utf8");
      const commands = [...page.matchAll(/^helm (.*)$/gm)].map(([, args = ""]) => args.replace("config/helm/olmv1", CHART).split(" "));
      const [install = [], upgrade = []] = commands;
      // The Helm of the tests has no --reuse-values.
      const values = install.slice(install.indexOf("--set"));
      const upgradeArgs = upgrade.flatMap((arg) => (arg === "--reuse-values" ? values : [arg]));
      expect([commands.length, upgradeArgs.length]).toEqual([2, upgrade.length - 1 + values.length]);
      await removeDefinitions();
      const flags = ["--wait", "--timeout", "60s", "--kubeconfig", cluster.kubeconfig];
      for (const args of [install, upgradeArgs]) await runTool("helm", [...args, ...flags]);
      const { items } = await cluster.client.list({ apiVersion: catalog.apiVersion, kind: catalog.kind });
      expect(items.map(({ metadata }) => metadata.name)).toEqual(
        expect.arrayContaining(["openshift-certified-operators", "openshift-community-operators", "openshift-redhat-operators"]),
      );
      const namespace = { apiVersion: "v1", kind: "Namespace", name: "openshift-operator-controller" };
      expect(await cluster.client.get(namespace)).toMatchObject({ metadata: { labels: { "openshift.io/cluster-monitoring": "true" } } });
    });
  });
});

/** Selects the members of a Pod that the chart's values set. */
interface PodSpec {
  containers: { args: string[]; resources: object }[];
  volumes: { secret?: { secretName: string } }[];
}

/** Ignores order where it does not matter, empty members, and additional annotations. */
function normal(object: KubeObject | undefined, annotations: Record<string, string> = {}): unknown {
  if (object === undefined) return undefined;
  const all = { ...annotations, ...object.metadata.annotations };
  const marked = Object.keys(all).length > 0 ? { ...object, metadata: { ...object.metadata, annotations: all } } : object;
  const byText = (a: unknown, b: unknown): number => compareText(encodeCanonicalJson(a), encodeCanonicalJson(b));
  return JSON.parse(JSON.stringify(marked), (key, value: unknown) =>
    ["args", "volumes", "volumeMounts", "ports"].includes(key) && Array.isArray(value) ? [...value].sort(byText) : value,
  ) as unknown;
}
