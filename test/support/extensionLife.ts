import { expect } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_EXTENSION,
  LABEL_OWNER_NAME,
  LABEL_PERMISSIONS_FOR,
} from "../../pkg/api/constants.ts";
import type { ExtensionPermissions } from "../../pkg/api/extensionPermissions.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { rulesFromDetails } from "../../pkg/operatorcontroller/permissions/permissions.ts";
import { readGrantedRules } from "../../pkg/permissions/grantObjects.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { parseInventoryRef } from "../../pkg/rollout/inventory.ts";
import type { AuditTail } from "./auditTail.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import type { ManagedWorld } from "./managedWorld.ts";
import { olmv1Prints } from "./runCli.ts";
import type { BundleShape, ShapeVersion } from "./shapedBundles.ts";

const RBAC = "rbac.authorization.k8s.io/v1";

/** A role of the bundle as it was on the cluster; "" is the cluster scope. */
export interface OwnRole {
  readonly name: string;
  readonly scope: string;
  readonly rules: readonly PolicyRule[];
}

/** The permissions of an extension at the end of a phase of its life. */
export interface PermissionSample {
  readonly phase: "install" | "upgrade" | "rollback";
  /** In the roles on the cluster. */
  readonly rules: RequiredRules;
  /** That `olmv1 permissions show` prints. */
  readonly shown: RequiredRules;
  /** The roles of the bundle, which the extension may only write if it has their permissions. */
  readonly ownRoles: readonly OwnRole[];
}

/** The dependencies of a life. */
export interface LifeTools {
  readonly cluster: TestCluster;
  readonly world: ManagedWorld;
  readonly audit: AuditTail;
}

/** Returns the rules in the roles that permission-manager wrote for an extension. */
export async function readGrantedRoles(client: Client, name: string): Promise<RequiredRules> {
  const labelSelector = `${LABEL_PERMISSIONS_FOR}=${name}`;
  const lists = ["ClusterRole", "Role"].map(async (kind) => {
    const { items } = await client.list({ apiVersion: RBAC, kind }, { labelSelector });
    return items.map((item) => ({ ...item, apiVersion: RBAC, kind }));
  });
  return readGrantedRules(name, (await Promise.all(lists)).flat());
}

/** Installs, changes, upgrades, rolls back and uninstalls one extension with managed permissions, and samples its permissions in each phase. */
export class ExtensionLife {
  readonly shape: BundleShape;
  readonly samples: PermissionSample[] = [];
  /** The objects of permission-manager that are left at the end; undefined until then. */
  left: readonly string[] | undefined;
  /** Why the life ended early. */
  error: unknown;
  readonly #tools: LifeTools;

  constructor(tools: LifeTools, shape: BundleShape) {
    this.#tools = tools;
    this.shape = shape;
  }

  get name(): string {
    return this.shape.name;
  }

  get namespace(): string {
    return `${this.name}-system`;
  }

  get account(): string {
    return `olmv1-extension-${this.name}`;
  }

  /** Runs the whole life. Errors are in `error`. */
  async run(): Promise<void> {
    try {
      const { shape, name } = this;
      const { world } = this.#tools;
      if (shape.isDependency) {
        await this.#endPhase("install", "2.0.0");
        await this.#failPods();
        await eventually(async () => expect(await world.world.extension(name)).toBeUndefined(), { timeoutMs: 180_000 });
      } else {
        await using _ = await this.#install();
        await this.#failPods();
        await this.#drift("1.0.0");
        await this.#upgrade();
        await this.#drift("2.0.0");
        await this.#rollBack();
        await shape.last?.(world.client);
        await world.world.removed("ClusterExtension", name);
      }
      await eventually(async () =>
        expect((await world.listGranted(name)).filter((object) => !object.startsWith("Namespace "))).toEqual([]),
      );
      this.left = await world.listGranted(name);
    } catch (err) {
      this.error = err;
    }
  }

