import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { OPENSHIFT_NAMESPACE } from "../../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../../pkg/api/k8s.ts";
import { parseYaml, parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../../pkg/kube/tokens.ts";
import { type Asset, type ClusterState, COMPONENTS, renderAssets } from "./assets.ts";

const PERMISSIONS = join(import.meta.dirname, "../openshift/cluster-olm-operator.yaml");
const CATALOG_API = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterCatalog" } as const;
/**
 * Kinds that cluster-olm-operator applies as static resources: those of Kubernetes, and ServiceMonitors.
 * @see https://github.com/openshift/library-go/blob/982144a73dae384a6e2711755008c70921c8a286/pkg/operator/resource/resourceapply/generic.go
 */
const STATIC_KINDS = new Set(
  (
    "ClusterRole ClusterRoleBinding ConfigMap CustomResourceDefinition MutatingWebhookConfiguration Namespace NetworkPolicy PodDisruptionBudget Role " +
    "RoleBinding Service ServiceAccount ServiceMonitor ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
  ).split(" "),
);

/** A container of a Deployment. */
interface DeploymentContainer {
  args?: string[];
  env?: { name: string; value: string }[];
}

/** A Deployment, with the fields that cluster-olm-operator reads and writes. */
export type ServerDeployment = KubeObject & {
  spec: { replicas?: number; template: { spec: { containers: DeploymentContainer[]; initContainers?: DeploymentContainer[] } } };
  status?: {
    observedGeneration?: number;
    availableReplicas?: number;
    updatedReplicas?: number;
    unavailableReplicas?: number;
  };
};

/** The settings of the cluster that cluster-olm-operator writes into Deployments. */
export interface DeploymentSettings {
  /** From spec.logLevel of OLM "cluster". */
  verbosity: number;
  /** Variables of the containers; empty values are omitted. */
  proxy: Readonly<Record<"HTTPS_PROXY" | "HTTP_PROXY" | "NO_PROXY", string>>;
  /** The TLS profile of APIServer "cluster". */
  tls: { version: string; ciphers: readonly string[] };
}

/** The part of cluster-olm-operator that deploys the servers: it renders them, and applies them with exactly its own permissions. */
export class ClusterOlmOperator {
  readonly #client: Client;
  readonly #folder: string;

  private constructor(client: Client, folder: string) {
    this.#client = client;
    this.#folder = folder;
  }

  /** @param folder that /cp-manifests wrote to */
  static async start(admin: Client, folder: string): Promise<ClusterOlmOperator> {
    for (const object of parseYamlDocuments(await readFile(PERMISSIONS, "utf8")) as KubeObject[])
      await admin.apply(object, { fieldManager: "test", force: true });
    const tokens = new ServiceAccountTokens(admin);
    const client = admin.withToken(tokens.tokenFor("openshift-cluster-olm-operator", "cluster-olm-operator"), { ownDiscovery: true });
    return new ClusterOlmOperator(client, folder);
  }

  /** Renders both components. @throws Error for a kind that it cannot apply */
  async render(state: ClusterState): Promise<Asset[]> {
    const assets: Asset[] = [];
    for (const component of COMPONENTS) assets.push(...(await renderAssets(this.#folder, component, state)));
    const unknown = assets.filter(({ object: { kind } }) => !STATIC_KINDS.has(kind) && kind !== "Deployment" && kind !== "ClusterCatalog");
    if (unknown.length > 0) throw new Error(`unhandled types: ${unknown.map(({ file }) => file).join(", ")}`);
    return assets;
  }

  /** Applies all objects except Deployments and catalogs. */
  async applyStaticResources(assets: readonly Asset[]): Promise<void> {
    for (const { object } of assets) if (STATIC_KINDS.has(object.kind)) await this.#createOrUpdate(object);
  }

  /** Applies the Deployments with the settings of the cluster. @returns the rendered Deployments */
  async applyDeployments(assets: readonly Asset[], settings: DeploymentSettings): Promise<ServerDeployment[]> {
    const deployments = assets.filter(({ object }) => object.kind === "Deployment").map(({ text }) => configureDeployment(text, settings));
    for (const deployment of deployments) await this.#createOrUpdate(deployment);
    return deployments;
  }

  /**
   * Applies the fields of each catalog that differ on the cluster.
   * @see https://github.com/openshift/cluster-olm-operator/blob/55cb3b14c43d3112847b2b317691c8d4c289d314/pkg/controller/dynamicrequiredmanifest_controller.go
   */
  async syncCatalogs(assets: readonly Asset[]): Promise<string[]> {
    const { items } = await this.#client.list(CATALOG_API);
    const applied: string[] = [];
    for (const { object } of assets.filter((asset) => asset.object.kind === "ClusterCatalog")) {
      const { name } = object.metadata;
      if (
        isDerivative(
          object,
          items.find(({ metadata }) => metadata.name === name),
        )
      )
        continue;
      await this.#client.apply(object, { fieldManager: `CatalogdClusterCatalog-${name}`, force: true });
      applied.push(name);
    }
    return applied;
  }

  /**
   * Returns the conditions of the Deployments that ClusterOperator "olm" summarizes: for each, Available and Progressing.
   * @see https://github.com/openshift/library-go/blob/16a2ccaa820f2b13e89c0604b30d261c6e77772a/pkg/operator/deploymentcontroller/deployment_controller.go
   */
  async readDeploymentConditions(
    deployments: readonly ServerDeployment[],
  ): Promise<Record<string, { available: boolean; progressing: boolean }>> {
    const conditions = deployments.map(async (deployment) => {
      const { metadata, spec, status = {} } = await this.#read(deployment);
      const { observedGeneration, availableReplicas = 0, updatedReplicas = 0, unavailableReplicas = 0 } = status;
      const expected = spec.replicas ?? 0;
      const progressing =
        metadata.generation !== observedGeneration || unavailableReplicas > 0 || updatedReplicas < expected || availableReplicas < expected;
      return [metadata.name, { available: availableReplicas > 0, progressing }] as const;
    });
    return Object.fromEntries(await Promise.all(conditions));
  }

  /** Returns the release Secrets of an extension, in which it searches bundles that block a cluster upgrade. */
  async listReleases(extension: string): Promise<KubeObject[]> {
    const labelSelector = `owner=operator-controller,status=deployed,name=${extension}`;
    return (await this.#client.list({ apiVersion: "v1", kind: "Secret" }, { namespace: OPENSHIFT_NAMESPACE, labelSelector })).items;
  }

  async #read<T extends KubeObject>(object: T): Promise<T> {
    const live = await this.#client.get<T>(toObjectRef(object));
    if (!live) throw new Error(`${object.kind} ${object.metadata.name} does not exist`);
    return live;
  }

  /** Creates an object, or replaces what library-go compares: metadata, and for most kinds the other fields. */
  async #createOrUpdate(required: KubeObject): Promise<void> {
    const existing = await this.#client.get(toObjectRef(required));
    if (!existing) {
      await this.#client.create(required);
      return;
    }
    const wanted = merge(existing, required);
    if (!isDeepStrictEqual(wanted, existing)) await this.#client.replace(wanted);
  }
}

/** Merges labels and annotations. Keeps the content of namespaces, accounts and injected ConfigMaps. */
function merge(existing: KubeObject, required: KubeObject): KubeObject {
  const metadata = {
    ...existing.metadata,
    labels: { ...existing.metadata.labels, ...required.metadata.labels },
    annotations: { ...existing.metadata.annotations, ...required.metadata.annotations },
  };
  if (["Namespace", "ServiceAccount"].includes(existing.kind)) return { ...existing, metadata };
  const isInjected = required.metadata.labels?.["config.openshift.io/inject-trusted-cabundle"] === "true";
  if (isInjected) return { ...existing, metadata };
  const { webhooks: _earlier, ...others } = existing;
  if (existing.kind !== "Service") return { ...others, ...required, metadata };
  return {
    ...existing,
    metadata,
    spec: { ...(existing["spec"] as object), selector: (required["spec"] as { selector: object }).selector },
  };
}

/** Whether all fields of `required` have the same values in `live`. @see https://pkg.go.dev/k8s.io/apimachinery/third_party/forked/golang/reflect#Equalities.DeepDerivative */
function isDerivative(required: unknown, live: unknown): boolean {
  if (Array.isArray(required))
    return Array.isArray(live) && required.length === live.length && required.every((one, i) => isDerivative(one, live[i]));
  if (typeof required !== "object" || required === null) return required === live;
  return Object.entries(required).every(([key, value]) => isDerivative(value, (live as Record<string, unknown> | undefined)?.[key]));
}

/**
 * Sets verbosity, proxy and TLS profile. @throws Error if a container already has one of them
 * @see https://github.com/openshift/cluster-olm-operator/blob/797eaf079b71d02612de0a62f8110bfda1adbb79/pkg/controller/observedconfig_hook.go
 * @see https://github.com/openshift/cluster-olm-operator/blob/b84b57ea2d7e6ad4401eaf6abd9db84ee9c1660d/pkg/controller/proxy_hook.go
 */
function configureDeployment(manifest: string, { verbosity, proxy, tls }: DeploymentSettings): ServerDeployment {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder of cluster-olm-operator
  const deployment = parseYaml(manifest.replaceAll("${LOG_VERBOSITY}", String(verbosity))) as ServerDeployment;
  const { containers, initContainers = [] } = deployment.spec.template.spec;
  for (const container of [...initContainers, ...containers]) {
    for (const [name, value] of Object.entries(proxy)) {
      container.env ??= [];
      if (container.env.some((one) => one.name === name)) throw new Error(`unexpected environment variable ${name}`);
      if (value !== "") container.env.push({ name, value });
    }
  }
  const args = [`--tls-custom-version=${tls.version}`, `--tls-custom-ciphers=${tls.ciphers.join(",")}`, "--tls-profile=custom"];
  for (const container of containers) {
    for (const arg of args) {
      const prefix = arg.split("=")[0] ?? "";
      container.args ??= [];
      if (container.args.some((one) => one.startsWith(prefix))) throw new Error(`unexpected argument ${arg}`);
      container.args.push(arg);
    }
  }
  return deployment;
}
