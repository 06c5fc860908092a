import { expect } from "vitest";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { listCertificateSecrets } from "../../pkg/certificates/desiredCertificates.ts";
import { findKnownResource, readDefinedResource } from "../../pkg/rbac/resources.ts";
import { isCrd } from "../../pkg/release/identity.ts";
import { sortForUninstall } from "../../pkg/release/plan.ts";
import type { AuditTail, Request } from "./auditTail.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import type { OperatorVersion, RealOperator } from "./realOperator.ts";
import type { RealWorld } from "./realWorld.ts";
import {
  buildRulesFrom,
  computeOperatorRules,
  formatScopedPermission,
  getMissingDetails,
  needsPermission,
  type ScopedPermission,
  splitPermissions,
} from "./scopedPermissions.ts";

/** The dependencies of the trials. */
export interface TrialTools {
  cluster: TestCluster;
  world: RealWorld;
  audit: AuditTail;
}

const ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const PATIENCE = { timeoutMs: 120_000 };

/**
 * Revokes single permissions of a real operator's installer, one after the other, on one extension with spec.permissions Warn, and checks
 * the effect. During each check exactly one permission is missing.
 */
export class PermissionTrials {
  readonly #tools: TrialTools;
  readonly #operator: RealOperator;
  readonly #version: OperatorVersion;
  readonly #all: readonly ScopedPermission[];
  readonly #objects: readonly KubeObject[];
  #missing: ScopedPermission | undefined;

