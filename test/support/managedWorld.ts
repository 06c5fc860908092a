import { expect } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import {
  ANNOTATION_APPROVE,
  API_VERSION,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
  LABEL_PERMISSIONS_FOR,
  PERMISSION_POLICY,
  SYSTEM_NAMESPACE,
} from "../../pkg/api/constants.ts";
import type { ExtensionPermissions, ExtensionPermissionsStatus } from "../../pkg/api/extensionPermissions.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { PermissionPolicySpec } from "../../pkg/api/permissionPolicy.ts";
import type { InstallationOptions } from "../../pkg/devcluster/installation.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { eventually } from "./eventually.ts";
import { World, type WorldCluster } from "./world.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
/** The kinds of the objects that permission-manager creates for an extension. */
const GRANT_KINDS = [
  { apiVersion: "v1", kind: "Namespace" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: RBAC, kind: "ClusterRole" },
  { apiVersion: RBAC, kind: "ClusterRoleBinding" },
  { apiVersion: RBAC, kind: "Role" },
  { apiVersion: RBAC, kind: "RoleBinding" },
] as const;

/** ServiceAccounts of the programs that take part in managed permissions. */
export const MANAGING_ACCOUNTS = ["operator-controller-controller-manager", "permission-manager-controller-manager"] as const;

/** One version of a package: the files of its bundle. Each version replaces the one before. */
export interface PublishedVersion {
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
  /** Properties in the catalog, in addition to olm.package. */
  readonly properties?: readonly Property[];
}

/** Versions by package. */
export type PublishedPackages = Readonly<Record<string, readonly PublishedVersion[]>>;

/** All programs as processes, with exactly the permissions of config, and extensions without ServiceAccounts. */
export class ManagedWorld implements AsyncDisposable {
  readonly world: World;
  /** The administrator. */
  readonly client: Client;

  private constructor(world: World, client: Client) {
    this.world = world;
    this.client = client;
  }

  static async start(
    cluster: WorldCluster,
    options: Pick<InstallationOptions, "extraArgs" | "programs" | "config"> = {},
  ): Promise<ManagedWorld> {
    return new ManagedWorld(await World.start(cluster, options), cluster.client);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.stop();
  }

