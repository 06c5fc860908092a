import { FIELD_MANAGER } from "../../api/constants.ts";
import { groupOf, type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { newProblem, type Problem, toProblemObject } from "../../api/problems.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { messageOf, problemsIn, RetryableError } from "../../errors/errors.ts";
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
import type { ApplyOptions } from "../../kube/request.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { onlyBundleLabelsDiffer } from "../../release/labels.ts";
import { controllerOf } from "../../release/ownership.ts";
import { supplantedPorts } from "../../release/renumberedPorts.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { LiveObjects, ObjectAction } from "../state/objectActions.ts";

/** Where the API server says that two ports have one name, or that one of several has none. */
const PORT_FIELD = /\bports\[\d+\](\.name)?$/;

/**
 * Server-side apply that also puts a port back of which somebody changed the number: the API server takes that for another port, keeps it, and
 * refuses ours beside it. The fields of that port are made ours first, without a change of what the object says.
 * A dry run gives the live object with these ports put back; what else would change it does not tell.
 * @throws KubeError whatever the API server says otherwise.
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
    const live = isAboutPorts(err) ? await client.get(refOf(object), during) : undefined;
    const supplanted = live && supplantedPorts(object, live);
    if (!supplanted) throw err;
    if (dryRun) return supplanted.after;
    const { resourceVersion } = live.metadata;
    const metadata = { managedFields: supplanted.managedFields, resourceVersion };
    await client.patch(refOf(object), { metadata }, { type: "merge", fieldManager, ...during });
    return client.apply(object, options);
  }
}

function isAboutPorts(err: unknown): boolean {
  if (!isInvalid(err)) return false;
  const causes = err.details?.["causes"];
  return Array.isArray(causes) && causes.length > 0 && causes.every((cause) => PORT_FIELD.test(fieldOf(cause)));
}

function fieldOf(cause: unknown): string {
  return typeof cause === "object" && cause !== null && "field" in cause && typeof cause.field === "string" ? cause.field : "";
}

/** Kinds that hold nothing that is lost with them: what they make or allow is there again as soon as they are. */
const RECREATED_KINDS: ReadonlySet<string> = new Set([
  "apps/Deployment",
  "rbac.authorization.k8s.io/ClusterRoleBinding",
  "rbac.authorization.k8s.io/RoleBinding",
]);
/** Whether an object may be deleted and created anew, where a field of it cannot be changed. */
export function isRecreated({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return RECREATED_KINDS.has(`${groupOf(apiVersion)}/${kind}`);
}

/** Whether some owner of one object owns the other too. */
function haveSameOwner(a: KubeObject, b: KubeObject): boolean {
  const owners = new Set(a.metadata.ownerReferences?.map(({ uid }) => uid));
  return b.metadata.ownerReferences?.some(({ uid }) => owners.has(uid)) ?? false;
}

/** Requests under way at once for one extension; enough to hide round trips, few enough to be fair to others. */
const PARALLEL_OBJECTS = 8;

/** A request about one object that was refused, or failed. */
export interface Failure {
  readonly item: KubeObject | ObjectRef;
  readonly err: unknown;
}

/**
 * The failures of `run` among items that it is called for side by side, in the order of the items; no failure stops the others.
 * @throws what `signal` aborts with.
 */
export async function failuresOf<T extends KubeObject | ObjectRef>(
  items: readonly T[],
  signal: AbortSignal,
  run: (item: T) => Promise<void>,
): Promise<Failure[]> {
  const failures = await mapInParallel(items, PARALLEL_OBJECTS, async (item): Promise<Failure[]> => {
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

/** Names the object of a failure and why it failed; `next` is what to do, where that is known. */
export function failureParts({ item, err }: Failure): { message: string; next?: string } {
  const next = adviceFor(item, err);
  return { message: `${describeObject(item)}: ${messageOf(err)}`, ...(next === undefined ? {} : { next }) };
}

/** Returns the problems that a failed request becomes in `status.problems`. */
export function failureProblems(failure: Failure): readonly Problem[] {
  const { item, err } = failure;
  const { message, next } = failureParts(failure);
  const own = problemsIn(err);
  if (own.length > 0) return own;
  if (isNamespaceMissing(err)) return [newProblem("NamespaceNotFound", { message, next, details: [String(err.details?.["name"])] })];
  if (isQuotaExceeded(err)) return [newProblem("QuotaExceeded", { message, next })];
  if (isRbacDenied(err)) return [newProblem("MissingPermissions", { message, next })];
  return [newProblem("ObjectRejected", { message, next, details: [toProblemObject("metadata" in item ? refOf(item) : item)] })];
}

/** Writes one failure as a sentence and several in Helm's form ("N errors occurred:"). @param doing what each begins with. */
export function failuresText(doing: string, failures: readonly Failure[]): string {
  const lines = failures.map((failure) => `${doing}${failureParts(failure).message}`);
  return lines.length === 1 ? String(lines[0]) : `${lines.length} errors occurred:\n${lines.map((line) => `\t* ${line}\n`).join("")}\n`;
}

/** Requests about objects failed. Retried also after terminal answers: permissions, quotas and policies change without an edit of the extension. */
export class RequestsFailed extends RetryableError {
  readonly failures: readonly Failure[];

  /** @param doing what the text of each failure begins with. */
  constructor(doing: string, failures: readonly Failure[]) {
    super("Retrying", failuresText(doing, failures), { cause: failures[0]?.err, problems: failures.flatMap(failureProblems) });
    this.failures = failures;
  }
}

/**
 * Throws one error for all failures, if there are any.
 * @throws RequestsFailed Retrying.
 */
export function throwFailures(doing: string, failures: readonly Failure[]): void {
  if (failures.length > 0) throw new RequestsFailed(doing, failures);
}

function adviceFor(item: KubeObject | ObjectRef, err: unknown): string | undefined {
  if (isNamespaceMissing(err)) return "create the namespace, or take it out of the extension's configuration";
  if (!isImmutableField(err)) return undefined;
  const why = isRecreated(item) ? "since it carries no mark of this extension" : "since something could be lost with it";
  return `a ${item.kind} is not created anew by itself, ${why}: delete it, and it is`;
}

/** What applying needs of a client. */
export type ObjectClient = Pick<Client, "get" | "apply" | "patch" | "delete">;

/** An object before an apply, and as the API server answered it. */
export interface Outcome {
  /** Undefined where there was none. */
  readonly before: KubeObject | undefined;
  readonly after: KubeObject;
}

/** What came of a request about each object of a set. */
export interface Answers {
  /** As the API server answered, by `objectKey`. */
  readonly objects: LiveObjects;
  /** In the order of the set. */
  readonly failures: readonly Failure[];
}

/** How often a deletion is tried while other writers change the object. */
const REMOVALS_MAX = 5;

/** Reads and writes the objects of one extension in one pass, with the identity of `client`. */
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

  /** Everything done so far, also by a call that failed in the middle. */
  get actions(): readonly ObjectAction[] {
    return this.#actions;
  }

  /** Every object that was applied or compared, as the API server answered. */
  get applied(): LiveObjects {
    return new Map([...this.#outcomes].map(([key, { after }]) => [key, after]));
  }

  /** What became of every object that was applied or compared so far, by `objectKey`. */
  get outcomes(): ReadonlyMap<string, Outcome> {
    return this.#outcomes;
  }

  /**
   * Reads all of `refs`; objects of a kind that is not served do not exist.
   * @throws RetryableError Retrying with every read that was refused, not only the first.
   */
  async read(refs: readonly ObjectRef[]): Promise<LiveObjects> {
    const { objects, failures } = await this.readEach(refs);
    throwFailures("could not get object: ", failures);
    return objects;
  }

  /** The same, with what was refused beside what was read. */
  async readEach(refs: readonly ObjectRef[]): Promise<Answers> {
    const live = new Map<string, KubeObject>();
    const failures = await failuresOf(refs, this.#signal, async (ref) => {
      try {
        const object = await this.#client.get(ref, { signal: this.#signal });
        if (object) live.set(objectKey(ref), object);
      } catch (err) {
        if (!(err instanceof KindNotServed)) throw err;
      }
    });
    return { objects: live, failures };
  }

  /**
   * Finds out what `apply` would do, by server-side dry runs; nothing is written. What comes of it is in `outcomes`.
   * @throws RetryableError Retrying with every refusal at once.
   */
  async compare(objects: readonly KubeObject[], live: LiveObjects): Promise<void> {
    const failures = await failuresOf(objects, this.#signal, async (object) => {
      const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal };
      const after = await applyWithPorts(this.#client, object, options);
      this.#outcomes.set(objectKey(object), { before: live.get(objectKey(object)), after });
    });
    throwFailures("", failures);
  }

  /**
   * Applies objects in the order given, those of one kind side by side. A refusal does not stop the rest of its kind, and with `goOn` none
   * of the rest.
   * @param live what was there before, to tell created from updated.
   * @throws RetryableError Retrying with every refusal.
   */
  async apply(objects: readonly KubeObject[], live: LiveObjects, { goOn = false }: { goOn?: boolean } = {}): Promise<void> {
    const failures: Failure[] = [];
    for (const group of byKind(objects)) {
      failures.push(...(await failuresOf(group, this.#signal, (object) => this.#apply(object, live))));
      if (!goOn) throwFailures("", failures);
    }
    throwFailures("", failures);
  }

  /**
   * Deletes objects in the order given, those of one kind side by side; each only while it is the one that was read and has the same owner.
   * @param propagation `Foreground`: an object is there until its own dependents are gone, as a Deployment until its Pods are.
   * @throws RetryableError Retrying with every refusal of the kind at which it stopped.
   */
  async remove(objects: readonly KubeObject[], propagation: "Background" | "Foreground" = "Background"): Promise<void> {
    for (const group of byKind(objects)) {
      throwFailures("delete ", await failuresOf(group, this.#signal, (object) => this.#remove(object, propagation)));
    }
  }

  /**
   * Deletes one object while it is the one that was read, by uid and resourceVersion.
   * @returns false if another writer has changed it since; true if it is deleted, or was before.
   * @throws RetryableError Retrying with the refusal.
   */
  async removeUnchanged(object: KubeObject): Promise<boolean> {
    const { uid, resourceVersion } = object.metadata;
    const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
    let isUnchanged = true;
    const failures = await failuresOf([object], this.#signal, async () => {
      try {
        this.#removed(
          object,
          await this.#client.delete(refOf(object), { ...preconditions, propagationPolicy: "Background", signal: this.#signal }),
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
    const ref = refOf(object);
    const before = live.get(objectKey(ref));
    const { after, recreated } = await this.#applyOrRecreate(object);
    this.#outcomes.set(objectKey(ref), { before, after });
    const isSame = before?.metadata.resourceVersion === after.metadata.resourceVersion;
    const verb = recreated ? "recreated" : !before ? "created" : isSame ? "unchanged" : "updated";
    const labelsOnly = verb === "updated" && before !== undefined && onlyBundleLabelsDiffer(before, after);
    this.#actions.push({ verb, ref, ...(labelsOnly ? { labelsOnly } : {}) });
    this.#log[verb === "unchanged" || labelsOnly ? "debug" : "info"](
      { verb, target: describeObject(ref), apiVersion: ref.apiVersion },
      "object applied",
    );
  }

  /** An object of which a field cannot be changed is deleted and created anew, if it is of a kind that can bear it and still its owner's. */
  async #applyOrRecreate(object: KubeObject): Promise<{ after: KubeObject; recreated: boolean }> {
    const options = { fieldManager: FIELD_MANAGER, force: true, signal: this.#signal };
    try {
      return { after: await applyWithPorts(this.#client, object, options), recreated: false };
    } catch (err) {
      if (!isImmutableField(err) || !isRecreated(object)) throw err;
      const ref = refOf(object);
      const live = await this.#client.get(ref, { signal: this.#signal, metadataOnly: true });
      if (live && !haveSameOwner(live, object)) throw err;
      this.#log.info({ target: describeObject(ref), reason: messageOf(err) }, "object is created anew");
      const { uid } = live?.metadata ?? {};
      await this.#client.delete(ref, { ...(uid ? { uid } : {}), propagationPolicy: "Background", signal: this.#signal });
      return { after: await this.#client.apply(object, options), recreated: true };
    }
  }

  /** An object that has another owner since it was read is left alone; one that only changed is read again. */
  async #remove(object: KubeObject, propagationPolicy: "Background" | "Foreground"): Promise<void> {
    const ref = refOf(object);
    const { uid } = object.metadata;
    let { resourceVersion } = object.metadata;
    for (let tries = 1; ; tries++) {
      const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
      try {
        const found = await this.#client.delete(ref, { ...preconditions, propagationPolicy, signal: this.#signal });
        return this.#removed(object, found);
      } catch (err) {
        if (err instanceof KindNotServed) return this.#removed(object, false); // and with the kind all of its objects
        if (!isConflict(err)) throw err;
        const live = await this.#client.get(ref, { signal: this.#signal, metadataOnly: true });
        if (live?.metadata.uid !== uid || !live || controllerOf(live) !== controllerOf(object)) return this.#removed(object, false);
        if (tries === REMOVALS_MAX) throw err;
        ({ resourceVersion } = live.metadata);
      }
    }
  }

  #removed(object: KubeObject, found: boolean): void {
    const ref = refOf(object);
    this.#actions.push({ verb: found ? "deleted" : "absent", ref });
    if (found) this.#log.info({ verb: "deleted", target: describeObject(ref), apiVersion: ref.apiVersion }, "object deleted");
  }
}

function byKind(objects: readonly KubeObject[]): KubeObject[][] {
  const groups: KubeObject[][] = [];
  for (const object of objects) {
    const last = groups.at(-1);
    if (last?.[0]?.kind === object.kind) last.push(object);
    else groups.push([object]);
  }
  return groups;
}
