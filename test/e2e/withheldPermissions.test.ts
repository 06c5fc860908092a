import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { parseInventoryRef } from "../../pkg/rollout/inventory.ts";
import { type AccessStep, isWrite, listAccessSteps, WRITE_VERBS } from "../support/accessTimeline.ts";
import { AuditTail, type Request } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { readGrantedRoles } from "../support/extensionLife.ts";
import { MANAGING_ACCOUNTS, ManagedWorld } from "../support/managedWorld.ts";
import {
  buildRulesFrom,
  formatScopedPermission,
  needsPermission,
  type ScopedPermission,
  splitPermissions,
} from "../support/scopedPermissions.ts";
import { BUNDLE_SHAPES, toVersions } from "../support/shapedBundles.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const RBAC = "rbac.authorization.k8s.io/v1";
const REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const FORBIDDEN = 403;
const PILOT = "pilot";
const READS = ["get", "list", "watch"];

describeWithPrivateCluster("permissions that are withheld from an extension", (cluster) => {
  let world: ManagedWorld;
  let audit: AuditTail;

  beforeAll(async () => {
    audit = new AuditTail(cluster.auditLog);
    const flags = ["--max-backoff", "2s", "--drift-interval", "2s"];
    world = await ManagedWorld.start(cluster, { extraArgs: { "operator-controller": flags } });
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { version: "1.0.0" } };
    const permissions = [{ serviceAccountName: "small", rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "delete"] }] }];
    const files = tinyBundle("1.0.0", { name: "small", modes: ["OwnNamespace"], permissions, objects: [configMap] });
    const shapes = BUNDLE_SHAPES.filter(({ name }) => ["hooks", "wide", "kinds"].includes(name));
    await world.publish("bundles", {
      small: [{ version: "1.0.0", files }],
      ...Object.fromEntries(shapes.map((shape) => [shape.name, toVersions(shape)])),
    });
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  async function review(namespace: string, name: string, attributes: object): Promise<boolean> {
    const user = `system:serviceaccount:${namespace}:olmv1-extension-${name}`;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user, groups, resourceAttributes: attributes },
    };
    const { status } = (await cluster.client.raw("POST", REVIEWS, body)) as { status: { allowed: boolean } };
    return status.allowed;
  }

  async function listObjects(name: string): Promise<ObjectRef[]> {
    const extension = await cluster.client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
    return (extension?.status?.inventory?.objects ?? []).map(parseInventoryRef);
  }

  test("each permission of a small bundle, if it is missing, results in a denied request", async () => {
    const createSmall = (name: string): Promise<KubeObject> =>
      world.create(name, "small", {
        namespace: `${name}-system`,
        config: { configType: "Inline", inline: { watchNamespace: `${name}-system` } },
      });
    await createSmall(PILOT);
    await world.ready(PILOT, "1.0.0");
    await world.until(PILOT, ({ state }) => expect(state).toBe("Granted"));
    const granted = splitPermissions(await readGrantedRoles(cluster.client, PILOT));
    // Only an installation reads quotas.
    const withheld = granted.filter(({ resource }) => resource !== "resourcequotas");
    expect(new Set(withheld.map(({ verb }) => verb)).size).toBe(6);
    const trials = withheld.map((permission, at) => new Trial(`trial-${at}`, permission));
    await Promise.all(trials.map(({ name }) => createSmall(name)));
    await Promise.all(trials.map(({ name }) => world.ready(name, "1.0.0")));

    await world.world.installation.servers["permission-manager"].stop(); // so that it does not restore the roles
    const manager = world.asProgram("permission-manager");
    const setRules = (trial: Trial, permissions: readonly ScopedPermission[]): Promise<KubeObject> =>
      manager.patch(
        { apiVersion: RBAC, kind: "Role", namespace: trial.namespace, name: trial.account },
        { rules: buildRulesFrom(permissions).namespaceRules.get(`${PILOT}-system`) },
        { type: "merge" },
      );
    await Promise.all(
      trials.map((trial) =>
        setRules(
          trial,
          granted.filter((permission) => permission !== trial.withheld),
        ),
      ),
    );
    for (const {
      name,
      namespace,
      withheld: { group, resource, verb, name: object },
    } of trials)
      await eventually(async () => expect(await review(namespace, name, { namespace, group, resource, verb, name: object })).toBe(false));

    for (const trial of trials) await trial.start(audit);
    await world.world.installation.restart("operator-controller"); // compares all objects, and watches them again
    await Promise.all(
      trials.map(async ({ name, namespace }) => {
        await cluster.setPodOutcome(namespace, "CrashLoop");
        for (const object of await listObjects(name)) await cluster.client.delete(object);
      }),
    );
    const isUninstall = ({ withheld: { verb, resource } }: Trial): boolean => verb === "delete" && resource !== "pods";
    await expectDenied(trials.filter((trial) => !isUninstall(trial)));
    await Promise.all(
      trials.map((trial) =>
        setRules(
          trial,
          granted.filter((permission) => permission !== trial.withheld),
        ),
      ),
    );
    await Promise.all(trials.map(({ name }) => cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name })));
    await expectDenied(trials.filter(isUninstall));
    console.log(`${trials.length} permissions were withheld, one from each extension`);

    await Promise.all(trials.map((trial) => setRules(trial, granted)));
    await world.world.installation.restart("permission-manager");
    await Promise.all(
      trials.map(({ name }) => eventually(async () => expect(await world.world.extension(name)).toBeUndefined(), { timeoutMs: 120_000 })),
    );
    await world.world.removed("ClusterExtension", PILOT);
  });

  test.for(["hooks", "wide", "kinds"])(
    "extension %s only writes between the restoration and the removal of its write permissions, with a policy with standing WhileChanging",
    async (name) => {
      const namespace = `${name}-system`;
      await world.setPolicy({ standing: "WhileChanging" }, "resting");
      await world.create(name, name, { install: { permissionPolicy: "resting" } }, { version: "1.0.0" });
      await world.ready(name, "1.0.0");
      await expectReadOnly(name);

      const idle = await AccessPhase.start(audit, name);
      for (const round of ["1", "2", "3"]) {
        const before = await countReads(name);
        await world.edit(name, { metadata: { labels: { round } } });
        await eventually(async () => expect(await countReads(name)).toBeGreaterThan(before));
      }
      await cluster.setPodOutcome(namespace, "CrashLoop"); // operator-controller reads the Pods
      await eventually(async () => expect((await idle.readOwn()).map(({ ref }) => ref.resource)).toContain("pods"));
      await cluster.setPodOutcome(namespace, "Ready");
      await world.ready(name, "1.0.0");
      await expectReadOnly(name);
      await expectNoWritePermission(name);
      const wrong = (await idle.readOwn()).filter((request) => isWrite(request) || request.code === FORBIDDEN);
      expect(wrong.map(({ verb, uri, code }) => `${verb} ${uri} ${code}`)).toEqual([]);
      expect(await idle.readSteps()).toEqual([]);

      const drift = await AccessPhase.start(audit, name);
      const changed: ObjectRef = { apiVersion: "v1", kind: "ConfigMap", namespace, name: `${name}-settings` };
      await cluster.client.patch(changed, { data: { version: "changed" } }, { type: "merge" });
      await eventually(async () => expect((await cluster.client.get(changed))?.["data"]).toEqual({ version: "1.0.0" }));
      await expectReadOnly(name);
      const written = (await drift.readOwn()).filter(isWrite).map(({ verb, ref }) => `${verb} ${ref.resource}/${ref.name}`);
      expect(new Set(written)).toEqual(new Set([`patch configmaps/${name}-settings`]));
      expect(await drift.readSteps()).toEqual(["restored", "written", "removed"]);

      const start = await AccessPhase.start(audit, name);
      await world.world.installation.restart("operator-controller"); // applies all objects again
      await eventually(async () => expect(await start.readSteps()).toEqual(["restored", "written", "removed"]));
      await expectReadOnly(name);
      await world.edit(name, { spec: { source: { catalog: { version: "2.0.0" } } } });
      await world.ready(name, "2.0.0");
      await expectReadOnly(name);
      await expectNoWritePermission(name);
      await world.world.removed("ClusterExtension", name);
      await eventually(async () => expect(await world.listGranted(name)).toEqual([`Namespace ${namespace}`]));
      const life = new AccessPhase(audit, name);
      const denied = (await life.readOwn()).filter(({ code }) => code === FORBIDDEN);
      expect(denied.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
      expect((await life.readSteps()).join(" ")).toMatch(/^restored written removed( restored( written)? removed)+$/);
    },
  );

  /** Counts how often operator-controller has read an extension. */
  async function countReads(name: string): Promise<number> {
    const requests = await audit.requestsOf(SYSTEM_NAMESPACE, MANAGING_ACCOUNTS[0]);
    return requests.filter(({ verb, ref }) => verb === "get" && ref.resource === "clusterextensions" && ref.name === name).length;
  }

  /** Asserts that an extension has none of the write permissions in its roles. */
  async function expectNoWritePermission(name: string): Promise<void> {
    const permissions = splitPermissions(await readGrantedRoles(cluster.client, name)).filter(({ verb }) => !READS.includes(verb));
    expect(permissions.length).toBeGreaterThan(0);
    const allowed: ScopedPermission[] = [];
    for (const permission of permissions) {
      const { scope: namespace, group, resource, name: object, verb } = permission;
      if (await review(`${name}-system`, name, { namespace, group, resource, verb, name: object })) allowed.push(permission);
    }
    expect(allowed.map(formatScopedPermission)).toEqual([]);
  }

  /** Waits until an extension may only read its objects, and none of its bindings contains another verb. */
  async function expectReadOnly(name: string): Promise<void> {
    const namespace = `${name}-system`;
    await eventually(async () => {
      expect((await world.permissions(name)).status?.access).toBe("ReadOnly");
      expect((await listBoundVerbs(`olmv1-extension-${name}`)).filter((verb) => !["get", "list", "watch"].includes(verb))).toEqual([]);
      for (const object of await listObjects(name)) {
        const { group = "", resource } = findKnownResource(object) ?? {};
        const attributes = { group, resource, name: object.name, ...(object.namespace ? { namespace: object.namespace } : {}) };
        const allowed: string[] = [];
        for (const verb of ["get", ...WRITE_VERBS]) if (await review(namespace, name, { ...attributes, verb })) allowed.push(verb);
        expect([object.kind, object.name, ...allowed]).toEqual([object.kind, object.name, "get"]);
      }
    });
  }

  /** Returns the verbs in all roles that are bound to a ServiceAccount. */
  async function listBoundVerbs(account: string): Promise<string[]> {
    const verbs: string[] = [];
    for (const kind of ["RoleBinding", "ClusterRoleBinding"]) {
      const { items } = await cluster.client.list({ apiVersion: RBAC, kind });
      for (const { metadata, roleRef, subjects } of items as Binding[]) {
        if (!subjects?.some((subject) => subject.name === account)) continue;
        const where = roleRef.kind === "Role" && metadata.namespace ? { namespace: metadata.namespace } : {};
        const role = await cluster.client.get({ apiVersion: RBAC, kind: roleRef.kind, name: roleRef.name, ...where });
        verbs.push(...((role?.["rules"] ?? []) as PolicyRule[]).flatMap((rule) => rule.verbs));
      }
    }
    return [...new Set(verbs)];
  }

  async function expectDenied(trials: readonly Trial[]): Promise<void> {
    await eventually(async () => {
      const missing: string[] = [];
      for (const trial of trials)
        if (!(await trial.isDenied(audit))) missing.push(`${trial.name}: ${formatScopedPermission(trial.withheld)}`);
      expect(missing).toEqual([]);
    });
  }
});

