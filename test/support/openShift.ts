import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findCondition } from "../../pkg/api/conditions.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import { parseYaml, parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { CLUSTER_IMAGE_POLICY, IMAGE_POLICY } from "../../pkg/oci/policy/imagePolicies.ts";
import { CLUSTER_CONFIG_NAMESPACE, CLUSTER_IMAGE, MIRROR_KINDS, type MirrorKind } from "../../pkg/oci/registries/registryObjects.ts";
import { CLUSTER_OPERATOR, OLM } from "../../pkg/operatorcontroller/openshift/clusterOperator.ts";
import { CLUSTER_PROXY } from "../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import { CLUSTER_VERSION } from "../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { API_SERVER } from "../../pkg/serving/clusterTlsProfile.ts";
import { waitForDefinition } from "./definitions.ts";
import { eventually } from "./eventually.ts";

const REGISTRY_PERMISSIONS = join(import.meta.dirname, "../../config/openshift/registries.yaml");
const AUTHORITIES = { apiVersion: "v1", kind: "ConfigMap", namespace: CLUSTER_CONFIG_NAMESPACE, name: "registry-authorities" } as const;
const CATALOGS = join(import.meta.dirname, "../../config/openshift/catalogs.yaml");
const FOLDER = join(import.meta.dirname, "openshift");
const REGISTRY_DEFINITIONS = ["images", "imagecontentsourcepolicies", "imagedigestmirrorsets", "imagetagmirrorsets"] as const;
const IMAGE_POLICY_DEFINITIONS = ["clusterimagepolicies", "imagepolicies"] as const;
const IMAGE_POLICY_PERMISSIONS = join(import.meta.dirname, "../../config/openshift/image-policies.yaml");
const DEFINITIONS = ["apiservers", "clusteroperators", "clusterversions", "olms", "proxies", ...REGISTRY_DEFINITIONS] as const;

/** The mirrors of one source. */
interface MirrorTestSet {
  mirrors: readonly string[];
  mirrorSourcePolicy?: "NeverContactSource" | "AllowContactingSource";
}

/**
 * The API of OpenShift that the programs use: ClusterOperators, the cluster's version, proxy, TLS profile and registries, and cluster-olm-operator's
 * configuration.
 */
export class OpenShift {
  readonly #admin: Client;

  constructor(admin: Client) {
    this.#admin = admin;
  }

