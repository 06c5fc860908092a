import { FIELD_MANAGER } from "../../api/constants.ts";
import { getGroup, type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { newProblem, type Problem, toProblemObject } from "../../api/problems.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { getErrorMessage, getProblems, RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import {
  isConflict,
  isImmutableField,
  isInvalid,
  isNamespaceMissing,
  isQuotaExceeded,
  isRbacDenied,
  KindNotServed,
} from "../../kube/errors.ts";
import type { ApplyOptions, GetOptions } from "../../kube/request.ts";
import { describeObject, getObjectKey, isCrd } from "../../release/identity.ts";
import { differsOnlyInBundleLabels } from "../../release/labels.ts";
import { getControllerUid } from "../../release/ownership.ts";
import { findRenumberedPorts } from "../../release/renumberedPorts.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { LiveObjects, ObjectAction } from "../state/objectActions.ts";

/** The field in API server errors about two ports with the same name, or about an unnamed port in a list of several ports. */
const PORT_FIELD = /\bports\[\d+\](\.name)?$/;

/**
 * Applies an object server-side, and restores ports whose number was changed. The API server identifies ports by number: it keeps the port with the
 * changed number in addition to the original port, and rejects the object as invalid. Therefore this function first takes ownership of the fields of
 * the changed port. If this happens in a dry run, the result is the live object with the ports restored, without other changes.
 * @throws KubeError any other error of the API server.
 */
export async function applyWithPorts(
  client: Pick<Client, "apply" | "get" | "patch">,
  object: KubeObject,
  options: ApplyOptions,
): Promise<KubeObject> {
  try {
    return await client.apply(object, options);
  } catch (err) {
    const { dryRun = false, fieldManager, signal } = options;
    const during = signal ? { signal } : {};
    const live = isAboutPorts(err) ? await client.get(toObjectRef(object), during) : undefined;
    const renumbered = live && findRenumberedPorts(object, live);
    if (!renumbered) throw err;
    if (dryRun) return renumbered.after;
    const { resourceVersion } = live.metadata;
    const metadata = { managedFields: renumbered.managedFields, resourceVersion };
    await client.patch(toObjectRef(object), { metadata }, { type: "merge", fieldManager, ...during });
    return client.apply(object, options);
  }
}

function isAboutPorts(err: unknown): boolean {
  if (!isInvalid(err)) return false;
  const causes = err.details?.["causes"];
  return Array.isArray(causes) && causes.length > 0 && causes.every((cause) => PORT_FIELD.test(getField(cause)));
}

function getField(cause: unknown): string {
  return typeof cause === "object" && cause !== null && "field" in cause && typeof cause.field === "string" ? cause.field : "";
}

