import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFlags as parseCatalogdFlags } from "../../cmd/catalogd/flags.ts";
import { getApiServer, parseFlags as parseConsoleFlags } from "../../cmd/console/flags.ts";
import { parseFlags } from "../../cmd/operator-controller/flags.ts";
import { parseFlags as parsePermissionManagerFlags } from "../../cmd/permission-manager/flags.ts";
import { OPENSHIFT_CATALOGD_NAMESPACE, OPENSHIFT_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { SUPPORTED_KINDS } from "../../pkg/bundle/validate.ts";
import { getServingSecretName, parseServingSecret } from "../../pkg/certificates/servingCertificate.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { listUnsupportedScopes, parsePolicy } from "../../pkg/oci/policy/policyFile.ts";
import { HeldRule, type PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { compareText } from "../../pkg/text/compare.ts";
import { describeWithCluster, type TestCluster } from "../support/cluster.ts";
import { isOlderThan } from "../support/kubernetesVersion.ts";
import { renderKustomization } from "../support/manifests.ts";
import { describeWithData } from "../support/sharedData.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const CONTROLLER = "operator-controller-controller-manager";
const CATALOGD = "catalogd-controller-manager";
const PERMISSION_MANAGER = "permission-manager-controller-manager";
/** Every server, with the parser of its flags. */
const SERVERS = [
  [CONTROLLER, parseFlags],
  [CATALOGD, parseCatalogdFlags],
  [PERMISSION_MANAGER, parsePermissionManagerFlags],
] as const;
const SAMPLE_NAMESPACE = "cockroachdb";
/** Contains a MutatingAdmissionPolicy, which older API servers do not have. */
const MUTATING = "config/admission";
/** Arguments of `kubectl apply -k`. */
const FOLDERS = [
  "config",
  MUTATING,
  "config/conformance",
  "config/console",
  "config/openshift",
  "config/operator-conditions",
  "config/overlays/drop-in",
  "config/overlays/shared-watch",
  "config/overlays/air-gapped",
  "config/overlays/signatures",
  "config/samples",
];
/** Optional manifests, each applied separately. */
const UPGRADE_CHECKER = "openshift/upgrade-checker.yaml";
const CATALOGS = "openshift/catalogs.yaml";
const MONITORING = "openshift/monitoring.yaml";
const ACCESS_CONTROL = "samples/access-control.yaml";
const SERVICE_ACCOUNTS = "samples/service-accounts.yaml";

/** A source of a projected volume. */
interface ProjectedFiles {
  name: string;
  optional?: boolean;
  items: { key: string }[];
}

/** A volume of a Pod. */
interface PodVolume {
  name: string;
  secret?: { secretName: string };
  configMap?: { name: string };
  projected?: { sources: { secret?: ProjectedFiles; configMap?: ProjectedFiles }[] };
}

/** The fields of a Pod template that overlays change. */
interface PodTemplate {
  metadata: { annotations: Record<string, string>; labels: Record<string, string> };
  spec: {
    priorityClassName?: string;
    hostUsers?: boolean;
    nodeSelector?: Record<string, string>;
    containers: { args: string[]; ports: { name: string; containerPort: number }[] }[];
    volumes: PodVolume[];
    topologySpreadConstraints: { topologyKey: string; labelSelector: { matchLabels: Record<string, string> } }[];
  };
}

/** The spec of a Deployment. */
interface DeploymentSpec {
  replicas: number;
  strategy: unknown;
  template: PodTemplate;
}

/** Returns a manifest of config with the namespaces of OpenShift. */
function moveToOpenShift(object: KubeObject): KubeObject {
  const ofCatalogd = object.metadata.labels?.["app.kubernetes.io/name"] === "catalogd";
  const text = JSON.stringify(object)
    .replaceAll(/("name":"catalogd-controller-manager","namespace":)"olmv1-system"/g, `$1"${OPENSHIFT_CATALOGD_NAMESPACE}"`)
    .replaceAll("olmv1-system", ofCatalogd ? OPENSHIFT_CATALOGD_NAMESPACE : OPENSHIFT_NAMESPACE);
  return JSON.parse(text) as KubeObject;
}

describeWithCluster("config", (cluster) => {
  beforeAll(async () => {
    await cluster.installCrds();
    await apply(cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name: "openshift-config" } });
    const roles = ["operator-controller", "catalogd", "metrics", "permission-manager"].map((name) => `rbac/${name}.yaml`);
    for (const object of readFiles("namespace/namespace.yaml", ...roles)) await apply(cluster, object);
  });

  test.for(FOLDERS.filter((folder) => folder !== MUTATING || !isOlderThan(36, folder)))(
    "kubectl apply -k %s is accepted without changes and without warnings",
    async (folder) => {
      const objects = await renderKustomization(folder);
      const namespaces = objects.filter(({ kind }) => kind === "Namespace");
      for (const namespace of namespaces) await apply(cluster, namespace);
      try {
        for (const object of objects) expect(await dryRun(cluster, object), `${object.kind} ${object.metadata.name}`).toEqual([]);
      } finally {
        for (const { metadata } of namespaces) {
          if ([SAMPLE_NAMESPACE, OPENSHIFT_NAMESPACE, OPENSHIFT_CATALOGD_NAMESPACE].includes(metadata.name))
            await cluster.client.delete({ apiVersion: "v1", kind: "Namespace", name: metadata.name });
        }
      }
      expect(objects.map(({ kind }) => kind)).not.toHaveLength(0);
    },
  );

  test.for([ACCESS_CONTROL, SERVICE_ACCOUNTS, CATALOGS])(
    "kubectl apply -f config/%s is accepted without changes and without warnings",
    async (file) => {
      for (const object of readFiles(file)) expect(await dryRun(cluster, object), `${object.kind} ${object.metadata.name}`).toEqual([]);
    },
  );

  test("config/openshift/upgrade-checker.yaml uses the namespace of config/openshift, and is accepted without warnings", async () => {
    const text = JSON.stringify(readFiles(UPGRADE_CHECKER));
    expect(text).not.toContain("olmv1-system");
    const moved = JSON.parse(text.replaceAll(OPENSHIFT_NAMESPACE, "olmv1-system")) as KubeObject[]; // an existing namespace
    for (const object of moved) expect(await dryRun(cluster, object), `${object.kind} ${object.metadata.name}`).toEqual([]);
  });

  test("config/openshift installs the objects of config in two namespaces, with certificates of the service CA and permission to read the TLS profile", async () => {
    const [plain, overlay] = [await renderKustomization("config"), await renderKustomization("config/openshift")];
    expect(JSON.stringify(overlay)).not.toContain("olmv1-system");
    const moved = plain.map(moveToOpenShift);
    const kept = listNames(moved).filter((name) => !name.startsWith("Secret "));
    const reader = "olmv1-tls-profile-reader";
    const added = [
      `ConfigMap ${OPENSHIFT_NAMESPACE}/operator-controller-trusted-ca-bundle`,
      `ConfigMap ${OPENSHIFT_CATALOGD_NAMESPACE}/catalogd-trusted-ca-bundle`,
      ...["operator-controller", "catalogd"].flatMap((program) => [
        `Role openshift-config/${program}-manager-role`,
        `RoleBinding openshift-config/${program}-manager-rolebinding`,
      ]),
      `ClusterRole /${reader}`,
      `ClusterRoleBinding /${reader}`,
      ...["ClusterRole", "ClusterRoleBinding"].flatMap((kind) => [
        `${kind} /olmv1-cluster-image-policies-reader`,
        `${kind} /olmv1-image-policies-reader`,
      ]),
      "ClusterRole /olmv1-registries-reader",
      "ClusterRoleBinding /olmv1-registries-reader",
      "Role openshift-config/olmv1-registries-reader",
      "RoleBinding openshift-config/olmv1-registries-reader",
      `Namespace /${OPENSHIFT_CATALOGD_NAMESPACE}`,
      `NetworkPolicy ${OPENSHIFT_CATALOGD_NAMESPACE}/default-deny-all-traffic`,
      `Role ${OPENSHIFT_CATALOGD_NAMESPACE}/operator-controller-deployment-reader`,
      `RoleBinding ${OPENSHIFT_CATALOGD_NAMESPACE}/operator-controller-deployment-reader`,
    ];
    expect(listNames(overlay)).toEqual([...kept, ...added].sort());
    const changed = new Set(["Deployment", "Namespace", "Service", "ConfigMap", "Secret"]);
    const others = (of: readonly KubeObject[]): KubeObject[] =>
      of
        .filter((object) => !changed.has(object.kind) && object.metadata.name !== reader && !added.includes(listNames([object])[0] ?? ""))
        .sort(byName);
    expect(others(overlay)).toEqual(others(moved));
    expect(overlay.find(({ kind }) => kind === "Namespace")?.metadata.labels).toMatchObject(
      moved.find(({ kind }) => kind === "Namespace")?.metadata.labels ?? {},
    );
    for (const [name, parse] of SERVERS) {
      const { spec } = findDeployment(overlay, name).template;
      expect(parse(spec.containers[0]?.args.slice(1) ?? [])).toMatchObject({
        "global-pull-secret": "openshift-config/pull-secret",
        "pull-cas-dir": "/etc/olmv1/authorities",
      });
      const authorities = spec.volumes.find((volume) => volume.name === "authorities")?.projected?.sources;
      expect(authorities?.map(({ configMap }) => [configMap?.name, configMap?.optional])).toEqual([
        [`${name === CATALOGD ? "catalogd" : "operator-controller"}-trusted-ca-bundle`, true],
        ["openshift-service-ca.crt", undefined],
      ]);
    }
    for (const [program, parse] of [
      ["operator-controller", parseFlags],
      ["catalogd", parseCatalogdFlags],
    ] as const) {
      const { spec, metadata } = findDeployment(overlay, `${program}-controller-manager`).template;
      expect(metadata.annotations).toMatchObject({ "openshift.io/required-scc": "restricted-v2" });
      expect(spec).toMatchObject({
        priorityClassName: "system-cluster-critical",
        hostUsers: false,
        nodeSelector: { "kubernetes.io/os": "linux", "node-role.kubernetes.io/control-plane": "" },
      });
      const [file, ...flags] = spec.containers[0]?.args ?? [];
      expect([file, parse(flags)]).toMatchObject([
        `/app/${program}.js`,
        {
          "system-namespace": program === "catalogd" ? OPENSHIFT_CATALOGD_NAMESPACE : OPENSHIFT_NAMESPACE,
          "tls-cert": "/etc/olmv1/tls/tls.crt",
          "tls-profile": "cluster",
          "leader-elect": true,
        },
      ]);
      expect(spec.volumes).toContainEqual({ name: "tls", secret: { secretName: `${program}-cert` } });
      const service = overlay.find(({ kind, metadata: { name } }) => kind === "Service" && name === `${program}-service`);
      expect(service?.metadata.annotations).toEqual({ "service.beta.openshift.io/serving-cert-secret-name": `${program}-cert` });
    }
    const { volumes, containers } = findDeployment(overlay, CONTROLLER).template.spec;
    expect(volumes.find(({ name }) => name === "catalogd-ca")).toMatchObject({ configMap: { name: "openshift-service-ca.crt" } });
    expect(parseFlags(containers[0]?.args.slice(1) ?? [])).toMatchObject({
      "cluster-operator": "auto",
      "managed-permissions": "always",
    });
    const catalogd = findDeployment(overlay, CATALOGD).template.spec.containers[0]?.args.slice(1) ?? [];
    expect(parseCatalogdFlags(catalogd)).toMatchObject({ "external-address": `catalogd-service.${OPENSHIFT_CATALOGD_NAMESPACE}.svc` });
  });

  test("overlay drop-in only changes flags: all extensions are managed, and permission-manager grants all permissions", async () => {
    const [plain, overlay] = [await renderKustomization("config"), await renderKustomization("config/overlays/drop-in")];
    expect(listNames(overlay)).toEqual(listNames(plain));
    const flagsOf = (name: string): string[] => findDeployment(overlay, name).template.spec.containers[0]?.args.slice(1) ?? [];
    expect(parseFlags(flagsOf(CONTROLLER))).toMatchObject({ "managed-permissions": "always" });
    expect(parsePermissionManagerFlags(flagsOf(PERMISSION_MANAGER))).toMatchObject({
      "managed-permissions": "always",
      "default-grant": "Automatic",
    });
  });

  // Source: O-14.
  test("overlay shared-watch adds permission to list and watch every kind of bundle content except Secrets", async () => {
    const [plain, overlay] = [await renderKustomization("config"), await renderKustomization("config/overlays/shared-watch")];
    const added = listNames(overlay).filter((name) => !listNames(plain).includes(name));
    expect(added).toEqual(["ClusterRole /operator-controller-shared-watch", "ClusterRoleBinding /operator-controller-shared-watch"]);
    const flags = findDeployment(overlay, CONTROLLER).template.spec.containers[0]?.args.slice(1) ?? [];
    expect(parseFlags(flags)).toMatchObject({ "shared-watches": true });
    const [role] = readFiles("overlays/shared-watch/shared-watch.yaml");
    const rules = role?.["rules"] as PolicyRule[];
    expect(new Set(rules.flatMap(({ verbs }) => verbs))).toEqual(new Set(["list", "watch"]));
    const looked = new Set(rules.flatMap(({ resources = [] }) => resources));
    const rendered = [
      "Deployment",
      "ValidatingWebhookConfiguration",
      "MutatingWebhookConfiguration",
      "APIService",
      "Issuer",
      "Certificate",
    ];
    const kinds = [...Object.keys(SUPPORTED_KINDS), ...rendered].filter((kind) => kind !== "ClusterServiceVersion");
    expect(kinds.filter((kind) => !looked.has(toPlural(kind)))).toEqual(["Secret"]);
  });

  // Source: S0-117.
  test("the air-gapped overlay sets registries.conf and the CA certificates for all servers, and only config/samples contains a ClusterCatalog", async () => {
    const overlay = await renderKustomization("config/overlays/air-gapped");
    for (const [name, parse] of SERVERS) {
      const { containers, volumes } = findDeployment(overlay, name).template.spec;
      expect(parse(containers[0]?.args.slice(1) ?? [])).toMatchObject({
        "registries-conf": "/etc/olmv1/registries/registries.conf",
        "pull-cas-dir": "/etc/olmv1/authorities",
      });
      expect(volumes.flatMap(({ configMap }) => configMap?.name ?? [])).toEqual(["registries", "registry-authorities"]);
    }
    for (const folder of FOLDERS) {
      const catalogs = (await renderKustomization(folder)).filter(({ kind }) => kind === "ClusterCatalog");
      expect([folder, catalogs.length > 0]).toEqual([folder, folder === "config/samples"]);
    }
  });

  test("overlay signatures sets a signature policy for all servers, and the policy accepts images of real registries", async () => {
    const overlay = await renderKustomization("config/overlays/signatures");
    for (const [name, parse] of SERVERS) {
      const { containers, volumes } = findDeployment(overlay, name).template.spec;
      expect(parse(containers[0]?.args.slice(1) ?? [])).toMatchObject({ "signature-policy": "/etc/olmv1/signatures/policy.json" });
      expect(volumes.flatMap(({ configMap }) => configMap?.name ?? [])).toEqual(["signatures"]);
    }
    const mounted = overlay.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "signatures");
    const policy = parsePolicy((mounted?.["data"] as Record<string, string> | undefined)?.["policy.json"] ?? "");
    expect(policy.default).toEqual([{ type: "insecureAcceptAnything" }]);
    expect([...policy.docker.keys()]).toEqual(["registry.example.com/olm"]);
    expect(listUnsupportedScopes(policy)).toEqual({});
  });

  describe("replicas of all servers", () => {
    let objects: KubeObject[];
    beforeAll(async () => {
      objects = await renderKustomization("config");
    });

    test.for([
      ["catalogd", parseCatalogdFlags],
      ["operator-controller", parseFlags],
      ["permission-manager", parsePermissionManagerFlags],
    ] as const)(
      "the Deployment of %s uses leader election, spreads its replicas, and keeps a replica during updates and node drains",
      ([program, parse]) => {
        const { replicas, strategy, template } = findDeployment(objects, `${program}-controller-manager`);
        expect([replicas, strategy]).toEqual([2, { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }]);
        const [file, ...flags] = template.spec.containers[0]?.args ?? [];
        expect([file, parse(flags)]).toMatchObject([`/app/${program}.js`, { "leader-elect": true }]);
        const matchLabels = { "app.kubernetes.io/name": program };
        expect(template.metadata.labels).toMatchObject(matchLabels);
        const spread = template.spec.topologySpreadConstraints.map(({ topologyKey, labelSelector }) => [topologyKey, labelSelector]);
        expect(spread).toEqual([
          ["kubernetes.io/hostname", { matchLabels }],
          ["topology.kubernetes.io/zone", { matchLabels }],
        ]);
        const budget = objects.find(
          ({ kind, metadata }) => kind === "PodDisruptionBudget" && metadata.name === `${program}-controller-manager`,
        );
        expect(budget?.["spec"]).toEqual({ minAvailable: 1, selector: { matchLabels }, unhealthyPodEvictionPolicy: "AlwaysAllow" });
      },
    );

    test("network policies permit only traffic to the ports of the servers", () => {
      const policies = objects.filter(({ kind }) => kind === "NetworkPolicy");
      const specs = new Map(policies.map(({ metadata, ...policy }) => [metadata.name, policy["spec"] as Record<string, unknown>]));
      expect(specs.get("default-deny-all-traffic")).toEqual({ podSelector: {}, policyTypes: ["Ingress", "Egress"] });
      for (const program of ["catalogd", "operator-controller", "permission-manager"]) {
        const { ports } = findDeployment(objects, `${program}-controller-manager`).template.spec.containers[0] ?? { ports: [] };
        const opened = specs.get(`${program}-controller-manager`) as { podSelector: unknown; ingress: { ports: { port: string }[] }[] };
        expect(opened.podSelector).toEqual({ matchLabels: { "app.kubernetes.io/name": program } });
        expect(opened.ingress[0]?.ports.map(({ port }) => port).sort()).toEqual(ports.map(({ name }) => name).sort());
      }
    });
  });

  test("an overlay next to config can set the image of all servers", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "olmv1-image-")));
    try {
      const image = { name: "localhost/olmv1", newName: "registry.example.com/olmv1", newTag: "0.1.0" };
      const text = JSON.stringify({ resources: [relative(folder, CONFIG)], images: [image] });
      await writeFile(join(folder, "kustomization.yaml"), text);
      const objects = await renderKustomization(folder);
      for (const [name] of SERVERS)
        expect(findDeployment(objects, name).template.spec.containers[0]).toMatchObject({ image: "registry.example.com/olmv1:0.1.0" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("every manifest in config belongs to a kustomization", async () => {
    const objects = [...(await renderKustomization("config")), ...(await renderKustomization("config/samples"))];
    const files = (readdirSync(CONFIG, { recursive: true }) as string[]).filter(
      (file) =>
        file.endsWith(".yaml") &&
        !file.endsWith("kustomization.yaml") &&
        ![ACCESS_CONTROL, SERVICE_ACCOUNTS].includes(file) &&
        !/^(argocd|helm|samples\/(gitops|helm|policies))\//.test(file), // applied by other tools
    );
    const isOverlay = (file: string): boolean =>
      /^(admission|conformance|console|openshift|operator-conditions|overlays|prometheus)\//.test(file);
    expect(listNames(objects)).toEqual(listNames(readFiles(...files.filter((file) => !isOverlay(file)))));
    const own = [
      "admission/catalog-label.yaml",
      "conformance/job.yaml",
      "console/console.yaml",
      "console/network-policy.yaml",
      "console/service-account.yaml",
      "openshift/catalogd-namespace.yaml",
      CATALOGS,
      "openshift/image-policies.yaml",
      MONITORING,
      "openshift/pull-secret.yaml",
      "openshift/registries.yaml",
      "openshift/tls-profile.yaml",
      "openshift/trusted-ca.yaml",
      UPGRADE_CHECKER,
      "operator-conditions/operators.coreos.com_operatorconditions.yaml",
      "overlays/shared-watch/shared-watch.yaml",
    ];
    expect(files.filter((file) => isOverlay(file) && !file.startsWith("prometheus/")).sort()).toEqual(own);
  });

  describe("config/console", () => {
    let objects: KubeObject[];
    beforeAll(async () => {
      objects = await renderKustomization("config/console");
    });

    test("the console has no permissions, mounts no token, and rejects changes", () => {
      expect(listNames(objects)).toEqual([
        "Deployment olmv1-system/console",
        "NetworkPolicy olmv1-system/console",
        "Service olmv1-system/console",
        "ServiceAccount olmv1-system/console",
      ]);
      expect(objects.find(({ kind }) => kind === "ServiceAccount")).toMatchObject({ automountServiceAccountToken: false });
      const { spec } = findDeployment(objects, "console").template;
      expect(spec).toMatchObject({
        serviceAccountName: "console",
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      expect(spec.volumes.filter(({ secret }) => secret)).toEqual([]);
      for (const container of spec.containers) {
        expect(container).toMatchObject({
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
        });
      }
      const [file, ...flags] = spec.containers[0]?.args ?? [];
      expect(file).toBe("/app/console.js");
      expect(parseConsoleFlags(flags)).toMatchObject({ "allow-changes": false, "system-namespace": "olmv1-system" });
    });

    test("only the proxy in the Pod reaches the console, and only the Ingress controller reaches the proxy", () => {
      const { containers } = findDeployment(objects, "console").template.spec;
      const [console, proxy] = containers;
      expect(parseConsoleFlags(console?.args.slice(1) ?? [])).toMatchObject({ "bind-address": "127.0.0.1:8080" });
      expect(console?.ports.map(({ name }) => name)).toEqual(["probes"]);
      expect(proxy?.args).toEqual(
        expect.arrayContaining(["--upstream=http://127.0.0.1:8080", "--pass-authorization-header", "--api-route=^/api/"]),
      );
      expect(objects.find(({ kind }) => kind === "NetworkPolicy")?.["spec"]).toMatchObject({
        podSelector: { matchLabels: { "app.kubernetes.io/name": "console" } },
        ingress: [
          { ports: [{ port: "probes" }] },
          {
            from: [{ namespaceSelector: { matchLabels: { "olm.operatorframework.io/console-access": "true" } } }],
            ports: [{ port: "web" }],
          },
        ],
      });
    });

    test("the console mounts the certificate authority of catalogd in every installation, and no key", () => {
      const { containers, volumes } = findDeployment(objects, "console").template.spec;
      expect(parseConsoleFlags(containers[0]?.args.slice(1) ?? [])).toMatchObject({ "catalogd-cas-dir": "/etc/olmv1/catalogd" });
      const { projected } = volumes.find(({ name }) => name === "catalogd-ca") ?? {};
      const files = projected?.sources.flatMap((source) => Object.values(source)) ?? [];
      expect(files.map(({ name, optional, items }) => [name, optional, items.map(({ key }) => key)])).toEqual([
        ["catalogd-serving-cert", true, ["ca.crt"]],
        ["catalogd-cert", true, ["ca.crt"]],
        ["openshift-service-ca.crt", true, ["service-ca.crt"]],
      ]);
      expect(objects.find(({ kind }) => kind === "NetworkPolicy")?.["spec"]).toMatchObject({ egress: [{}] });
    });

    test("the console finds the API server without a token: its address in the environment, its authority in a ConfigMap", () => {
      const { containers, volumes } = findDeployment(objects, "console").template.spec;
      const flags = parseConsoleFlags(containers[0]?.args.slice(1) ?? []);
      if (flags === "help") throw new Error("no flags");
      expect(getApiServer(flags, { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "6443" })).toBe("https://10.0.0.1:6443");
      expect(volumes.find(({ name }) => name === "api-server")?.configMap).toMatchObject({ name: "kube-root-ca.crt" });
      expect(flags["api-server-ca-file"]).toBe("/etc/olmv1/api-server/ca.crt");
    });
  });

  test("config/prometheus scrapes the ports that config opens, and contains the dashboard", async () => {
    const objects = await renderKustomization("config/prometheus");
    expect(objects.map(({ kind }) => kind).sort()).toEqual(["ConfigMap", "PrometheusRule", "ServiceMonitor", "ServiceMonitor"]);
    const services = (await renderKustomization("config")).filter(({ kind }) => kind === "Service");
    for (const monitor of objects.filter(({ kind }) => kind === "ServiceMonitor")) {
      const { selector, endpoints } = monitor["spec"] as {
        selector: { matchLabels: Record<string, string> };
        endpoints: { port: string }[];
      };
      const chosen = services.filter(({ metadata }) =>
        Object.entries(selector.matchLabels).every(([label, value]) => metadata.labels?.[label] === value),
      );
      const ports = chosen.flatMap((service) => (service["spec"] as { ports: { name: string }[] }).ports.map(({ name }) => name));
      expect([monitor.metadata.name, chosen.length, ports.includes(endpoints[0]?.port ?? "")]).toEqual([monitor.metadata.name, 1, true]);
    }
    const { data } = objects.find(({ kind }) => kind === "ConfigMap") as unknown as { data: Record<string, string> };
    expect(JSON.parse(data["olmv1.json"] ?? "")).toMatchObject({ title: "OLM v1" });
  });

  describe("certificates", () => {
    let objects: KubeObject[];
    beforeAll(async () => {
      objects = [...(await renderKustomization("config")), ...(await renderKustomization("config/prometheus"))];
    });

    test.for([
      { server: "operator-controller", parse: parseFlags, metrics: 8443, ports: [{ name: "metrics", port: 8443, targetPort: "metrics" }] },
      {
        server: "catalogd",
        parse: parseCatalogdFlags,
        metrics: 7443,
        ports: [
          { name: "catalogs", port: 443, targetPort: "catalogs" },
          { name: "metrics", port: 7443, targetPort: "metrics" },
        ],
      },
    ])(
      "$server writes its own certificate to a Secret in config that is initially empty, and Prometheus trusts the certificate",
      ({ server, parse, metrics, ports }) => {
        const { spec } = findDeployment(objects, `${server}-controller-manager`).template;
        const flags = parse(spec.containers[0]?.args.slice(1) ?? []);
        expect(flags).toMatchObject({ "serving-certificates": "self-managed" });
        expect(flags).not.toMatchObject({ "insecure-plain-http": true });
        expect(spec.containers[0]?.ports).toContainEqual({ name: "metrics", containerPort: metrics });
        // Volumes only mount objects that exist.
        expect(spec.volumes.filter(({ secret, configMap }) => secret ?? configMap)).toEqual([]);
        const found = (kind: string, name: string): KubeObject | undefined =>
          objects.find((object) => object.kind === kind && object.metadata.name === name);
        expect(found("Service", `${server}-service`)?.["spec"]).toMatchObject({ ports });
        const place = getServingSecretName(server as "catalogd", "olmv1-system");
        const secret = found("Secret", place.name);
        expect([secret?.["type"], secret?.["data"], parseServingSecret(secret, place)]).toEqual(["Opaque", undefined, { kind: "empty" }]);
        expect(found("ServiceMonitor", server)?.["spec"]).toMatchObject({
          endpoints: [
            {
              port: "metrics",
              scheme: "https",
              tlsConfig: { serverName: `${server}-service.olmv1-system.svc`, ca: { secret: { name: place.name, key: "ca.crt" } } },
            },
          ],
        });
      },
    );
  });

  describe("with config/tls", () => {
    let folder: string;
    let objects: KubeObject[];

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "olmv1-tls-"));
      const config = relative(await realpath(folder), CONFIG);
      const lines = [
        "kind: Kustomization",
        "apiVersion: kustomize.config.k8s.io/v1beta1",
        `resources: [${config}, ${config}/prometheus]`,
        `components: [${config}/tls]`,
      ];
      await writeFile(join(folder, "kustomization.yaml"), lines.join("\n"));
      objects = await renderKustomization(folder);
    });
    afterAll(() => rm(folder, { recursive: true }));

    test("the objects of config/tls are accepted without changes and without warnings", async () => {
      for (const object of objects.filter(({ apiVersion }) => !apiVersion.startsWith("monitoring.coreos.com/")))
        expect(await dryRun(cluster, object), `${object.kind} ${object.metadata.name}`).toEqual([]);
      const all = listNames([...(await renderKustomization("config")), ...(await renderKustomization("config/prometheus"))]);
      expect(listNames(objects)).toEqual(all.filter((name) => !name.startsWith("Secret ")));
    });

    test.for([
      { server: "operator-controller", parse: parseFlags, port: 8443 },
      { server: "catalogd", parse: parseCatalogdFlags, port: 7443 },
    ])(
      "config/tls mounts the certificate of $server at the path in its flags, and Service and ServiceMonitor use its metrics port",
      ({ server, parse, port }) => {
        const findNamed = (kind: string, name: string): Record<string, unknown> =>
          objects.find((object) => object.kind === kind && object.metadata.name === name)?.["spec"] as Record<string, unknown>;
        const { spec } = findNamed("Deployment", `${server}-controller-manager`)["template"] as PodTemplate;
        const [container] = spec.containers;
        expect(parse(container?.args.slice(1) ?? [])).toMatchObject({
          "tls-cert": "/etc/olmv1/tls/tls.crt",
          "tls-key": "/etc/olmv1/tls/tls.key",
          "serving-certificates": "files",
        });
        expect(container).toMatchObject({
          ports: expect.arrayContaining([{ name: "metrics", containerPort: port }]),
          volumeMounts: expect.arrayContaining([{ name: "tls", mountPath: "/etc/olmv1/tls", readOnly: true }]),
        });
        expect(spec).toMatchObject({ volumes: expect.arrayContaining([{ name: "tls", secret: { secretName: `${server}-cert` } }]) });
        expect(findNamed("Service", `${server}-service`)["ports"]).toContainEqual({ name: "metrics", port, targetPort: "metrics" });
        expect(findNamed("ServiceMonitor", server)["endpoints"]).toMatchObject([
          {
            port: "metrics",
            scheme: "https",
            tlsConfig: { serverName: `${server}-service.olmv1-system.svc`, ca: { secret: { name: `${server}-cert` } } },
          },
        ]);
      },
    );
  });

  describe("permissions", () => {
    test.for([
      { user: CONTROLLER, verb: "patch", what: "clusterextensions.olm.operatorframework.io", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "clusterextensions.olm.operatorframework.io/status", allowed: true },
      { user: CONTROLLER, verb: "watch", what: "clustercatalogs.olm.operatorframework.io", allowed: true },
      { user: CONTROLLER, verb: "create", what: "secrets in olmv1-system", allowed: true },
      { user: CONTROLLER, verb: "create", what: "events in default", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "clustercatalogs.olm.operatorframework.io", allowed: false },
      { user: CONTROLLER, verb: "create", what: "clusterextensions.olm.operatorframework.io", allowed: true },
      { user: CONTROLLER, verb: "delete", what: "clusterextensions.olm.operatorframework.io", allowed: true },
      { user: CONTROLLER, verb: "deletecollection", what: "clusterextensions.olm.operatorframework.io", allowed: false },
      { user: CONTROLLER, verb: "get", what: "secrets in default", allowed: false },
      { user: CONTROLLER, verb: "get", what: "serviceaccounts in default", allowed: false },
      { user: CONTROLLER, verb: "create", what: "serviceaccounts/token in default", allowed: false },
      { user: CONTROLLER, verb: "impersonate", what: "serviceaccounts in default", allowed: false },
      { user: CONTROLLER, verb: "watch", what: "secrets in olmv1-system", allowed: true },
      { user: CONTROLLER, verb: "watch", what: "deployments.apps in olmv1-system", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "deployments.apps in olmv1-system", allowed: false },
      { user: CONTROLLER, verb: "get", what: "deployments.apps in default", allowed: false },
      { user: CONTROLLER, verb: "watch", what: "clusterversions.config.openshift.io named version", allowed: true },
      { user: CONTROLLER, verb: "list", what: "clusterversions.config.openshift.io", allowed: false },
      { user: CONTROLLER, verb: "watch", what: "proxies.config.openshift.io named cluster", allowed: true },
      { user: CONTROLLER, verb: "list", what: "proxies.config.openshift.io", allowed: false },
      { user: CONTROLLER, verb: "create", what: "clusteroperators.config.openshift.io named olm", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "clusteroperators.config.openshift.io/status named olm", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "clusteroperators.config.openshift.io/status named etcd", allowed: false },
      { user: CONTROLLER, verb: "delete", what: "clusteroperators.config.openshift.io named olm", allowed: false },
      { user: CONTROLLER, verb: "watch", what: "olms.operator.openshift.io named cluster", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "olms.operator.openshift.io named cluster", allowed: false },
      { user: CONTROLLER, verb: "create", what: "tokenreviews.authentication.k8s.io", allowed: true },
      { user: CONTROLLER, verb: "create", what: "subjectaccessreviews.authorization.k8s.io", allowed: true },
      { user: CATALOGD, verb: "create", what: "tokenreviews.authentication.k8s.io", allowed: true },
      { user: CATALOGD, verb: "create", what: "subjectaccessreviews.authorization.k8s.io", allowed: true },
      { user: CONTROLLER, verb: "list", what: "customresourcedefinitions.apiextensions.k8s.io", allowed: true },
      { user: CONTROLLER, verb: "patch", what: "customresourcedefinitions.apiextensions.k8s.io", allowed: false },
      { user: CONTROLLER, verb: "create", what: "clusterroles.rbac.authorization.k8s.io", allowed: false },
      { user: CATALOGD, verb: "patch", what: "clustercatalogs.olm.operatorframework.io", allowed: true },
      { user: CATALOGD, verb: "patch", what: "clustercatalogs.olm.operatorframework.io/status", allowed: true },
      { user: CATALOGD, verb: "create", what: "events in default", allowed: true },
      { user: CATALOGD, verb: "create", what: "leases.coordination.k8s.io in olmv1-system", allowed: true },
      { user: CATALOGD, verb: "get", what: "leases.coordination.k8s.io in olmv1-system named catalogd-operator-lock", allowed: true },
      { user: CATALOGD, verb: "watch", what: "leases.coordination.k8s.io in olmv1-system named catalogd-operator-lock", allowed: true },
      { user: CATALOGD, verb: "update", what: "leases.coordination.k8s.io in olmv1-system named catalogd-operator-lock", allowed: true },
      { user: CATALOGD, verb: "update", what: "leases.coordination.k8s.io in olmv1-system named other", allowed: false },
      { user: CATALOGD, verb: "get", what: "clusterextensions.olm.operatorframework.io", allowed: false },
      { user: CATALOGD, verb: "watch", what: "secrets in olmv1-system", allowed: true },
      { user: CATALOGD, verb: "get", what: "secrets in olmv1-system", allowed: false },
      { user: CATALOGD, verb: "get", what: "secrets in default", allowed: false },
      { user: CATALOGD, verb: "get", what: "secrets in olmv1-system named catalogd-serving-cert", allowed: true },
      { user: CATALOGD, verb: "update", what: "secrets in olmv1-system named catalogd-serving-cert", allowed: true },
      { user: CATALOGD, verb: "update", what: "secrets in olmv1-system named other", allowed: false },
      { user: CATALOGD, verb: "create", what: "secrets in olmv1-system", allowed: false },
      { user: CATALOGD, verb: "create", what: "events in olmv1-system", allowed: true },
      { user: PERMISSION_MANAGER, verb: "create", what: "events in default", allowed: true },
      { user: PERMISSION_MANAGER, verb: "create", what: "events in olmv1-system", allowed: false },
    ])("$user may $verb $what: $allowed", async ({ user, verb, what, allowed }) => {
      const [, resource = "", group = "", subresource = "", namespace = "", name = ""] =
        /^([^./ ]+)(?:\.([^/ ]+))?(?:\/(\S+))?(?: in (\S+))?(?: named (\S+))?$/.exec(what) ?? [];
      const review: KubeObject = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: { name: "" },
        spec: {
          user: `system:serviceaccount:olmv1-system:${user}`,
          resourceAttributes: { verb, resource, group, subresource, namespace, name },
        },
      };
      const answer = await cluster.client.create(review);
      expect(answer["status"]).toMatchObject({ allowed });
    });
  });
});

