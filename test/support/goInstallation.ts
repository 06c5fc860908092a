import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { type JsonObject, type KubeObject, type ObjectMeta, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { ReleaseRecord } from "../../pkg/release/record.ts";
import { decodedRecord } from "./releases.ts";

/** Field manager of the Go operator-controller's writes. */
const GO_MANAGER = "operator-controller";

/** The objects of a real installation by the Go operator-controller: its extension, its release Secrets and the objects of the cluster. */
export class GoInstallation {
  readonly extension: KubeObject;
  readonly #secrets: readonly KubeObject[];
  readonly #objects: readonly KubeObject[];

  constructor(folder: string) {
    const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), "utf8"));
    const items = (file: string): KubeObject[] => {
      const content = read(file) as KubeObject[] | { items: KubeObject[] };
      return Array.isArray(content) ? content : content.items;
    };
    this.extension = read("clusterextension.json") as KubeObject;
    this.#secrets = items("secrets.json");
    this.#objects = items("live-objects.json");
  }

  /** The release that was deployed last. */
  get deployed(): ReleaseRecord {
    const last = this.#secrets.at(-1);
    if (!last) throw new Error("the recorded installation contains no release");
    return decodedRecord(last, []);
  }

  /**
   * Creates all objects on a cluster as Go wrote them, with the new uid of the extension.
   * @param change can modify the payload of each release.
   * @returns the extension.
   */
  async restore(admin: Client, change: (release: JsonObject) => void = () => undefined): Promise<KubeObject> {
    const { name, finalizers } = this.extension.metadata;
    const namespace = this.deployed.namespace;
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, { fieldManager: "test" });
    const { spec } = this.extension;
    const extension = await admin.create<KubeObject>({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name, ...(finalizers ? { finalizers } : {}) },
      spec,
    });
    for (const object of [...this.#secrets.map((secret) => changedRelease(secret, change)), ...this.#objects]) {
      const created = await admin.create(restore(object, extension.metadata.uid ?? ""), { fieldManager: GO_MANAGER });
      const managedFields = (object.metadata.managedFields ?? []).filter(({ manager }) => manager === GO_MANAGER);
      if (managedFields.length > 0) await admin.patch(toObjectRef(created), { metadata: { managedFields } }, { type: "merge" });
    }
    return extension;
  }

  /**
   * Creates a bundle that renders to the objects of the deployed release; `change` can turn it into another version.
   * @returns files by path.
   */
  bundle(version: string, change: (parts: BundleParts) => void = () => undefined): Map<string, Uint8Array> {
    const { objects, annotations, labels } = this.deployed;
    const parts: BundleParts = { annotations: { ...annotations }, objects: structuredClone(objects) };
    change(parts);
    const packageName = labels["olm.operatorframework.io/package-name"] ?? "";
    const generated = new Set(["ClusterRole", "ClusterRoleBinding", "Deployment", "ServiceAccount"]);
    const ofKind = (kind: string): KubeObject[] => parts.objects.filter((object) => object.kind === kind);
    const [role] = ofKind("ClusterRole");
    const [account] = ofKind("ServiceAccount");
    const deployments = ofKind("Deployment").map(({ metadata, spec }) => ({ name: metadata.name, spec: buildManifest(spec, annotations) }));
    const csv = {
      apiVersion: "operators.coreos.com/v1alpha1",
      kind: "ClusterServiceVersion",
      metadata: { name: `${packageName}.v${version}`, annotations: parts.annotations },
      spec: {
        version,
        installModes: [{ type: "AllNamespaces", supported: true }],
        customresourcedefinitions: {
          owned: ofKind("CustomResourceDefinition").map(({ metadata, spec }) => {
            const { names, versions } = spec as { names: { kind: string }; versions: { name: string }[] };
            return { name: metadata.name, kind: names.kind, version: versions[0]?.name };
          }),
        },
        install: {
          strategy: "deployment",
          spec: { deployments, clusterPermissions: [{ serviceAccountName: account?.metadata.name, rules: role?.["rules"] }] },
        },
      },
    };
    const files: Record<string, unknown> = {
      "metadata/annotations.yaml": { annotations: { "operators.operatorframework.io.bundle.package.v1": packageName } },
      "manifests/csv.yaml": csv,
    };
    parts.objects.forEach((object, i) => {
      if (!generated.has(object.kind)) files[`manifests/object-${i}.yaml`] = withoutNamespace(object);
    });
    return new Map(Object.entries(files).map(([path, content]) => [path, new TextEncoder().encode(JSON.stringify(content))]));
  }
}

/** The parts of a bundle that a test can change before it is written. */
export interface BundleParts {
  annotations: Record<string, string>;
  objects: KubeObject[];
}

/** The renderer copies the CSV's annotations and its own to the Pods, in addition to those of the manifest. */
function buildManifest(spec: unknown, csvAnnotations: Readonly<Record<string, string>>): unknown {
  const { template, ...rest } = spec as { template: { metadata: ObjectMeta } };
  const own = Object.entries(template.metadata.annotations ?? {}).filter(([key]) => !(key in csvAnnotations) && !key.startsWith("olm."));
  const metadata = { ...template.metadata, annotations: Object.fromEntries(own) };
  return { ...rest, template: { ...template, metadata } };
}

function changedRelease(secret: KubeObject, change: (release: JsonObject) => void): KubeObject {
  const data = secret["data"] as { chunk: string };
  const release = JSON.parse(gunzipSync(Buffer.from(data.chunk, "base64")).toString()) as JsonObject;
  change(release);
  return { ...secret, data: { ...data, chunk: gzipSync(JSON.stringify(release)).toString("base64") } };
}

function withoutNamespace(object: KubeObject): KubeObject {
  const { namespace: _namespace, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Prepares an object for create: removes the members that the server set, and updates the uid of its owner. */
function restore({ status: _status, ...object }: KubeObject, uid: string): KubeObject {
  const { name, namespace, labels, annotations, ownerReferences = [] } = object.metadata;
  const metadata: ObjectMeta = {
    name,
    ...(namespace ? { namespace } : {}),
    ...(labels ? { labels } : {}),
    ...(annotations ? { annotations } : {}),
    ownerReferences: ownerReferences.map((reference) => ({ ...reference, uid })),
  };
  const spec = object["spec"] as JsonObject | undefined;
  if (object.kind !== "Service" || !spec) return { ...object, metadata };
  const { clusterIP: _ip, clusterIPs: _ips, ...free } = spec;
  return { ...object, metadata, spec: free };
}
