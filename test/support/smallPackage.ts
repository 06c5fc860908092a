import { createHash } from "node:crypto";
import type { CatalogSource, ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { createExtension } from "./extensions.ts";

/** One version of a small package. */
export interface SmallVersion {
  version: string;
  /** Text of the CSV's annotation olm.properties. */
  properties?: string;
  /** Text of metadata/properties.yaml. */
  propertiesYaml?: string;
  /** Size of incompressible data in bytes; from a megabyte on, the release needs several Secrets. */
  noise?: number;
  /** Properties of the bundle in the catalog, in addition to olm.package. */
  inCatalog?: readonly { type: string; value: unknown }[];
}

/** A package whose bundles contain a ConfigMap and no workloads; each version replaces the one before. */
export class SmallPackage {
  readonly name: string;
  readonly versions: readonly SmallVersion[];

  constructor(name: string, ...versions: SmallVersion[]) {
    this.name = name;
    this.versions = versions;
  }

  bundleName({ version }: SmallVersion): string {
    return `${this.name}.v${version}`;
  }

  /** Returns the files of the registry+v1 bundle; JSON is YAML. */
  bundleFiles(of: SmallVersion): Map<string, Uint8Array> {
    const { version, properties, propertiesYaml, noise = 0 } = of;
    const csv = {
      apiVersion: "operators.coreos.com/v1alpha1",
      kind: "ClusterServiceVersion",
      metadata: { name: this.bundleName(of), annotations: properties === undefined ? {} : { "olm.properties": properties } },
      spec: {
        version,
        installModes: [{ type: "AllNamespaces", supported: true }],
        install: { strategy: "deployment", spec: { deployments: [] } },
      },
    };
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: this.name }, data: { version, ...createNoise(noise) } };
    const annotations = { "operators.operatorframework.io.bundle.package.v1": this.name };
    const files: Record<string, string> = {
      "manifests/csv.yaml": JSON.stringify(csv),
      "manifests/configmap.yaml": JSON.stringify(configMap),
      "metadata/annotations.yaml": JSON.stringify({ annotations }),
      ...(propertiesYaml === undefined ? {} : { "metadata/properties.yaml": propertiesYaml }),
    };
    return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
  }

  /** Returns the package's part of a catalog. @param image returns the reference of a version's bundle. */
  catalogMetas(image: (of: SmallVersion) => string): object[] {
    const { name, versions } = this;
    const entries = versions.map((of, i) => {
      const before = versions[i - 1];
      return { name: this.bundleName(of), ...(before ? { replaces: this.bundleName(before) } : {}) };
    });
    return [
      { schema: "olm.package", name, defaultChannel: "stable" },
      { schema: "olm.channel", package: name, name: "stable", entries },
      ...versions.map((of) => ({
        schema: "olm.bundle",
        package: name,
        name: this.bundleName(of),
        image: image(of),
        properties: [{ type: "olm.package", value: { packageName: name, version: of.version } }, ...(of.inCatalog ?? [])],
      })),
    ];
  }

  /** An extension of this package under its name, as a user would apply it. */
  extension(catalog: Partial<CatalogSource> = {}): ClusterExtension {
    return createExtension(this.name, { packageName: this.name, ...catalog });
  }

  /** The objects of any of its versions on the cluster. */
  objects(namespace: string): KubeObject[] {
    return this.versions.flatMap((of) => renderBundle(loadBundle(this.bundleFiles(of)), { installNamespace: namespace }));
  }
}

/** Creates incompressible data, always the same for a size. */
function createNoise(bytes: number): Record<string, string> {
  const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, i) => createHash("sha256").update(String(i)).digest());
  return bytes === 0 ? {} : { noise: Buffer.concat(blocks).subarray(0, bytes).toString("base64") };
}