describeWithData("the sample's installer", (data) => {
  test("the sample installer has all permissions that its bundle needs", () => {
    const bundle = loadBundle(filesBelow(join(data, "bundles/cockroachdb/6.0.0")));
    const { clusterRules, namespaceRules } = computeRequiredRules(renderBundle(bundle, { installNamespace: SAMPLE_NAMESPACE }), {
      installNamespace: SAMPLE_NAMESPACE,
    });
    const listGranted = (kind: string): PolicyRule[] => {
      const role = readFiles("samples/installer.yaml").find((object) => object.kind === kind && !object.metadata.name.endsWith("-token"));
      return (role?.["rules"] ?? []) as PolicyRule[];
    };
    const missing = (needed: readonly PolicyRule[], kind: string): PolicyRule[] =>
      needed.flatMap(singleVerbs).filter((rule) => !listGranted(kind).some((held) => new HeldRule(held).covers(rule)));
    expect(missing(clusterRules, "ClusterRole")).toEqual([]);
    expect([...namespaceRules.keys()]).toEqual([SAMPLE_NAMESPACE]);
    expect(missing(namespaceRules.get(SAMPLE_NAMESPACE) ?? [], "Role")).toEqual([]);
  });
});

function findDeployment(objects: readonly KubeObject[], name: string): DeploymentSpec {
  const found = objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name);
  if (!found) throw new Error(`there is no Deployment ${name}`);
  return found["spec"] as DeploymentSpec;
}