/** The requests of an extension's ServiceAccount, and of permission-manager for it, from a moment on. */
class AccessPhase {
  readonly #audit: AuditTail;
  readonly #name: string;
  /** Numbers of earlier requests. */
  readonly #from: { readonly own: number; readonly manager: number };

  /** Starts with the first request. */
  constructor(audit: AuditTail, name: string, from = { own: 0, manager: 0 }) {
    this.#audit = audit;
    this.#name = name;
    this.#from = from;
  }

  /** Starts now. */
  static async start(audit: AuditTail, name: string): Promise<AccessPhase> {
    const all = new AccessPhase(audit, name);
    return new AccessPhase(audit, name, { own: (await all.readOwn()).length, manager: (await all.#readManager()).length });
  }

  async readOwn(): Promise<readonly Request[]> {
    return (await this.#audit.requestsOf(`${this.#name}-system`, this.#account)).slice(this.#from.own);
  }

  async readSteps(): Promise<AccessStep[]> {
    return listAccessSteps(await this.readOwn(), await this.#readManager(), this.#account);
  }

  async #readManager(): Promise<readonly Request[]> {
    return (await this.#audit.requestsOf(SYSTEM_NAMESPACE, MANAGING_ACCOUNTS[1])).slice(this.#from.manager);
  }

  get #account(): string {
    return `olmv1-extension-${this.#name}`;
  }
}

interface Binding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly name: string }[];
}

/** An extension that lacks one permission. */
class Trial {
  readonly name: string;
  /** In the namespace of the pilot. */
  readonly withheld: ScopedPermission;
  #from = 0;

  constructor(name: string, withheld: ScopedPermission) {
    this.name = name;
    this.withheld = withheld;
  }

  get namespace(): string {
    return `${this.name}-system`;
  }

  get account(): string {
    return `olmv1-extension-${this.name}`;
  }

  /** Counts requests from here. */
  async start(audit: AuditTail): Promise<void> {
    this.#from = (await audit.requestsOf(this.namespace, this.account)).length;
  }

  /** Reports whether a request that needs the permission was denied. A write of a role needs the permissions in the role. */
  async isDenied(audit: AuditTail): Promise<boolean> {
    const requests = (await audit.requestsOf(this.namespace, this.account)).slice(this.#from);
    const permission = { ...this.withheld, scope: this.namespace };
    return requests.some((request) => request.code === FORBIDDEN && (needsPermission(request, permission) || this.#grants(request)));
  }

  #grants({ verb, ref }: Request): boolean {
    return this.withheld.resource === "pods" && this.withheld.verb !== "list" && verb === "patch" && ref.resource === "roles";
  }
}