  /** Makes the cluster serve these kinds. */
  async install(definitions: readonly string[] = DEFINITIONS): Promise<void> {
    for (const name of definitions) {
      const crd = parseYaml(await readFile(join(FOLDER, `${name}.yaml`), "utf8")) as KubeObject;
      await this.#admin.apply(crd, { fieldManager: "test", force: true });
      await waitForDefinition(this.#admin, crd);
    }
  }

  /** Makes the cluster serve the kinds that configure registries. The servers then reject every image until `grantRegistries`. */
  async installRegistries(): Promise<void> {
    await this.install(REGISTRY_DEFINITIONS);
  }

  /** Makes the cluster serve the kinds with image policies. The servers then reject every image until `grantImagePolicies`. */
  async installImagePolicies(): Promise<void> {
    await this.install(IMAGE_POLICY_DEFINITIONS);
  }

  /** Grants the permissions in config/openshift/image-policies.yaml. */
  async grantImagePolicies(): Promise<void> {
    for (const object of parseYamlDocuments(await readFile(IMAGE_POLICY_PERMISSIONS, "utf8")) as KubeObject[])
      await this.#admin.apply(object, { fieldManager: "test", force: true });
  }

  /** Sets a ClusterImagePolicy, or an ImagePolicy in a namespace. @param rootOfTrust as in spec.policy */
  async setImagePolicy(name: string, scopes: readonly string[], rootOfTrust: object, namespace?: string): Promise<void> {
    const policy = { rootOfTrust, signedIdentity: { matchPolicy: "MatchRepository" } };
    const gvk = namespace === undefined ? CLUSTER_IMAGE_POLICY : IMAGE_POLICY;
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    await this.#admin.apply({ ...gvk, metadata, spec: { scopes, policy } }, { fieldManager: "test", force: true });
  }

  async removeImagePolicy(name: string, namespace?: string): Promise<void> {
    await this.#admin.delete(namespace === undefined ? { ...CLUSTER_IMAGE_POLICY, name } : { ...IMAGE_POLICY, namespace, name });
  }

  /** Grants the permissions in config/openshift/registries.yaml. */
  async grantRegistries(): Promise<void> {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: CLUSTER_CONFIG_NAMESPACE } };
    await this.#admin.apply(namespace, { fieldManager: "test", force: true });
    for (const object of parseYamlDocuments(await readFile(REGISTRY_PERMISSIONS, "utf8")) as KubeObject[])
      await this.#admin.apply(object, { fieldManager: "test", force: true });
  }

  /** Sets the mirrors of sources. @param sets spec of the object, by source */
  async setMirrors(kind: MirrorKind, name: string, sets: Readonly<Record<string, MirrorTestSet>>): Promise<void> {
    const { apiVersion } = MIRROR_KINDS.find((one) => one.kind === kind) ?? MIRROR_KINDS[0];
    const member =
      { ImageDigestMirrorSet: "imageDigestMirrors", ImageTagMirrorSet: "imageTagMirrors" }[kind as string] ?? "repositoryDigestMirrors";
    const spec = { [member]: Object.entries(sets).map(([source, set]) => ({ source, ...set })) };
    await this.#admin.apply({ apiVersion, kind, metadata: { name }, spec }, { fieldManager: "test", force: true });
  }

  async removeMirrors(kind: MirrorKind, name: string): Promise<void> {
    const { apiVersion } = MIRROR_KINDS.find((one) => one.kind === kind) ?? MIRROR_KINDS[0];
    await this.#admin.delete({ apiVersion, kind, name });
  }

  /** Sets the spec of Image `cluster`. */
  async setImage(spec: { registrySources?: object; additionalTrustedCA?: { name: string } }): Promise<void> {
    const { name, ...gvk } = CLUSTER_IMAGE;
    await this.#admin.apply({ ...gvk, metadata: { name }, spec }, { fieldManager: "test", force: true });
  }

  /** Sets the ConfigMap with certificate authorities that `setImage` can name; undefined deletes it. @returns its name */
  async setAuthorities(data: Record<string, string> | undefined): Promise<string> {
    const { name, namespace, ...gvk } = AUTHORITIES;
    if (!data) await this.#admin.delete(AUTHORITIES);
    else await this.#admin.apply({ ...gvk, metadata: { name, namespace }, data }, { fieldManager: "test", force: true });
    return name;
  }

  /** Sets the current version of the cluster, or the target of its update. */
  async setVersion(version: string): Promise<void> {
    const { name, ...gvk } = CLUSTER_VERSION;
    await this.#admin.apply({ ...gvk, metadata: { name }, spec: { clusterID: "test" } }, { fieldManager: "test", force: true });
    await this.#admin.patch(CLUSTER_VERSION, { status: { desired: { version } } }, { type: "merge", subresource: "status" });
  }

  /** Sets the cluster's proxy, in the status, where its operator writes it. */
  async setProxy(status: { httpProxy?: string; httpsProxy?: string; noProxy?: string }): Promise<void> {
    const { name, ...gvk } = CLUSTER_PROXY;
    await this.#admin.apply({ ...gvk, metadata: { name }, spec: {} }, { fieldManager: "test", force: true });
    await this.#admin.patch(CLUSTER_PROXY, [{ op: "add", path: "/status", value: status }], { type: "json", subresource: "status" });
  }

  /** Sets the TLS profile of the cluster's servers. @param profile as spec.tlsSecurityProfile of APIServer `cluster` */
  async setTlsProfile(profile: { type: string; custom?: { ciphers?: string[]; minTLSVersion?: string } }): Promise<void> {
    const { name, ...gvk } = API_SERVER;
    const object = { ...gvk, metadata: { name }, spec: { tlsSecurityProfile: profile } };
    await this.#admin.apply(object, { fieldManager: "test", force: true });
  }

  async removeProxy(): Promise<void> {
    await this.#admin.delete(CLUSTER_PROXY);
  }

  /** Creates the objects that configure cluster-olm-operator. */
  async addOlm(managementState: "Managed" | "Unmanaged" = "Managed"): Promise<void> {
    const { name, ...gvk } = OLM;
    await this.#admin.apply({ ...gvk, metadata: { name }, spec: { managementState } }, { fieldManager: "test", force: true });
  }

  /** Makes the cluster look like OpenShift to conformance scenarios: with a version, a proxy, and Red Hat's catalogs. @param registry uses plain HTTP */
  async imitate(registry: string): Promise<void> {
    await this.install();
    await this.grantRegistries();
    await this.setVersion("4.20.0");
    await this.setProxy({ httpProxy: "http://proxy.example.com:3128", noProxy: ".svc" });
    await this.setImage({ registrySources: { insecureRegistries: [registry] } });
    await this.addDefaultCatalogs();
  }

  /** Creates the catalogs in config/openshift/catalogs.yaml. */
  async addDefaultCatalogs(): Promise<void> {
    for (const catalog of parseYamlDocuments(await readFile(CATALOGS, "utf8")) as KubeObject[])
      await this.#admin.apply(catalog, { fieldManager: "test", force: true });
  }

  async removeOlm(): Promise<void> {
    await this.#admin.delete(OLM);
  }

  /** Pauses the updates of a pool of nodes, as for an upgrade over two minor versions. */
  async pausePool(name: string): Promise<void> {
    await this.install(["machineconfigpools"]);
    const gvk = { apiVersion: "machineconfiguration.openshift.io/v1", kind: "MachineConfigPool" };
    await this.#admin.apply({ ...gvk, metadata: { name }, spec: { paused: true } }, { fieldManager: "test", force: true });
  }

  /** Returns the conditions of components in OLM `cluster`. */
  async readOlmConditions(): Promise<readonly Condition[]> {
    const { conditions = [] } = ((await this.#admin.get(OLM))?.["status"] ?? {}) as { conditions?: Condition[] };
    return conditions;
  }

  clusterOperator(): Promise<KubeObject | undefined> {
    return this.#admin.get(CLUSTER_OPERATOR);
  }

  /** Returns one condition of ClusterOperator `olm`, without its time. */
  async condition(type: string): Promise<Omit<Condition, "lastTransitionTime"> | undefined> {
    const condition = getObjectCondition(await this.clusterOperator(), type);
    if (!condition) return undefined;
    const { lastTransitionTime: _time, ...rest } = condition;
    return rest;
  }

  /** Waits until condition Upgradeable of ClusterOperator `olm` satisfies `holds`. @returns the condition. */
  async upgradeable(holds: (condition: Omit<Condition, "lastTransitionTime">) => boolean, timeoutMs = 30_000) {
    return eventually(
      async () => {
        const condition = await this.condition("Upgradeable");
        if (!condition || !holds(condition)) throw new Error(`Upgradeable is ${JSON.stringify(condition)}`);
        return condition;
      },
      { timeoutMs },
    );
  }
}

/** Returns a condition of an object's status. */
export function getObjectCondition(object: KubeObject | undefined, type: string): Condition | undefined {
  const { conditions } = (object?.["status"] ?? {}) as { conditions?: Condition[] };
  return findCondition(conditions, type);
}
