import { setTimeout as sleep } from "node:timers/promises";
import { findCondition } from "../api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import { type Condition, type JsonObject, type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { type PollAnswer, waitFor } from "../async/poll.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { isNamespaceMissing, KubeError } from "../kube/errors.ts";
import { CannotRun } from "./cannotRun.ts";
import type { ConformanceCluster } from "./conformanceCluster.ts";
import { findMismatch } from "./expectations.ts";
import { LABEL_CONFORMANCE, type ScenarioNames } from "./scenarioNames.ts";

/** An expected condition; `includes` are parts of its message. */
export interface ExpectedCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly includes?: readonly string[] | undefined;
}

/** Field manager of all objects that scenarios apply. */
const CONFORMANCE_FIELD_MANAGER = "olmv1-conformance";
/** How long something must stay unchanged, in milliseconds: several reconciles of a controller that retries. */
const SETTLE_MS = 4_000;
const EVERY_MS = 500;

/** Creates, changes and checks the objects of one scenario. Every object that it creates has the label of the run. */
export class ObjectSteps {
  readonly #cluster: Pick<ConformanceCluster, "client" | "run" | "timeoutMs">;
  readonly #names: ScenarioNames;
  readonly #signal: AbortSignal;
  /** Objects outside of the namespace of the extension, by kind and name, in the order of their creation. */
  readonly #created = new Map<string, ObjectRef>();

  constructor(cluster: Pick<ConformanceCluster, "client" | "run" | "timeoutMs">, names: ScenarioNames, signal: AbortSignal) {
    this.#cluster = cluster;
    this.#names = names;
    this.#signal = signal;
  }