function toPlural(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith("s")) return `${singular}es`;
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

function byName(a: KubeObject, b: KubeObject): number {
  return compareText(`${a.kind} ${a.metadata.name}`, `${b.kind} ${b.metadata.name}`);
}

/** Formats the identities of objects, sorted. */
function listNames(objects: readonly KubeObject[]): string[] {
  return objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`).sort();
}

function singleVerbs(rule: PolicyRule): PolicyRule[] {
  return rule.verbs.map((verb) => ({ ...rule, verbs: [verb] }));
}

/** Reads the objects in these files of config/. */
function readFiles(...files: string[]): KubeObject[] {
  return files.flatMap((file) => parseYamlDocuments(readFileSync(join(CONFIG, file), "utf8")) as KubeObject[]);
}

async function apply(cluster: TestCluster, object: KubeObject): Promise<void> {
  await cluster.client.apply(object, { fieldManager: "test", force: true });
}

/** Sends a server-side dry run with strict validation. @returns the server's warnings, such as those of pod security. */
async function dryRun(cluster: TestCluster, object: KubeObject): Promise<string[]> {
  const { group, version, resource } = await cluster.client.resourceFor(object);
  const { namespace, name } = object.metadata;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const path = `${root}${namespace ? `/namespaces/${namespace}` : ""}/${resource}/${name}`;
  const query = "dryRun=All&fieldValidation=Strict&fieldManager=test&force=true";
  const headers = { "content-type": "application/apply-patch+yaml" };
  const response = await cluster.client.request("PATCH", `${path}?${query}`, { headers, body: JSON.stringify(object) });
  const body = await text(response.body);
  expect(response.statusCode, body).toBeLessThan(300);
  return [response.headers["warning"] ?? []].flat();
}

function filesBelow(folder: string): Map<string, Uint8Array> {
  const paths = (readdirSync(folder, { recursive: true }) as string[]).filter((path) => statSync(join(folder, path)).isFile());
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
}