/** Kinds whose objects can be deleted without losing data, because a new object has the same effect. */
const RECREATED_KINDS: ReadonlySet<string> = new Set([
  "apps/Deployment",
  "rbac.authorization.k8s.io/ClusterRoleBinding",
  "rbac.authorization.k8s.io/RoleBinding",
]);
/** Reports whether an object may be deleted and recreated to change an immutable field. */
export function isRecreatable({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return RECREATED_KINDS.has(`${getGroup(apiVersion)}/${kind}`);
}

/** Reports whether two objects have an owner in common. */
function haveCommonOwner(a: KubeObject, b: KubeObject): boolean {
  const owners = new Set(a.metadata.ownerReferences?.map(({ uid }) => uid));
  return b.metadata.ownerReferences?.some(({ uid }) => owners.has(uid)) ?? false;
}

/** Parallel requests for one extension: enough to hide round trips, few enough to be fair to other extensions. */
const PARALLEL_OBJECTS = 8;

/** A failed request about one object. */
export interface ObjectFailure {
  readonly item: KubeObject | ObjectRef;
  readonly err: unknown;
}

/**
 * Calls `run` for items in parallel and collects its failures, in the order of the items. A failure does not stop the other calls.
 * @throws the reason of `signal` when it aborts.
 */
export async function collectFailures<T extends KubeObject | ObjectRef>(
  items: readonly T[],
  signal: AbortSignal,
  run: (item: T) => Promise<void>,
): Promise<ObjectFailure[]> {
  const failures = await mapInParallel(items, PARALLEL_OBJECTS, async (item): Promise<ObjectFailure[]> => {
    signal.throwIfAborted();
    try {
      await run(item);
      return [];
    } catch (err) {
      return [{ item, err }];
    }
  });
  signal.throwIfAborted();
  return failures.flat();
}

/** Describes a failed request: the object and the error in `message`, and the suggested fix in `next`, if known. */
export function describeFailure({ item, err }: ObjectFailure): { message: string; next?: string } {
  const next = getAdvice(item, err);
  return { message: `${describeObject(item)}: ${getErrorMessage(err)}`, ...(next === undefined ? {} : { next }) };
}

/** Converts a failed request to entries of `status.problems`. */
export function toFailureProblems(failure: ObjectFailure): readonly Problem[] {
  const { item, err } = failure;
  const { message, next } = describeFailure(failure);
  const own = getProblems(err);
  if (own.length > 0) return own;
  if (isNamespaceMissing(err)) return [newProblem("NamespaceNotFound", { message, next, details: [String(err.details?.["name"])] })];
  if (isQuotaExceeded(err)) return [newProblem("QuotaExceeded", { message, next })];
  if (isRbacDenied(err)) return [newProblem("MissingPermissions", { message, next })];
  return [newProblem("ObjectRejected", { message, next, details: [toProblemObject("metadata" in item ? toObjectRef(item) : item)] })];
}

/** Formats one failure as a sentence, and several failures in Helm's format ("N errors occurred:"). @param doing prefix of each failure. */
export function formatFailures(doing: string, failures: readonly ObjectFailure[]): string {
  const lines = failures.map((failure) => `${doing}${describeFailure(failure).message}`);
  return lines.length === 1 ? String(lines[0]) : `${lines.length} errors occurred:\n${lines.map((line) => `\t* ${line}\n`).join("")}\n`;
}

/**
 * An error for failed requests about objects. Always retryable, because permissions, quotas and policies can change without an edit of the
 * extension.
 */
export class RequestsFailed extends RetryableError {
  readonly failures: readonly ObjectFailure[];

  /** @param doing prefix of each failure. */
  constructor(doing: string, failures: readonly ObjectFailure[]) {
    super("Retrying", formatFailures(doing, failures), { cause: failures[0]?.err, problems: failures.flatMap(toFailureProblems) });
    this.failures = failures;
  }
}

/**
 * Throws one error for all failures; does nothing without failures.
 * @throws RequestsFailed Retrying.
 */
export function throwFailures(doing: string, failures: readonly ObjectFailure[]): void {
  if (failures.length > 0) throw new RequestsFailed(doing, failures);
}

function getAdvice(item: KubeObject | ObjectRef, err: unknown): string | undefined {
  if (isNamespaceMissing(err)) return "create the namespace, or remove it from the extension's configuration";
  if (!isImmutableField(err)) return undefined;
  if (isCrd(item)) return "choose a version of the bundle that keeps the field: deleting the CRD would delete its custom resources";
  const why = isRecreatable(item) ? "the object is not marked as owned by this extension" : "data could be lost";
  return `delete the ${item.kind} to have it recreated; the controller does not delete it itself because ${why}`;
}

/** The part of a client that reads, applies and deletes objects. */
export type ObjectClient = Pick<Client, "get" | "apply" | "patch" | "delete">;

/** An object before an apply, and as the API server returned it. */
export interface Outcome {
  /** Undefined if it did not exist. */
  readonly before: KubeObject | undefined;
  readonly after: KubeObject;
}

/** The results of reading each object of a set. */
export interface ObjectResults {
  /** The objects in the responses of the API server, by `getObjectKey`. */
  readonly objects: LiveObjects;
  /** In the order of the set. */
  readonly failures: readonly ObjectFailure[];
}

type ReadOptions = Pick<GetOptions, "metadataOnly">;

/** Maximum number of attempts to delete an object that other clients change at the same time. */
const REMOVALS_MAX = 5;

/** Reads and writes the objects of one extension during one reconcile, with the identity of `client`. */
export class Applier {
  readonly #client: ObjectClient;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #actions: ObjectAction[] = [];
  readonly #outcomes = new Map<string, Outcome>();

  constructor(client: ObjectClient, log: Logger, signal: AbortSignal) {
    this.#client = client;
    this.#log = log;
    this.#signal = signal;
  }

  /** All actions so far, including the actions of a call that failed midway. */
  get actions(): readonly ObjectAction[] {
    return this.#actions;
  }

  /** Every applied or compared object, as the API server returned it. */
  get applied(): LiveObjects {
    return new Map([...this.#outcomes].map(([key, { after }]) => [key, after]));
  }

  /** The outcome for every applied or compared object so far, by `getObjectKey`. */
  get outcomes(): ReadonlyMap<string, Outcome> {
    return this.#outcomes;
  }

  /**
   * Reads the objects `refs`; an object whose kind is not served counts as absent.
   * @param options with `metadataOnly`, the API server sends only the metadata.
   * @throws RetryableError Retrying with all failed reads.
   */
  async read(refs: readonly ObjectRef[], options: ReadOptions = {}): Promise<LiveObjects> {
    const { objects, failures } = await this.readEach(refs, options);
    throwFailures("could not get object: ", failures);
    return objects;
  }

  /** Reads the objects `refs` like `read`, but returns failures instead of throwing them. */
  async readEach(refs: readonly ObjectRef[], options: ReadOptions = {}): Promise<ObjectResults> {
    const live = new Map<string, KubeObject>();
    const failures = await collectFailures(refs, this.#signal, async (ref) => {
      try {
        const object = await this.#client.get(ref, { ...options, signal: this.#signal });
        if (object) live.set(getObjectKey(ref), object);
      } catch (err) {
        if (!(err instanceof KindNotServed)) throw err;
      }
    });
    return { objects: live, failures };
  }

  /**
   * Applies objects in server-side dry runs; nothing is written. The results are in `outcomes`.
   * @throws RetryableError Retrying with all failures.
   */
  async compare(objects: readonly KubeObject[], live: LiveObjects): Promise<void> {
    const failures = await collectFailures(objects, this.#signal, async (object) => {
      const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal };
      const after = await applyWithPorts(this.#client, object, options);
      this.#outcomes.set(getObjectKey(object), { before: live.get(getObjectKey(object)), after });
    });
    throwFailures("", failures);
  }

  /**
   * Applies objects in the order given; consecutive objects of the same kind in parallel. After a failure, still applies the remaining objects of
   * that kind, and with `continueOnFailure` all remaining objects.
   * @param live the objects before the apply, to distinguish created from updated objects.
   * @throws RetryableError Retrying with all failures.
   */
  async apply(
    objects: readonly KubeObject[],
    live: LiveObjects,
    { continueOnFailure = false }: { continueOnFailure?: boolean } = {},
  ): Promise<void> {
    const failures: ObjectFailure[] = [];
    for (const group of groupByKind(objects)) {
      failures.push(...(await collectFailures(group, this.#signal, (object) => this.#apply(object, live))));
      if (!continueOnFailure) throwFailures("", failures);
    }
    throwFailures("", failures);
  }

  /**
   * Deletes objects in the order given; consecutive objects of the same kind in parallel. Skips an object that was replaced or changed its owner
   * after it was read.
   * @param propagation `Foreground`: an object exists until its dependents are gone, such as a Deployment until its Pods are gone.
   * @throws RetryableError Retrying with all failures of the first kind that had failures.
   */
  async remove(objects: readonly KubeObject[], propagation: "Background" | "Foreground" = "Background"): Promise<void> {
    for (const group of groupByKind(objects)) {
      throwFailures("delete ", await collectFailures(group, this.#signal, (object) => this.#remove(object, propagation)));
    }
  }

  /**
   * Deletes one object if its uid and resourceVersion have not changed since it was read.
   * @returns false if another client has changed the object since; true if the object is deleted or was already deleted.
   * @throws RetryableError Retrying with the failure.
   */
  async removeUnchanged(object: KubeObject): Promise<boolean> {
    const { uid, resourceVersion } = object.metadata;
    const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
    let isUnchanged = true;
    const failures = await collectFailures([object], this.#signal, async () => {
      try {
        this.#addRemoval(
          object,
          await this.#client.delete(toObjectRef(object), { ...preconditions, propagationPolicy: "Background", signal: this.#signal }),
        );
      } catch (err) {
        if (!isConflict(err)) throw err;
        isUnchanged = false;
      }
    });
    throwFailures("delete ", failures);
    return isUnchanged;
  }

  async #apply(object: KubeObject, live: LiveObjects): Promise<void> {
    const ref = toObjectRef(object);
    const before = live.get(getObjectKey(ref));
    const { after, recreated } = await this.#applyOrRecreate(object);
    this.#outcomes.set(getObjectKey(ref), { before, after });
    const isSame = before?.metadata.resourceVersion === after.metadata.resourceVersion;
    const verb = recreated ? "recreated" : !before ? "created" : isSame ? "unchanged" : "updated";
    const labelsOnly = verb === "updated" && before !== undefined && differsOnlyInBundleLabels(before, after);
    this.#actions.push({ verb, ref, ...(labelsOnly ? { labelsOnly } : {}) });
    this.#log[verb === "unchanged" || labelsOnly ? "debug" : "info"](
      { verb, target: describeObject(ref), apiVersion: ref.apiVersion },
      "object applied",
    );
  }

  /**
   * Applies an object. If an immutable field differs, deletes and recreates the object, but only for kinds without data and only if the owner is the
   * same.
   */
  async #applyOrRecreate(object: KubeObject): Promise<{ after: KubeObject; recreated: boolean }> {
    const options = { fieldManager: FIELD_MANAGER, force: true, signal: this.#signal };
    try {
      return { after: await applyWithPorts(this.#client, object, options), recreated: false };
    } catch (err) {
      if (!isImmutableField(err) || !isRecreatable(object)) throw err;
      const ref = toObjectRef(object);
      const live = await this.#client.get(ref, { signal: this.#signal, metadataOnly: true });
      if (live && !haveCommonOwner(live, object)) throw err;
      this.#log.info({ target: describeObject(ref), reason: getErrorMessage(err) }, "object is recreated");
      const { uid } = live?.metadata ?? {};
      await this.#client.delete(ref, { ...(uid ? { uid } : {}), propagationPolicy: "Background", signal: this.#signal });
      return { after: await this.#client.apply(object, options), recreated: true };
    }
  }

  /** Skips an object whose owner has changed since it was read. Reads the object again if only other fields have changed. */
  async #remove(object: KubeObject, propagationPolicy: "Background" | "Foreground"): Promise<void> {
    const ref = toObjectRef(object);
    const { uid } = object.metadata;
    let { resourceVersion } = object.metadata;
    for (let tries = 1; ; tries++) {
      const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
      try {
        const found = await this.#client.delete(ref, { ...preconditions, propagationPolicy, signal: this.#signal });
        return this.#addRemoval(object, found);
      } catch (err) {
        if (err instanceof KindNotServed) return this.#addRemoval(object, false); // objects of a kind that is not served do not exist
        if (!isConflict(err)) throw err;
        const live = await this.#client.get(ref, { signal: this.#signal, metadataOnly: true });
        if (live?.metadata.uid !== uid || !live || getControllerUid(live) !== getControllerUid(object))
          return this.#addRemoval(object, false);
        if (tries === REMOVALS_MAX) throw err;
        ({ resourceVersion } = live.metadata);
      }
    }
  }

  #addRemoval(object: KubeObject, found: boolean): void {
    const ref = toObjectRef(object);
    this.#actions.push({ verb: found ? "deleted" : "absent", ref });
    if (found) this.#log.info({ verb: "deleted", target: describeObject(ref), apiVersion: ref.apiVersion }, "object deleted");
  }
}

function groupByKind(objects: readonly KubeObject[]): KubeObject[][] {
  const groups: KubeObject[][] = [];
  for (const object of objects) {
    const last = groups.at(-1);
    if (last?.[0]?.kind === object.kind) last.push(object);
    else groups.push([object]);
  }
  return groups;
}