  async #install(): Promise<AsyncDisposable> {
    const { world } = this.#tools;
    const { name, shape } = this;
    for (const namespace of shape.namespaces ?? [])
      await world.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await shape.before?.(world.client);
    await world.create(name, name, shape.spec, { version: "1.0.0" });
    if (shape.needsApproval) await world.approve(name);
    await world.until(name, ({ state }) => expect(state).toBe("Granted"));
    const started = await shape.during?.(world.client);
    await this.#endPhase("install", "1.0.0");
    return started ?? { [Symbol.asyncDispose]: () => Promise.resolve() };
  }

  async #upgrade(): Promise<void> {
    await this.#tools.world.edit(this.name, { spec: { source: { catalog: { version: "2.0.0" } } } });
    await this.#endPhase("upgrade", "2.0.0");
  }

  async #rollBack(): Promise<void> {
    await this.#tools.world.edit(this.name, { metadata: { annotations: { [ANNOTATION_ROLLBACK_TO]: "1" } } });
    await this.#endPhase("rollback", "1.0.0");
  }

  /** Waits until the extension is ready and has no permissions of the other version, and samples its permissions. */
  async #endPhase(phase: PermissionSample["phase"], version: ShapeVersion): Promise<void> {
    const { cluster, world } = this.#tools;
    const { name } = this;
    await world.ready(name, version);
    const [own, other] = version === "1.0.0" ? [`${name}-old`, `${name}-new`] : [`${name}-new`, `${name}-old`];
    await world.until(name, ({ state, bundle, rules = [] }) => {
      expect([state, bundle?.version]).toEqual(["Granted", version]);
      const names = rules.flatMap(({ resourceNames = [] }) => resourceNames);
      expect([names.includes(own), names.includes(other)]).toEqual([true, false]);
    });
    const json = await olmv1Prints("permissions", "show", name, "--output", "json", "--kubeconfig", cluster.kubeconfig);
    const { status } = JSON.parse(json) as ExtensionPermissions;
    const shown = rulesFromDetails(status?.rules ?? []);
    this.samples.push({ phase, shown, rules: await readGrantedRoles(world.client, name), ownRoles: await this.#listOwnRoles() });
  }

  async #listOwnRoles(): Promise<OwnRole[]> {
    const labelSelector = `${LABEL_OWNER_NAME}=${this.name}`;
    const lists = ["ClusterRole", "Role"].map((kind) => this.#tools.world.client.list({ apiVersion: RBAC, kind }, { labelSelector }));
    return (await Promise.all(lists)).flatMap(({ items }) =>
      items.map(({ metadata, rules }) => ({ name: metadata.name, scope: metadata.namespace ?? "", rules: (rules ?? []) as PolicyRule[] })),
    );
  }

  /** Lets the Pods fail until operator-controller has read them. */
  async #failPods(): Promise<void> {
    const { cluster, audit } = this.#tools;
    await cluster.setPodOutcome(this.namespace, "CrashLoop");
    await eventually(async () => {
      const requests = await audit.requestsOf(this.namespace, this.account);
      expect(requests.some(({ verb, ref }) => verb === "list" && ref.resource === "pods")).toBe(true);
    });
    await cluster.setPodOutcome(this.namespace, "Ready");
  }

  /** Deletes all objects of the extension except definitions, changes one, and waits until they are restored. */
  async #drift(version: ShapeVersion): Promise<void> {
    const { world } = this.#tools;
    const { client } = world;
    const { name, namespace } = this;
    const extension = await client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
    const settings: ObjectRef = { apiVersion: "v1", kind: "ConfigMap", namespace, name: `${name}-settings` };
    const objects = (extension?.status?.inventory?.objects ?? []).filter(
      (object) => object.kind !== "CustomResourceDefinition" && object.name !== settings.name,
    );
    const before: KubeObject[] = [];
    for (const object of objects) {
      const live = await client.get(parseInventoryRef(object));
      if (live) before.push(live);
    }
    expect(before).toHaveLength(objects.length);
    await client.patch(settings, { data: { version: "changed" } }, { type: "merge" });
    for (const object of before) await client.delete(toObjectRef(object));
    await eventually(async () => {
      expect((await client.get(settings))?.["data"]).toEqual({ version });
      for (const object of before) {
        const live = await client.get(toObjectRef(object));
        expect([object.kind, live !== undefined && live.metadata.uid !== object.metadata.uid]).toEqual([object.kind, true]);
      }
    });
    await world.ready(name, version);
  }
}