  /**
   * Deletes the extensions, then the other objects in the reverse order of their creation.
   * @returns what remains, with the reasons: `own` are objects of the API under test, which have its finalizers
   */
  async removeAll(signal: AbortSignal): Promise<{ own: string[]; others: string[] }> {
    const left = { own: new Array<string>(), others: new Array<string>() };
    const created = [...this.#created.values()].toReversed();
    const isExtension = ({ kind }: ObjectRef): boolean => kind === CLUSTER_EXTENSION;
    for (const ref of [...created.filter(isExtension), ...created.filter((one) => !isExtension(one))])
      await this.#delete(ref, signal).catch((err: unknown) => {
        const list = ref.apiVersion === API_VERSION ? left.own : left.others;
        list.push(`${ref.kind} ${ref.name}: ${getErrorMessage(err)}`);
      });
    return left;
  }

  /** Applies an object with the label of the run. @throws CannotRun if it exists, and the run did not create it */
  async apply(given: KubeObject): Promise<void> {
    const object = this.#names.substitute(given);
    const labels = { ...object.metadata.labels, [LABEL_CONFORMANCE]: this.#cluster.run };
    const labelled = { ...object, metadata: { ...object.metadata, labels } };
    if (object.metadata.namespace !== this.#names.namespace) await this.#claim(toObjectRef(object));
    await this.#cluster.client.apply(labelled, { fieldManager: CONFORMANCE_FIELD_MANAGER, force: true, signal: this.#signal });
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  async patch(ref: ObjectRef, patch: JsonObject): Promise<void> {
    const [named, body] = this.#names.substitute([ref, patch] as const);
    await this.#cluster.client.patch(named, body, { type: "merge", fieldManager: "kubectl-edit", signal: this.#signal });
  }

  /** Deletes an object and waits until it is gone, or until another object has its name. */
  async delete(ref: ObjectRef): Promise<void> {
    await this.#delete(this.#names.substitute(ref), this.#signal);
  }

  async expectAll(refs: readonly ObjectRef[]): Promise<void> {
    for (const ref of refs) await this.expect(ref, {});
  }

  async expectNone(refs: readonly ObjectRef[]): Promise<void> {
    for (const ref of refs)
      await this.wait(`${ref.kind} ${ref.name} not to exist`, async () => ((await this.get(ref)) === undefined ? undefined : "it exists"));
  }

  /** Waits until an object exists and has these parts. */
  async expect(ref: ObjectRef, parts: JsonObject): Promise<void> {
    const [named, expected] = this.#names.substitute([ref, parts] as const);
    await this.wait(`${named.kind} ${named.name}`, async () => {
      const object = await this.get(named);
      return object ? findMismatch(expected, object) : "it does not exist";
    });
  }

  /** Expects that an object has these parts for some reconciles. */
  async expectKept(ref: ObjectRef, parts: JsonObject): Promise<void> {
    const expected = this.#names.substitute(parts);
    await this.expectAlways(`${ref.kind} ${ref.name} to stay unchanged`, async () => findMismatch(expected, await this.get(ref)));
  }

  async expectCondition(ref: ObjectRef, { type, status, reason, message, includes = [] }: ExpectedCondition): Promise<void> {
    const parts = { type, status, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
    const expected = this.#names.substitute(parts);
    const texts = this.#names.substitute(includes);
    await this.wait(
      `condition ${type} of ${ref.kind} ${ref.name} to be ${status}${reason === undefined ? "" : ` (${reason})`}`,
      async () => {
        const object = await this.get(ref);
        const { conditions } = (object?.["status"] ?? {}) as { conditions?: Condition[] };
        const found = findCondition(conditions, type);
        if (found && found.observedGeneration !== object?.metadata.generation) return "it does not observe the latest generation yet";
        return findMismatch(expected, found) ?? findMismatch({ message: { $includes: texts } }, found ?? { message: "" });
      },
    );
  }

  /** Waits until a ServiceAccount in the namespace of the extension has a permission in the whole cluster. */
  async expectAllowed(
    account: string,
    attributes: { readonly verb: string; readonly group: string; readonly resource: string },
  ): Promise<void> {
    const spec = { user: `system:serviceaccount:${this.#names.namespace}:${account}`, resourceAttributes: attributes };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const { verb, group, resource } = attributes;
    await this.wait(`ServiceAccount ${account} to be allowed to ${verb} ${group === "" ? resource : `${resource}.${group}`}`, async () => {
      const review = await this.#cluster.client.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body, {
        signal: this.#signal,
      });
      return findMismatch({ status: { allowed: true } }, review);
    });
  }

  /** Expects that the API server rejects an object with a message. */
  async expectRejected(given: KubeObject, message: string): Promise<void> {
    const object = this.#names.substitute(given);
    const options = { fieldManager: CONFORMANCE_FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal };
    const rejection = await this.#cluster.client.apply(object, options).then(
      () => undefined,
      (err: unknown) => {
        if (err instanceof KubeError) return err.message;
        throw err;
      },
    );
    if (rejection === undefined) throw new Error(`the API server accepts ${object.kind} ${object.metadata.name}`);
    const mismatch = findMismatch({ $includes: this.#names.substitute(message) }, rejection);
    if (mismatch !== undefined) throw new Error(`the API server rejects it for another reason: ${mismatch}`);
  }

  /** Returns an object; undefined if it or its namespace does not exist. */
  async get(ref: ObjectRef): Promise<KubeObject | undefined> {
    return this.#find(this.#names.substitute(ref), this.#signal);
  }

  /** Waits until `check` finds no mismatch. */
  async wait(what: string, check: () => Promise<string | undefined>): Promise<void> {
    await this.#waitFor(what, this.#signal, check);
  }

  /** Expects that `check` finds no mismatch for some time. */
  async expectAlways(what: string, check: () => Promise<string | undefined>): Promise<void> {
    const end = performance.now() + SETTLE_MS;
    for (;;) {
      const mismatch = await check();
      if (mismatch !== undefined) throw new Error(`expected ${what}: ${mismatch}`);
      if (performance.now() >= end) return;
      await sleep(EVERY_MS, undefined, { signal: this.#signal });
    }
  }

  /** Registers an object for its removal. An object that exists belongs to a user, or to another run, which may need it. */
  async #claim(ref: ObjectRef): Promise<void> {
    const key = `${ref.kind} ${ref.namespace ?? ""}/${ref.name}`;
    if (this.#created.has(key)) return;
    const found = await this.#find(ref, this.#signal);
    if (found && found.metadata.labels?.[LABEL_CONFORMANCE] !== this.#cluster.run)
      throw new CannotRun(`${ref.kind} ${ref.name} exists, and this run did not create it. Delete it, or wait until its run has ended`);
    this.#created.set(key, ref);
  }

  async #delete(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const uid = (await this.#find(ref, signal))?.metadata.uid;
    if (uid === undefined) return;
    await this.#cluster.client.delete(ref, { signal });
    await this.#waitFor(`${ref.kind} ${ref.name} to be deleted`, signal, async () => {
      const found = await this.#find(ref, signal);
      // A controller may have created the object again.
      return found?.metadata.uid === uid ? "it exists" : undefined;
    });
  }

  async #find(ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined> {
    return this.#cluster.client.get(ref, { signal }).catch((err: unknown) => {
      if (isNamespaceMissing(err)) return undefined;
      throw err;
    });
  }

  async #waitFor(what: string, signal: AbortSignal, check: () => Promise<string | undefined>): Promise<void> {
    await waitFor({ what, timeoutMs: this.#cluster.timeoutMs, signal }, async (): Promise<PollAnswer<undefined, string>> => {
      const reason = await check();
      return reason === undefined ? { done: undefined } : { reason };
    });
  }
}
