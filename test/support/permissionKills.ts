import { expect } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { computeRequiredRules, type RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { diffRules, formatRulesDiff } from "../../pkg/rbac/ruleSets.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { eventually } from "./eventually.ts";
import { readGrantedRoles } from "./extensionLife.ts";
import type { SentRequest } from "./faultProxy.ts";
import { isSampled, type KillSample } from "./killSample.ts";
import type { KilledCase, KilledOperation, KillWorld } from "./killWorld.ts";
import type { ManagedWorld, PublishedVersion } from "./managedWorld.ts";
import { tinyBundle } from "./tinyBundle.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const API_GROUP = "rbac.authorization.k8s.io";
const VERSIONS = ["1.0.0", "2.0.0", "3.0.0"] as const;
type Version = (typeof VERSIONS)[number];
/** The rules of the ClusterRole in a version; 2.0.0 has no ClusterRole, and the one in 3.0.0 is root-equivalent. */
const CLUSTER_RULES: Partial<Record<Version, object>> = {
  "1.0.0": { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
  "3.0.0": { apiGroups: [API_GROUP], resources: ["clusterroles"], verbs: ["escalate"] },
};
/** Extensions of each series, if all points are sampled. Extension `series-N` is stopped after N writes, so this is an upper bound of the writes of its operations. */
const SERIES = { steady: 14, hasty: 11, brief: 11 } as const;
type Series = keyof typeof SERIES;

/**
 * Kills permission-manager at the points of the sample, for extensions without ServiceAccount and namespace. Each has a package of its own, and so a namespace of
 * its own. All are interrupted at once, each after another number of writes.
 * @returns the interrupted operations
 */
export async function killPermissionManager(world: KillWorld, sample: KillSample): Promise<KilledCase[]> {
  const { managed } = world;
  await managed.setPolicy({ namespaces: { deletion: "Delete" } });
  const lives = (Object.keys(SERIES) as Series[]).flatMap((series) =>
    Array.from({ length: SERIES[series] }, (_, writes) => writes)
      .filter((writes) => isSampled(sample, writes))
      .map((writes) => {
        const name = `${series}-${writes}`;
        return { name, writes, operations: OPERATIONS[series](new KilledExtension(managed, name)) };
      }),
  );
  const publish = (name: string): PublishedVersion[] => VERSIONS.map((version) => ({ version, files: buildFiles(name, version) }));
  await managed.publish("kills", Object.fromEntries(lives.map(({ name }) => [name, publish(name)])));
  const stopped: KilledCase[] = [];
  for (let step = 0; lives.some(({ operations }) => operations.length > step); step++) {
    const cases = lives.flatMap(({ name, writes, operations }) => {
      const operation = operations[step];
      return operation ? [{ writes, operation, includes: (request: SentRequest) => isGrantRequest(request, name) }] : [];
    });
    stopped.push(...(await world.killDuring("permission-manager", cases)));
  }
  return stopped;
}

/** The operations of each series, in their order. */
const OPERATIONS: Readonly<Record<Series, (extension: KilledExtension) => KilledOperation[]>> = {
  steady: (extension) => [
    { name: "install", run: () => extension.create("1.0.0"), expectDone: () => extension.expectInstalled("1.0.0") },
    { name: "upgrade", run: () => extension.setVersion("2.0.0"), expectDone: () => extension.expectInstalled("2.0.0") },
    { name: "request", run: () => extension.setVersion("3.0.0"), expectDone: () => extension.expectPending("2.0.0") },
    {
      name: "approval before a revocation",
      run: () => extension.approve(),
      expectDone: () => extension.expectInstalled("3.0.0"),
      interruption: { run: () => extension.disapprove(), expectDone: () => extension.expectUnapproved() },
    },
    { name: "approval", run: () => extension.approve(), expectDone: () => extension.expectInstalled("3.0.0") },
    { name: "revocation", run: () => extension.disapprove(), expectDone: () => extension.expectRevoked("3.0.0") },
    { name: "uninstall", run: () => extension.delete(), expectDone: () => extension.expectGone() },
  ],
  hasty: (extension) => [
    {
      name: "install before an upgrade",
      run: () => extension.create("1.0.0"),
      expectDone: () => extension.expectInstalled("1.0.0"),
      interruption: { run: () => extension.requestVersion("2.0.0"), expectDone: () => extension.expectInstalled("2.0.0") },
    },
  ],
  brief: (extension) => [
    {
      name: "install before an uninstall",
      run: () => extension.create("1.0.0"),
      expectDone: () => extension.expectInstalled("1.0.0"),
      interruption: { run: () => extension.delete(), expectDone: () => extension.expectGone() },
    },
  ],
};

/** Reports whether a request of permission-manager is for an object of an extension. */
function isGrantRequest({ user, name, namespace, body, verb }: SentRequest, extension: string): boolean {
  if (!user.endsWith(":permission-manager-controller-manager")) return false;
  const created = verb === "create" ? (JSON.parse(body.toString()) as { metadata?: { name?: string } }).metadata?.name : undefined;
  const own = [extension, `${extension}-system`, `olmv1-extension-${extension}`, `olmv1-token-${extension}`];
  return [name, namespace, created].some((part) => part !== undefined && own.includes(part));
}

interface Binding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly namespace: string; readonly name: string }[];
}

