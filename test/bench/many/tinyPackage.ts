import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../../pkg/api/constants.ts";
import type { GroupVersionKind, JsonObject } from "../../../pkg/api/k8s.ts";

/** The first version of all tiny packages. */
export const TINY_VERSION = "1.0.0";

const CRD_GROUP = "tiny.example.com";

/** A version of a tiny package, with the reference of its image. */
export interface TinyBundle {
  readonly version: string;
  readonly image: string;
}

/**
 * A small operator with a unique name, and everything to install it: a Deployment, its ServiceAccount with a Role and a
 * ClusterRole, and a ConfigMap. By default it has no CRD, because a hundred new ones would mainly load the API server.
 */
export class TinyPackage {
  readonly name: string;
  readonly hasCrd: boolean;
  readonly #installModes: readonly string[];

  constructor(
    number: number,
    { hasCrd = false, installModes = ["AllNamespaces"] }: { hasCrd?: boolean; installModes?: readonly string[] } = {},
  ) {
    this.name = `tiny-${String(number).padStart(4, "0")}`;
    this.hasCrd = hasCrd;
    this.#installModes = installModes;
  }

  bundleName(version: string = TINY_VERSION): string {
    return `${this.name}.v${version}`;
  }

  /** The kind of the package's CRD, if it has one. */
  get customKind(): GroupVersionKind {
    return { apiVersion: `${CRD_GROUP}/v1`, kind: this.name.replace(/^t/, "T").replace("-", "") };
  }

  /** Returns the files of the registry+v1 bundle; JSON is valid YAML. */
  bundleFiles(version: string = TINY_VERSION): Map<string, Uint8Array> {
    const files: Record<string, JsonObject> = {
      "manifests/csv.yaml": this.#csv(version),
      "manifests/configmap.yaml": {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: this.name },
        data: { greeting: `I am ${this.name}`, version },
      },
      ...(this.hasCrd ? { "manifests/crd.yaml": this.#crd() } : {}),
      "metadata/annotations.yaml": { annotations: this.#annotations() },
    };
    return new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(JSON.stringify(content))]));
  }

  /**
   * Returns the package's part of a catalog.
   * @param bundles oldest first; each replaces the one before.
   * @param edition changes the content of the catalog, but nothing that resolution reads.
   */
  catalogLines(bundles: readonly TinyBundle[], edition: number): string {
    const { name } = this;
    const entries = bundles.map(({ version }, at) => {
      const before = bundles[at - 1];
      return { name: this.bundleName(version), ...(before === undefined ? {} : { replaces: this.bundleName(before.version) }) };
    });
    const metas = [
      { schema: "olm.package", name, defaultChannel: "stable", description: `A tiny operator, edition ${edition}.` },
      { schema: "olm.channel", package: name, name: "stable", entries },
      ...bundles.map(({ version, image }) => ({
        schema: "olm.bundle",
        package: name,
        name: this.bundleName(version),
        image,
        properties: [{ type: "olm.package", value: { packageName: name, version } }],
        relatedImages: [{ name: "", image }],
      })),
    ];
    return metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
  }

  extension(): ClusterExtension {
    const { name } = this;
    return {
      apiVersion: API_VERSION,
      kind: "ClusterExtension",
      metadata: { name },
      spec: {
        namespace: name,
        serviceAccount: { name: `${name}-installer` },
        source: { sourceType: "Catalog", catalog: { packageName: name } },
      },
    };
  }

  #annotations(): JsonObject {
    const prefix = "operators.operatorframework.io.bundle";
    return {
      [`${prefix}.mediatype.v1`]: "registry+v1",
      [`${prefix}.manifests.v1`]: "manifests/",
      [`${prefix}.metadata.v1`]: "metadata/",
      [`${prefix}.package.v1`]: this.name,
      [`${prefix}.channels.v1`]: "stable",
    };
  }

  #crd(): JsonObject {
    const { kind } = this.customKind;
    const singular = kind.toLowerCase();
    const schema = {
      openAPIV3Schema: { type: "object", properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } },
    };
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${singular}s.${CRD_GROUP}` },
      spec: {
        group: CRD_GROUP,
        scope: "Namespaced",
        names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
  }

  #csv(version: string): JsonObject {
    const { name } = this;
    const { kind } = this.customKind;
    const owned = this.hasCrd ? [{ name: `${kind.toLowerCase()}s.${CRD_GROUP}`, kind, version: "v1" }] : [];
    const reading = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }];
    const labels = { app: name };
    const container = { name: "manager", image: `registry.example.com/${name}:v${version}` };
    const template = { metadata: { labels }, spec: { serviceAccountName: name, containers: [container] } };
    const install = {
      permissions: [{ serviceAccountName: name, rules: reading }],
      clusterPermissions: [{ serviceAccountName: name, rules: [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"] }] }],
      deployments: [{ name, spec: { replicas: 1, selector: { matchLabels: labels }, template } }],
    };
    return {
      apiVersion: "operators.coreos.com/v1alpha1",
      kind: "ClusterServiceVersion",
      metadata: { name: this.bundleName(version) },
      spec: {
        displayName: name,
        version,
        customresourcedefinitions: { owned },
        installModes: ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map((type) => ({
          type,
          supported: this.#installModes.includes(type),
        })),
        install: { strategy: "deployment", spec: install },
      },
    };
  }
}