  constructor(tools: TrialTools, operator: RealOperator, version: OperatorVersion) {
    this.#tools = tools;
    this.#operator = operator;
    this.#version = version;
    this.#all = splitPermissions(computeOperatorRules(operator, [version]));
    this.#objects = [...version.objects, ...listCertificateSecrets(version.objects)].map((object) => {
      const { namespace = operator.namespace, ...metadata } = object.metadata;
      return { ...object, metadata: findKnownResource(object)?.namespaced ? { ...metadata, namespace } : metadata };
    });
  }

  /** The derived permissions of this version. */
  get permissions(): readonly ScopedPermission[] {
    return this.#all;
  }

  /** Installs the operator, checks the effect of revoking each of these permissions, and removes it. */
  async run(chosen: readonly ScopedPermission[]): Promise<void> {
    const { world } = this.#tools;
    const { name } = this.#operator;
    const filterNamed = (...verbs: string[]): ScopedPermission[] =>
      chosen.filter((permission) => permission.name !== undefined && verbs.includes(permission.verb));
    const filterUnnamed = (...resources: string[]): ScopedPermission[] =>
      chosen.filter((permission) => permission.name === undefined && resources.includes(permission.resource));
    await this.#install();
    for (const permission of filterNamed("get", "patch"))
      await this.#expectProblem(permission, () =>
        this.#isCertificate(permission) && permission.verb === "patch" ? this.#delete(permission) : world.compare(name),
      );
    for (const permission of filterNamed("create", "escalate", "bind"))
      await this.#expectProblem(permission, () => this.#delete(permission));
    for (const permission of filterNamed("list", "watch")) await this.#expectPolling(permission);
    await this.#grantAll();
    await world.reopenWatches(name);
    await world.content(name);
    for (const permission of filterUnnamed("pods")) await this.#expectUnexplained(permission);
    for (const permission of filterUnnamed("resourcequotas")) await this.#expectUncounted(permission);
    for (const round of this.#groupForUninstalls(filterNamed("delete"))) await this.#expectUninstallDenied(round);
    for (const crd of this.#objects.filter(isCrd)) {
      const { group, resource = "" } = readDefinedResource(crd) ?? {};
      for (const permission of filterUnnamed(resource)) if (permission.group === group) await this.#expectKept(crd, permission);
    }
    await this.#grantAll();
    await world.remove(name);
    await world.gone(name);
  }

  async #install(): Promise<void> {
    await this.#grantAll();
    await this.#extension();
  }

  async #extension(): Promise<void> {
    const { world } = this.#tools;
    await world.extension(this.#operator, this.#version.version, { permissions: "Warn" });
    await world.content(this.#operator.name);
  }

  /** Expects a denied request, and a problem that names the permission. */
  async #expectProblem(permission: ScopedPermission, provoke: () => Promise<void>): Promise<void> {
    await this.#grantWithout(permission);
    const refused = await this.#expectDenial(permission);
    await provoke();
    await this.#tools.world.expectMissingPermissions(this.#operator.name, getMissingDetails(permission));
    await refused();
  }

  /** Deletes the object whose write needs the permission, unless it does not exist yet, so that it is created again. */
  async #delete(permission: ScopedPermission): Promise<void> {
    const found = this.#objects.find((object) =>
      permission.verb === "bind" ? isBindingTo(object, permission) : isObjectOf(object, permission),
    );
    if (!found) throw new Error(`no object needs ${formatScopedPermission(permission)}`);
    const ref = toObjectRef(found);
    const before = await this.#tools.cluster.client.get(ref);
    if (!before) return;
    await this.#tools.cluster.client.delete(ref);
    if (this.#isCertificate(permission)) await this.#tools.world.compare(this.#operator.name);
    await eventually(
      async () => expect((await this.#tools.cluster.client.get(ref))?.metadata.uid).not.toBe(before?.metadata.uid),
      PATIENCE,
    );
  }

  /** Whether the permission is for a Secret with a generated certificate. The controller does not watch these Secrets, and only writes invalid ones. */
  #isCertificate(permission: ScopedPermission): boolean {
    return listCertificateSecrets(this.#version.objects).some((secret) => isObjectOf(secret, permission));
  }

  /** Expects a problem that the object cannot be watched, and that the controller polls it instead. */
  async #expectPolling(permission: ScopedPermission): Promise<void> {
    const { world } = this.#tools;
    await this.#grantWithout(permission);
    const refused = await this.#expectDenial(permission);
    await world.reopenWatches(this.#operator.name);
    await world.waitForMessage(this.#operator.name, ` to notice changes: ${permission.resource}`);
    await world.waitForMessage(this.#operator.name, `cannot ${permission.verb} resource "${permission.resource}"`);
    await refused();
    const reads = async (): Promise<number> =>
      (await this.#requests()).filter((request) => needsPermission(request, { ...permission, verb: "get" })).length;
    const before = await reads();
    await eventually(async () => expect(await reads()).toBeGreaterThan(before), PATIENCE);
  }

  /** Expects that only the explanation for unready Pods is missing. */
  async #expectUnexplained(permission: ScopedPermission): Promise<void> {
    const { world } = this.#tools;
    await this.#grantWithout(permission);
    const refused = await this.#expectDenial(permission);
    await world.setPodOutcome(this.#operator, "CrashLoop");
    await refused();
    await this.#grantAll();
    await world.setPodOutcome(this.#operator, "Ready");
    await world.content(this.#operator.name);
  }

  /** Expects that only the check of quotas before an install is missing. */
  async #expectUncounted(permission: ScopedPermission): Promise<void> {
    const { world } = this.#tools;
    await world.remove(this.#operator.name);
    await world.gone(this.#operator.name);
    await this.#grantWithout(permission);
    const refused = await this.#expectDenial(permission);
    await this.#extension();
    await refused();
    await this.#grantAll();
  }

  /** Groups permissions for one uninstall each: kinds are deleted one after another, so an uninstall can test one permission of each kind. */
  #groupForUninstalls(permissions: readonly ScopedPermission[]): ScopedPermission[][] {
    const order = sortForUninstall([...this.#objects])
      .sort((a, b) => getStage(a) - getStage(b))
      .map((object) => permissions.find((permission) => isObjectOf(object, permission)));
    const rounds: ScopedPermission[][] = [];
    for (const permission of order) {
      if (!permission) continue;
      const round = rounds.find((others) => !others.some(({ resource }) => resource === permission.resource));
      if (round) round.push(permission);
      else rounds.push([permission]);
    }
    return rounds;
  }

  async #expectUninstallDenied(permissions: readonly ScopedPermission[]): Promise<void> {
    const { world } = this.#tools;
    const { name } = this.#operator;
    let before: ScopedPermission | undefined;
    for (const permission of permissions) {
      const refused = await this.#expectDenial(permission);
      if (before) await this.#grantWithout(permission, before);
      await this.#grantWithout(permission);
      if (!before) await world.remove(name);
      await world.waitForMessage(name, `cannot delete resource "${permission.resource}"`);
      await refused();
      before = permission;
    }
    await this.#grantAll();
    await world.gone(name);
    await this.#install();
  }

  /** Expects that a definition is kept if the controller cannot read whether it is in use. */
  async #expectKept(crd: KubeObject, permission: ScopedPermission): Promise<void> {
    const { cluster, world } = this.#tools;
    const { name } = this.#operator;
    await this.#grantWithout(permission);
    const refused = await this.#expectDenial(permission);
    await world.remove(name);
    await world.gone(name);
    await refused();
    expect(await cluster.client.get(toObjectRef(crd))).toBeDefined();
    await cluster.client.delete(toObjectRef(crd));
    await eventually(async () => expect(await cluster.client.get(toObjectRef(crd))).toBeUndefined(), PATIENCE);
    await this.#install();
  }

  #grantAll(): Promise<void> {
    return this.#grantWithout();
  }

  /** Grants all permissions except these, and waits until the API server applies that. */
  async #grantWithout(...missing: ScopedPermission[]): Promise<void> {
    const before = this.#missing;
    await this.#tools.world.grant(this.#operator, buildRulesFrom(this.#all.filter((permission) => !missing.includes(permission))));
    for (const permission of missing) await this.#isAllowed(permission, false);
    if (before && !missing.includes(before)) await this.#isAllowed(before, true);
    [this.#missing] = missing;
  }

  async #isAllowed({ scope, group, resource, name, verb }: ScopedPermission, expected: boolean): Promise<void> {
    const { namespace } = this.#operator;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    const spec = { user: this.#user, groups, resourceAttributes: { namespace: scope, group, resource, name, verb } };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    await eventually(async () => {
      const { status } = (await this.#tools.cluster.client.raw("POST", ACCESS, body)) as { status: { allowed: boolean } };
      expect(status.allowed).toBe(expected);
    }, PATIENCE);
  }

  /** @returns a function that waits until a request that needs the permission was denied after this call. */
  async #expectDenial(permission: ScopedPermission): Promise<() => Promise<void>> {
    const from = (await this.#requests()).length;
    return async () => {
      await eventually(async () => {
        const refused = (await this.#requests()).slice(from).filter((request) => request.code === 403);
        expect([formatScopedPermission(permission), refused.some((request) => needsPermission(request, permission))]).toEqual([
          formatScopedPermission(permission),
          true,
        ]);
      }, PATIENCE);
    };
  }

  #requests(): Promise<readonly Request[]> {
    return this.#tools.audit.requestsOf(this.#operator.namespace, `${this.#operator.name}-installer`);
  }

  get #user(): string {
    return `system:serviceaccount:${this.#operator.namespace}:${this.#operator.name}-installer`;
  }
}

/** Webhooks are deleted first, then workloads, definitions last. */
function getStage({ apiVersion, kind }: KubeObject): number {
  if (isCrd({ apiVersion, kind })) return 3;
  return kind.endsWith("WebhookConfiguration") ? 0 : apiVersion === "apps/v1" ? 1 : 2;
}

function isObjectOf(object: KubeObject, { scope, group, resource, name }: ScopedPermission): boolean {
  const found = findKnownResource(object);
  const { namespace = "", name: own } = toObjectRef(object);
  return found?.group === group && found.resource === resource && own === name && namespace === scope;
}

/** Whether it is a binding, in the scope of the permission, to the role that the permission names. */
function isBindingTo(object: KubeObject, { scope, resource, name }: ScopedPermission): boolean {
  const ref = object["roleRef"] as { kind: string; name: string } | undefined;
  return ref?.name === name && `${ref?.kind.toLowerCase()}s` === resource && (object.metadata.namespace ?? "") === scope;
}