  /** Pushes the bundles and a catalog of them, and serves the catalog. @returns the images of the bundles by name, by digest. */
  async publish(catalog: string, packages: PublishedPackages, labels: Record<string, string> = {}): Promise<Record<string, string>> {
    const images: Record<string, string> = {};
    const metas: object[] = [];
    for (const [name, versions] of Object.entries(packages)) {
      const entries = versions.map(({ version }, at) => {
        const before = versions[at - 1];
        return { name: `${name}.v${version}`, ...(before ? { replaces: `${name}.v${before.version}` } : {}) };
      });
      metas.push(
        { schema: "olm.package", name, defaultChannel: "stable" },
        { schema: "olm.channel", package: name, name: "stable", entries },
      );
      for (const { version, files, properties = [] } of versions) {
        const content = new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
        const image = await this.world.pushBundle(`bundles/${name}`, version, name, content);
        images[`${name}.v${version}`] = image;
        const own: Property = { type: "olm.package", value: { packageName: name, version } };
        metas.push({ schema: "olm.bundle", package: name, name: `${name}.v${version}`, image, properties: [own, ...properties] });
      }
    }
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    const ref = await this.world.pushCatalog(`catalogs/${catalog}`, "latest", new Map([["catalog.json", Buffer.from(text)]]));
    await this.world.apply({
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name: catalog, labels },
      spec: { source: { type: "Image", image: { ref } } },
    });
    await this.world.condition("ClusterCatalog", catalog, (condition, object) => {
      const { resolvedSource } = (object["status"] ?? {}) as { resolvedSource?: { image?: { ref?: string } } };
      return condition("Serving")?.status === "True" && resolvedSource?.image?.ref === ref;
    });
    return images;
  }

  /** Creates an extension of a package without ServiceAccount and, unless `spec` has one, without namespace. */
  create(name: string, packageName: string, spec: object = {}, catalog: object = {}): Promise<KubeObject> {
    return this.client.create({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name },
      spec: { source: { sourceType: "Catalog", catalog: { packageName, ...catalog } }, ...spec },
    });
  }

  /** Patches an extension. */
  edit(name: string, body: object, client = this.client): Promise<KubeObject> {
    return client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, body, { type: "merge" });
  }

  setPolicy(spec: PermissionPolicySpec, name = "default"): Promise<KubeObject> {
    return this.client.apply({ ...PERMISSION_POLICY, metadata: { name }, spec }, { fieldManager: "test", force: true });
  }

  /** @throws Error if the extension has no request. */
  async permissions(name: string): Promise<ExtensionPermissions> {
    const found = await this.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name });
    if (!found) throw new Error(`ExtensionPermissions ${name} does not exist`);
    return found;
  }

  /** Waits until the status of the permissions of an extension matches. */
  async until(name: string, check: (status: ExtensionPermissionsStatus, permissions: ExtensionPermissions) => void): Promise<void> {
    await eventually(async () => {
      const found = await this.permissions(name);
      try {
        check(found.status ?? {}, found);
      } catch (err) {
        if (err instanceof Error) err.message += ` (conditions: ${JSON.stringify(found.status?.conditions)})`;
        throw err;
      }
    });
  }

  /** Approves the rules that wait, as the administrator. */
  async approve(name: string): Promise<string> {
    await this.until(name, ({ pendingDigest }) => expect(pendingDigest).toBeDefined());
    const digest = (await this.permissions(name)).status?.pendingDigest ?? "";
    await this.annotate(name, digest);
    return digest;
  }

  /** Sets the approval of an extension's permissions; null removes it. */
  async annotate(name: string, digest: string | null, client = this.client): Promise<void> {
    const body = { metadata: { annotations: { [ANNOTATION_APPROVE]: digest } } };
    await client.patch({ ...EXTENSION_PERMISSIONS, name }, body, { type: "merge" });
  }

  /** Waits until an extension has this version installed and is ready. */
  ready(name: string, version: string): Promise<KubeObject> {
    return this.world.condition("ClusterExtension", name, (_, object) => {
      const { status, metadata } = object as ClusterExtension;
      const ready = findCondition(status?.conditions, "Ready");
      return status?.install?.bundle.version === version && ready?.status === "True" && ready.observedGeneration === metadata.generation;
    });
  }

  /** Lists the objects of permission-manager for an extension, by their label, as "Kind ns/name". */
  async listGranted(name: string): Promise<string[]> {
    const found: string[] = [];
    for (const gvk of GRANT_KINDS) {
      const { items } = await this.client.list(gvk, { labelSelector: `${LABEL_PERMISSIONS_FOR}=${name}` });
      found.push(...items.map(({ metadata }) => describeObject({ ...gvk, metadata })));
    }
    return found.sort();
  }

  /** Returns a client with the identity of a ServiceAccount. */
  as(namespace: string, account: string): Client {
    return this.client.withToken(new ServiceAccountTokens(this.client).tokenFor(namespace, account));
  }

  /** Returns a client with the identity of a program. */
  asProgram(program: "operator-controller" | "permission-manager" | "catalogd"): Client {
    return this.as(SYSTEM_NAMESPACE, `${program}-controller-manager`);
  }

  /** Creates a ServiceAccount in namespace `default` with these rules on the whole cluster, and returns a client with its identity. */
  async user(name: string, rules: readonly object[]): Promise<Client> {
    const subjects = [{ kind: "ServiceAccount", namespace: "default", name }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    await this.world.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "default" } });
    await this.world.apply({ apiVersion: RBAC, kind: "ClusterRole", metadata: { name }, rules });
    await this.world.apply({ apiVersion: RBAC, kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects });
    return this.as("default", name);
  }
}
