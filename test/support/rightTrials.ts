import { expect } from "vitest";
import { type KubeObject, refOf } from "../../pkg/api/k8s.ts";
import { certificateSecrets } from "../../pkg/certificates/wantedCertificates.ts";
import { definedResource, knownResource } from "../../pkg/rbac/resources.ts";
import { isCrd } from "../../pkg/release/identity.ts";
import { uninstallOrder } from "../../pkg/release/plan.ts";
import type { AuditTail, Request } from "./auditTail.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import type { OperatorVersion, RealOperator } from "./realOperator.ts";
import type { RealWorld } from "./realWorld.ts";
import { asksFor, describeRight, missingDetails, type Right, rightsOf, rulesFromRights, rulesOf } from "./rights.ts";

/** What trials are made with. */
export interface TrialTools {
  cluster: TestCluster;
  world: RealWorld;
  audit: AuditTail;
}

const ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const PATIENCE = { timeoutMs: 120_000 };

/**
 * Takes single rights from the installer of a real operator, one after the other on one extension whose permissions are only warned of, and looks at
 * what comes of it. Exactly one right is missing at any time that something is expected.
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
    this.#objects = [...version.objects, ...certificateSecrets(version.objects)].map((object) => {
      const { namespace = operator.namespace, ...metadata } = object.metadata;
      return { ...object, metadata: knownResource(object)?.namespaced ? { ...metadata, namespace } : metadata };
    });
  }

  /** The rights of this version, as they are derived for it. */
  get rights(): readonly Right[] {
    return this.#all;
  }

  /** Installs the operator, tries what happens without each of these rights, and removes it. */
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
      const { group, resource = "" } = definedResource(crd) ?? {};
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

  /** What reads or writes what is installed is refused, and a problem names the right. */
  async #named(right: Right, provoke: () => Promise<void>): Promise<void> {
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await provoke();
    await this.#tools.world.lacks(this.#operator.name, missingDetails(right));
    await refused();
  }

  /** Deletes the object whose writing takes the right, unless it is still gone, so that it is written anew. */
  async #delete(right: Right): Promise<void> {
    const found = this.#objects.find((object) => (right.verb === "bind" ? binds(object, right) : isMeant(object, right)));
    if (!found) throw new Error(`nothing needs ${describeRight(right)}`);
    const ref = refOf(found);
    const before = await this.#tools.cluster.client.get(ref);
    if (!before) return;
    await this.#tools.cluster.client.delete(ref);
    if (this.#isCertificate(right)) await this.#tools.world.compare(this.#operator.name);
    await eventually(
      async () => expect((await this.#tools.cluster.client.get(ref))?.metadata.uid).not.toBe(before?.metadata.uid),
      PATIENCE,
    );
  }

  /** Whether it is about a Secret that is no object of the bundle: those are not watched, and written only when they are not as they should be. */
  #isCertificate(right: Right): boolean {
    return certificateSecrets(this.#version.objects).some((secret) => isMeant(secret, right));
  }

  /** The object cannot be watched, which a problem says; it is read from time to time instead. */
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

  /** Why Pods are not ready cannot be told; nothing else is in the way. */
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

  /** Whether quotas have room cannot be told before an install; nothing else is in the way. */
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

  /** Kinds are deleted one after another, so one right of each can be tried in one uninstall. */
  #rounds(rights: readonly Right[]): Right[][] {
    const order = uninstallOrder([...this.#objects])
      .sort((a, b) => stageOf(a) - stageOf(b))
      .map((object) => rights.find((right) => isMeant(object, right)));
    const rounds: Right[][] = [];
    for (const right of order) {
      if (!right) continue;
      const round = rounds.find((others) => !others.some(({ resource }) => resource === right.resource));
      if (round) round.push(right);
      else rounds.push([right]);
    }
    return rounds;
  }

  async #uninstallRefused(rights: readonly Right[]): Promise<void> {
    const { world } = this.#tools;
    const { name } = this.#operator;
    let before: Right | undefined;
    for (const right of rights) {
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

  /** A definition of which it cannot be known whether it is in use stays. */
  async #kept(crd: KubeObject, right: Right): Promise<void> {
    const { cluster, world } = this.#tools;
    const { name } = this.#operator;
    await this.#without(right);
    const refused = await this.#refusalOf(right);
    await world.remove(name);
    await world.gone(name);
    await refused();
    expect(await cluster.client.get(refOf(crd))).toBeDefined();
    await cluster.client.delete(refOf(crd));
    await eventually(async () => expect(await cluster.client.get(refOf(crd))).toBeUndefined(), PATIENCE);
    await this.#install();
  }

  #withAll(): Promise<void> {
    return this.#without();
  }

  /** Grants all rights but these, and waits until the API server knows. */
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

  /** @returns waits until a request that takes the right was refused that had not been before this call. */
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

/** Webhooks go first, then workloads, definitions last. */
function stageOf({ apiVersion, kind }: KubeObject): number {
  if (isCrd({ apiVersion, kind })) return 3;
  return kind.endsWith("WebhookConfiguration") ? 0 : apiVersion === "apps/v1" ? 1 : 2;
}

function isMeant(object: KubeObject, { scope, group, resource, name }: Right): boolean {
  const found = knownResource(object);
  const { namespace = "", name: own } = refOf(object);
  return found?.group === group && found.resource === resource && own === name && namespace === scope;
}

/** Whether it is a binding, in the scope of the right, to the role that the right is about. */
function binds(object: KubeObject, { scope, resource, name }: Right): boolean {
  const ref = object["roleRef"] as { kind: string; name: string } | undefined;
  return ref?.name === name && `${ref?.kind.toLowerCase()}s` === resource && (object.metadata.namespace ?? "") === scope;
}