/** An extension without ServiceAccount and namespace, and what permission-manager must have granted to it. */
class KilledExtension {
  readonly #managed: ManagedWorld;
  readonly #client: Client;
  readonly #name: string;

  constructor(managed: ManagedWorld, name: string) {
    this.#managed = managed;
    this.#client = managed.client;
    this.#name = name;
  }

  create(version: Version): Promise<unknown> {
    return this.#managed.create(this.#name, this.#name, {}, { version });
  }

  setVersion(version: Version): Promise<unknown> {
    return this.#managed.edit(this.#name, { spec: { source: { catalog: { version } } } });
  }

  /** Sets the version, and waits until operator-controller requests the permissions of its bundle. */
  async requestVersion(version: Version): Promise<void> {
    await this.setVersion(version);
    await eventually(async () => expect((await this.#managed.permissions(this.#name)).spec?.bundle?.version).toBe(version));
  }

  async approve(): Promise<void> {
    const { status } = await this.#managed.permissions(this.#name);
    expect(status?.pendingDigest).toBeDefined();
    await this.#managed.annotate(this.#name, status?.pendingDigest ?? null);
  }

  disapprove(): Promise<void> {
    return this.#managed.annotate(this.#name, null);
  }

  async delete(): Promise<void> {
    await this.#client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.#name });
  }

  /** Asserts that a version is installed and healthy, and has exactly its permissions. */
  async expectInstalled(version: Version): Promise<void> {
    const extension = await this.#managed.world.extension(this.#name);
    const ready = extension?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
    expect([extension?.status?.install?.bundle.version, ready]).toEqual([version, "True"]);
    await this.#expectGranted(this.#computeRules(version));
    const { status } = await this.#managed.permissions(this.#name);
    expect([status?.state, status?.bundle?.version]).toEqual(["Granted", version]);
  }

  /** Asserts that the last version waits for an approval, and that the extension still has exactly the permissions of the installed one. */
  async expectPending(installed: Version): Promise<void> {
    const { status } = await this.#managed.permissions(this.#name);
    expect([status?.state, status?.bundle?.version]).toEqual(["Pending", "3.0.0"]);
    await this.#expectGranted(this.#computeRules(installed));
  }

  /** Asserts that the last version waits for an approval, and that the extension has none of the permissions that need it. */
  async expectUnapproved(): Promise<void> {
    const { status } = await this.#managed.permissions(this.#name);
    expect([status?.state, status?.approvedDigest]).toEqual(["Pending", undefined]);
    const { clusterRules } = await readGrantedRoles(this.#client, this.#name);
    expect(clusterRules.filter(({ verbs }) => verbs.includes("escalate"))).toEqual([]);
  }

  /** Asserts that the extension has exactly the permissions of a version, without the root-equivalent ones. */
  async expectRevoked(version: Version): Promise<void> {
    const { status } = await this.#managed.permissions(this.#name);
    expect([status?.state, status?.approvedDigest]).toEqual(["Pending", undefined]);
    const { clusterRules, ...others } = this.#computeRules(version);
    const kept = clusterRules.filter(({ verbs }) => !verbs.includes("escalate"));
    expect(kept.length).toBeLessThan(clusterRules.length);
    await this.#expectGranted({ ...others, clusterRules: kept });
  }

  /** Asserts that neither the extension nor anything that permission-manager created for it exists; the deletion of the namespace may have to end. */
  async expectGone(): Promise<void> {
    const name = this.#name;
    expect(await this.#managed.world.extension(name)).toBeUndefined();
    expect(await this.#client.get({ ...EXTENSION_PERMISSIONS, name })).toBeUndefined();
    const namespace = await this.#client.get({ apiVersion: "v1", kind: "Namespace", name: this.#namespace });
    const isDeleted = namespace === undefined || namespace.metadata.deletionTimestamp !== undefined;
    expect(isDeleted, `namespace ${this.#namespace} is deleted`).toBe(true);
    expect((await this.#managed.listGranted(name)).filter((object) => !object.startsWith("Namespace "))).toEqual([]);
  }

  /** Asserts that exactly the objects for these rules exist, and that each binding binds the role of its name to its only subject. */
  async #expectGranted(rules: RequiredRules): Promise<void> {
    const name = this.#name;
    const [own, token, namespace] = [`olmv1-extension-${name}`, `olmv1-token-${name}`, this.#namespace];
    const cluster = rules.clusterRules.length > 0 ? [`ClusterRole ${own}`, `ClusterRoleBinding ${own}`] : [];
    const namespaced = ["Role", "RoleBinding"].flatMap((kind) => [own, token].map((object) => `${kind} ${namespace}/${object}`));
    expect(await this.#managed.listGranted(name)).toEqual(
      [...cluster, ...namespaced, `Namespace ${namespace}`, `ServiceAccount ${namespace}/${own}`].sort(),
    );
    expect(formatRulesDiff(diffRules(rules, await readGrantedRoles(this.#client, name)))).toEqual(["no change"]);
    const bound: [kind: string, binding: string, roleKind: string, subject: string][] = [
      ["RoleBinding", own, "Role", `${namespace}/${own}`],
      ["RoleBinding", token, "Role", "olmv1-system/operator-controller-controller-manager"],
    ];
    if (cluster.length > 0) bound.push(["ClusterRoleBinding", own, "ClusterRole", `${namespace}/${own}`]);
    for (const [kind, binding, roleKind, subject] of bound) {
      const where = kind === "RoleBinding" ? { namespace } : {};
      const live = await this.#client.get<Binding>({ apiVersion: RBAC, kind, name: binding, ...where });
      const subjects = live?.subjects.map((one) => `${one.namespace}/${one.name}`);
      expect([live?.roleRef.kind, live?.roleRef.name, subjects]).toEqual([roleKind, binding, [subject]]);
    }
  }

  get #namespace(): string {
    return `${this.#name}-system`;
  }

  #computeRules(version: Version): RequiredRules {
    const files = new Map(Object.entries(buildFiles(this.#name, version)).map(([path, text]) => [path, Buffer.from(text)]));
    const objects = renderBundle(loadBundle(files), { installNamespace: this.#namespace });
    return computeRequiredRules(objects, { installNamespace: this.#namespace, strategy: "union" });
  }
}

/** A bundle with a Deployment, a ConfigMap with another name in each version, and perhaps a ClusterRole. */
function buildFiles(name: string, version: Version): Record<string, string> {
  const rules = CLUSTER_RULES[version];
  const objects: KubeObject[] = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `settings-${version}` } }];
  if (rules) objects.push({ apiVersion: RBAC, kind: "ClusterRole", metadata: { name }, rules: [rules] });
  return tinyBundle(version, { name, objects });
}
