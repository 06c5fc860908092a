import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../../pkg/api/constants.ts";
import type { JsonObject } from "../../../pkg/api/k8s.ts";

/** The only version of all tiny packages. */
export const TINY_VERSION = "1.0.0";

/**
 * A small operator with a unique name, and everything to install it: a Deployment, its ServiceAccount with a Role and a
 * ClusterRole, and a ConfigMap. It has no CRD, because a hundred new ones would mainly load the API server.
 */
export class TinyPackage {
  readonly name: string;

  constructor(number: number) {
    this.name = `tiny-${String(number).padStart(4, "0")}`;
  }

  get bundleName(): string {
    return `${this.name}.v${TINY_VERSION}`;
  }

  /** Returns the files of the registry+v1 bundle; JSON is valid YAML. */
  bundleFiles(): Map<string, Uint8Array> {
    const files: Record<string, JsonObject> = {
      "manifests/csv.yaml": this.#csv(),
      "manifests/configmap.yaml": {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: this.name },
        data: { greeting: `I am ${this.name}` },
      },
      "metadata/annotations.yaml": { annotations: this.#annotations() },
    };
    return new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(JSON.stringify(content))]));
  }

  /**
   * Returns the package's part of a catalog.
   * @param image reference of the bundle.
   * @param edition changes the content of the catalog, but nothing that resolution reads.
   */
  catalogLines(image: string, edition: number): string {
    const { name, bundleName } = this;
    const packageProperty = { type: "olm.package", value: { packageName: name, version: TINY_VERSION } };
    const metas = [
      { schema: "olm.package", name, defaultChannel: "stable", description: `A tiny operator, edition ${edition}.` },
      { schema: "olm.channel", package: name, name: "stable", entries: [{ name: bundleName }] },
      { schema: "olm.bundle", package: name, name: bundleName, image, properties: [packageProperty], relatedImages: [{ name: "", image }] },
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

  #csv(): JsonObject {
    const { name } = this;
    const reading = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }];
    const labels = { app: name };
    const container = { name: "manager", image: `registry.example.com/${name}:v${TINY_VERSION}` };
    const template = { metadata: { labels }, spec: { serviceAccountName: name, containers: [container] } };
    const install = {
      permissions: [{ serviceAccountName: name, rules: reading }],
      clusterPermissions: [{ serviceAccountName: name, rules: [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"] }] }],
      deployments: [{ name, spec: { replicas: 1, selector: { matchLabels: labels }, template } }],
    };
    return {
      apiVersion: "operators.coreos.com/v1alpha1",
      kind: "ClusterServiceVersion",
      metadata: { name: this.bundleName },
      spec: {
        displayName: name,
        version: TINY_VERSION,
        installModes: ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"].map((type) => ({
          type,
          supported: type === "AllNamespaces",
        })),
        install: { strategy: "deployment", spec: install },
      },
    };
  }
}
