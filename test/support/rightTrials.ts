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
import { asksFor, describeRight, missingDetails, type Right, rightsOf, rulesFromRights, rulesOf } from "./rights.ts";

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
export class RightTrials {
  readonly #tools: TrialTools;
  readonly #operator: RealOperator;
  readonly #version: OperatorVersion;
  readonly #all: readonly Right[];
  readonly #objects: readonly KubeObject[];
  #missing: Right | undefined;

  constructor(tools: TrialTools, operator: RealOperator, version: OperatorVersion) {
    this.#tools = tools;
    this.#operator = operator;
    this.#version = version;
    this.#all = rightsOf(rulesOf(operator, [version]));
    this.#objects = [...version.objects, ...listCertificateSecrets(version.objects)].map((object) => {
      const { namespace = operator.namespace, ...metadata } = object.metadata;
      return { ...object, metadata: findKnownResource(object)?.namespaced ? { ...metadata, namespace } : metadata };
    });
  }

  /** The derived permissions of this version. */
  get rights(): readonly Right[] {
    return this.#all;
  }

  /** Installs the operator, checks the effect of revoking each of these permissions, and removes it. */
  async run(chosen: readonly Right[]): Promise<void> {
    const { world } = this.#tools;
    const { name } = this.#operator;
    const of = (...verbs: string[]): Right[] => chosen.filter((right) => right.name !== undefined && verbs.includes(right.verb));
    const onAll = (...resources: string[]): Right[] =>
      chosen.filter((right) => right.name === undefined && resources.includes(right.resource));
    await this.#install();
    for (const right of of("get", "patch"))
      await this.#named(right, () => (this.#isCertificate(right) && right.verb === "patch" ? this.#delete(right) : world.compare(name)));
    for (const right of of("create", "escalate", "bind")) await this.#named(right, () => this.#delete(right));
    for (const right of of("list", "watch")) await this.#fallback(right);
    await this.#withAll();
    await world.watchAnew(name);
    await world.content(name);
    for (const right of onAll("pods")) await this.#unexplained(right);
    for (const right of onAll("resourcequotas")) await this.#uncounted(right);
    for (const round of this.#rounds(of("delete"))) await this.#uninstallRefused(round);
    for (const crd of this.#objects.filter(isCrd)) {
      const { group, resource = "" } = readDefinedResource(crd) ?? {};
      for (const right of onAll(resource)) if (right.group === group) await this.#kept(crd, right);
    }
    await this.#withAll();
    await world.remove(name);
    await world.gone(name);
  }

  async #install(): Promise<void> {
    await this.#withAll();
    await this.#extension();
  }

  async #extension(): Promise<void> {
    const { world } = this.#tools;
    await world.extension(this.#operator, this.#version.version, { permissions: "Warn" });
    await world.content(this.#operator.name);
  }

  /** Expects a denied request, and a problem that names the permission. */
  async #named(right: Right, provoke: () => Promise<void>): Promise<void> {
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await provoke();
    await this.#tools.world.lacks(this.#operator.name, missingDetails(right));
    await refused();
  }

  /** Deletes the object whose write needs the permission, unless it does not exist yet, so that it is created again. */
  async #delete(right: Right): Promise<void> {
    const found = this.#objects.find((object) => (right.verb === "bind" ? binds(object, right) : isMeant(object, right)));
    if (!found) throw new Error(`no object needs ${describeRight(right)}`);
    const ref = toObjectRef(found);
    const before = await this.#tools.cluster.client.get(ref);
    if (!before) return;
    await this.#tools.cluster.client.delete(ref);
    if (this.#isCertificate(right)) await this.#tools.world.compare(this.#operator.name);
    await eventually(
      async () => expect((await this.#tools.cluster.client.get(ref))?.metadata.uid).not.toBe(before?.metadata.uid),
      PATIENCE,
    );
  }

  /** Whether it is for a Secret that is not an object of the bundle: these are not watched, and only written when they are wrong. */
  #isCertificate(right: Right): boolean {
    return listCertificateSecrets(this.#version.objects).some((secret) => isMeant(secret, right));
  }

  /** Expects a problem that the object cannot be watched, and that the controller polls it instead. */
  async #fallback(right: Right): Promise<void> {
    const { world } = this.#tools;
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await world.watchAnew(this.#operator.name);
    await world.says(this.#operator.name, ` only: ${right.resource}`);
    await world.says(this.#operator.name, `cannot ${right.verb} resource "${right.resource}"`);
    await refused();
    const reads = async (): Promise<number> =>
      (await this.#requests()).filter((request) => asksFor(request, { ...right, verb: "get" })).length;
    const before = await reads();
    await eventually(async () => expect(await reads()).toBeGreaterThan(before), PATIENCE);
  }

  /** Expects that only the explanation for unready Pods is missing. */
  async #unexplained(right: Right): Promise<void> {
    const { world } = this.#tools;
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await world.podFate(this.#operator, "CrashLoop");
    await refused();
    await this.#withAll();
    await world.podFate(this.#operator, "Ready");
    await world.content(this.#operator.name);
  }

  /** Expects that only the check of quotas before an install is missing. */
  async #uncounted(right: Right): Promise<void> {
    const { world } = this.#tools;
    await world.remove(this.#operator.name);
    await world.gone(this.#operator.name);
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await this.#extension();
    await refused();
    await this.#withAll();
  }

  /** Groups permissions for one uninstall each: kinds are deleted one after another, so an uninstall can test one permission of each kind. */
  #rounds(permissions: readonly Right[]): Right[][] {
    const order = sortForUninstall([...this.#objects])
      .sort((a, b) => stageOf(a) - stageOf(b))
      .map((object) => permissions.find((right) => isMeant(object, right)));
    const rounds: Right[][] = [];
    for (const right of order) {
      if (!right) continue;
      const round = rounds.find((others) => !others.some(({ resource }) => resource === right.resource));
      if (round) round.push(right);
      else rounds.push([right]);
    }
    return rounds;
  }

  async #uninstallRefused(permissions: readonly Right[]): Promise<void> {
    const { world } = this.#tools;
    const { name } = this.#operator;
    let before: Right | undefined;
    for (const right of permissions) {
      const refused = await this.#refusalOf(right);
      if (before) await this.#without(right, before);
      await this.#without(right);
      if (!before) await world.remove(name);
      await world.says(name, `cannot delete resource "${right.resource}"`);
      await refused();
      before = right;
    }
    await this.#withAll();
    await world.gone(name);
    await this.#install();
  }

  /** Expects that a definition is kept if the controller cannot read whether it is in use. */
  async #kept(crd: KubeObject, right: Right): Promise<void> {
    const { cluster, world } = this.#tools;
    const { name } = this.#operator;
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await world.remove(name);
    await world.gone(name);
    await refused();
    expect(await cluster.client.get(toObjectRef(crd))).toBeDefined();
    await cluster.client.delete(toObjectRef(crd));
    await eventually(async () => expect(await cluster.client.get(toObjectRef(crd))).toBeUndefined(), PATIENCE);
    await this.#install();
  }

  #withAll(): Promise<void> {
    return this.#without();
  }

  /** Grants all permissions except these, and waits until the API server applies that. */
  async #without(...missing: Right[]): Promise<void> {
    const before = this.#missing;
    await this.#tools.world.grant(this.#operator, rulesFromRights(this.#all.filter((right) => !missing.includes(right))));
    for (const right of missing) await this.#isAllowed(right, false);
    if (before && !missing.includes(before)) await this.#isAllowed(before, true);
    [this.#missing] = missing;
  }

  async #isAllowed({ scope, group, resource, name, verb }: Right, wanted: boolean): Promise<void> {
    const { namespace } = this.#operator;
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
    const spec = { user: this.#user, groups, resourceAttributes: { namespace: scope, group, resource, name, verb } };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    await eventually(async () => {
      const { status } = (await this.#tools.cluster.client.raw("POST", ACCESS, body)) as { status: { allowed: boolean } };
      expect(status.allowed).toBe(wanted);
    }, PATIENCE);
  }

  /** @returns a function that waits until a request that needs the permission was denied after this call. */
  async #refusalOf(right: Right): Promise<() => Promise<void>> {
    const from = (await this.#requests()).length;
    return async () => {
      await eventually(async () => {
        const refused = (await this.#requests()).slice(from).filter((request) => request.code === 403);
        expect([describeRight(right), refused.some((request) => asksFor(request, right))]).toEqual([describeRight(right), true]);
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
function stageOf({ apiVersion, kind }: KubeObject): number {
  if (isCrd({ apiVersion, kind })) return 3;
  return kind.endsWith("WebhookConfiguration") ? 0 : apiVersion === "apps/v1" ? 1 : 2;
}

function isMeant(object: KubeObject, { scope, group, resource, name }: Right): boolean {
  const found = findKnownResource(object);
  const { namespace = "", name: own } = toObjectRef(object);
  return found?.group === group && found.resource === resource && own === name && namespace === scope;
}

/** Whether it is a binding, in the scope of the permission, to the role that the permission names. */
function binds(object: KubeObject, { scope, resource, name }: Right): boolean {
  const ref = object["roleRef"] as { kind: string; name: string } | undefined;
  return ref?.name === name && `${ref?.kind.toLowerCase()}s` === resource && (object.metadata.namespace ?? "") === scope;
}
