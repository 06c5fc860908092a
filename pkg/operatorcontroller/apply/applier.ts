import { FIELD_MANAGER } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { inParallel } from "../../controller/inParallel.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict, isDenied, isNotFound, KindNotServed } from "../../kube/errors.ts";
import { onlyBundleLabelsDiffer } from "../../release/bundleLabels.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import type { Logger } from "../../telemetry/log.ts";
import { DeniedError, type IsOver } from "../waiting.ts";
import { type ApiWarning, inOrder } from "./apiWarnings.ts";
import { isHomeless } from "./missingNamespaces.ts";
import type { ObjectAction } from "./objectAction.ts";
import { haveSameOwner, isImmutableField, isRecreated } from "./recreate.ts";

/** Live objects by `objectKey`; objects that do not exist are absent. */
export type LiveObjects = ReadonlyMap<string, KubeObject>;

/** What applying needs of a client. */
export type ObjectClient = Pick<Client, "get" | "apply" | "delete">;

/** Requests under way at once for one extension; enough to hide round trips, few enough to be fair to others. */
const PARALLEL = 8;
/** Different warnings that one pass keeps. */
const MAX_WARNINGS = 100;

/** An object before an apply, and as the API server answered it. */
export interface Outcome {
  /** Undefined where there was none. */
  readonly before: KubeObject | undefined;
  readonly after: KubeObject;
}

/** A request about one object that was refused, or failed. */
export interface Failure {
  readonly item: KubeObject | ObjectRef;
  readonly err: unknown;
}

/** What came of a request about each object of a set. */
export interface Answers {
  /** As the API server answered, by `objectKey`. */
  readonly objects: LiveObjects;
  /** In the order of the set. */
  readonly failures: readonly Failure[];
}

/** Reads and writes the objects of one extension in one pass, with the identity of `client`. */
export class Applier {
  readonly #client: ObjectClient;
  readonly #log: Logger;
  readonly #signal: AbortSignal;
  readonly #actions: ObjectAction[] = [];
  readonly #outcomes = new Map<string, Outcome>();
  readonly #warnings = new Map<string, ObjectRef[]>();

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

  /** What the API server had to say about objects that it did not refuse in a dry run, in order of text; 100 texts at most. */
  get warnings(): readonly ApiWarning[] {
    return inOrder(this.#warnings);
  }

  /**
   * Reads all of `refs`; objects of a kind that is not served do not exist.
   * @throws RetryableError Retrying with every read that was refused, not only the first.
   */
  async read(refs: readonly ObjectRef[]): Promise<LiveObjects> {
    const { objects, failures } = await this.readEach(refs);
    throwAll("could not get object: ", failures);
    return objects;
  }

  /** The same, with what was refused beside what was read. */
  async readEach(refs: readonly ObjectRef[]): Promise<Answers> {
    const live = new Map<string, KubeObject>();
    const failures = await this.#each(refs, async (ref) => {
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
   * Applies every object as a server-side dry run: admission, validation, quota and RBAC answer, nothing is written.
   * A Role or ClusterRole that a binding of the same set names may not exist yet; that answer is no finding. Nor is a field that cannot be
   * changed of an object that `apply` creates anew.
   * @param check looks at what was refused first, and may throw what explains it better.
   * @returns the objects as they would be, by `objectKey`; without those that could not be tried.
   * @throws RetryableError Retrying with every refusal at once; a DeniedError where all of it is denied, by rights, quotas or policies:
   * then it is over as soon as the first of them is not any more.
   */
  async dryRun(objects: readonly KubeObject[], check?: (failures: readonly Failure[]) => void): Promise<LiveObjects> {
    const { objects: after, failures } = await this.dryRunEach(objects);
    check?.(failures);
    const [first] = failures;
    const refused = first && objects.find((object) => objectKey(object) === objectKey(first.item));
    if (!refused || !failures.every(({ err }) => isDenied(err))) throwAll("", failures);
    else throw new DeniedError(failuresText("", failures), { cause: first.err, isOver: this.untilNot(isDenied, refused) });
    return after;
  }

  /** Over as soon as an object is not refused in that way any more, by dry run. */
  untilNot(isRefusal: (err: unknown) => boolean, object: KubeObject): IsOver {
    return async (signal) => {
      const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal };
      const failure: unknown = await this.#client.apply(object, options).catch((err: unknown) => err);
      return !isRefusal(failure);
    };
  }

  /** The same, with what was refused beside what was not. */
  async dryRunEach(objects: readonly KubeObject[]): Promise<Answers> {
    const after = new Map<string, KubeObject>();
    const roles = new Set(objects.filter(({ kind }) => kind.endsWith("Role")).map(({ metadata }) => metadata.name));
    const failures = await this.#each(objects, async (object) => {
      try {
        const warn = (text: string): void => this.#warned(text, refOf(object));
        const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal, warn };
        after.set(objectKey(object), await this.#client.apply(object, options));
      } catch (err) {
        if (object.kind.endsWith("RoleBinding") && isNotFound(err) && !isHomeless(err) && roles.has(roleOf(object))) return;
        if (isImmutableField(err) && isRecreated(object)) return;
        throw err;
      }
    });
    return { objects: after, failures };
  }

  /**
   * Finds out what `apply` would do, by server-side dry runs; nothing is written. What comes of it is in `outcomes`.
   * @throws RetryableError Retrying with every refusal at once.
   */
  async compare(objects: readonly KubeObject[], live: LiveObjects): Promise<void> {
    const failures = await this.#each(objects, async (object) => {
      const after = await this.#client.apply(object, { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal });
      this.#outcomes.set(objectKey(object), { before: live.get(objectKey(object)), after });
    });
    throwAll("", failures);
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
      failures.push(...(await this.#each(group, (object) => this.#apply(object, live))));
      if (!goOn) throwAll("", failures);
    }
    throwAll("", failures);
  }

  /**
   * Deletes objects in the order given, those of one kind side by side; each only if it is still the one that was read.
   * @param propagation `Foreground`: an object is there until its own dependents are gone, as a Deployment until its Pods are.
   * @throws RetryableError Retrying with every refusal of the kind at which it stopped.
   */
  async remove(objects: readonly KubeObject[], propagation: "Background" | "Foreground" = "Background"): Promise<void> {
    for (const group of byKind(objects)) {
      throwAll("delete ", await this.#each(group, (object) => this.#remove(object, propagation)));
    }
  }

  #warned(text: string, ref: ObjectRef): void {
    const refs = this.#warnings.get(text);
    if (refs) refs.push(ref);
    else if (this.#warnings.size < MAX_WARNINGS) this.#warnings.set(text, [ref]);
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
      return { after: await this.#client.apply(object, options), recreated: false };
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

  async #remove(object: KubeObject, propagationPolicy: "Background" | "Foreground"): Promise<void> {
    const ref = refOf(object);
    const preconditions = object.metadata.uid ? { uid: object.metadata.uid } : {};
    let found: boolean;
    try {
      found = await this.#client.delete(ref, { ...preconditions, propagationPolicy, signal: this.#signal });
    } catch (err) {
      if (!(err instanceof KindNotServed) && !(isConflict(err) && (await this.#isAnother(object)))) throw err;
      found = false; // another object has its name now, or its kind is gone and all objects of it with that
    }
    this.#actions.push({ verb: found ? "deleted" : "absent", ref });
    if (found) this.#log.info({ verb: "deleted", target: describeObject(ref), apiVersion: ref.apiVersion }, "object deleted");
  }

  /** Whether the object is gone, or another has its name: a conflict may also be one of two writers. */
  async #isAnother(object: KubeObject): Promise<boolean> {
    const live = await this.#client.get(refOf(object), { signal: this.#signal, metadataOnly: true });
    return live?.metadata.uid !== object.metadata.uid;
  }

  /** Runs for all items side by side, goes on after failures and gives them in the order of the items. */
  async #each<T extends KubeObject | ObjectRef>(items: readonly T[], run: (item: T) => Promise<void>): Promise<Failure[]> {
    const failures = await inParallel(items, PARALLEL, async (item): Promise<Failure[]> => {
      this.#signal.throwIfAborted();
      try {
        await run(item);
        return [];
      } catch (err) {
        return [{ item, err }];
      }
    });
    this.#signal.throwIfAborted();
    return failures.flat();
  }
}

function roleOf(binding: KubeObject): string {
  const role = binding["roleRef"];
  return typeof role === "object" && role !== null && "name" in role ? String(role.name) : "";
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

function adviceFor(item: KubeObject | ObjectRef, err: unknown): string {
  if (isHomeless(err)) return "; create the namespace, or take it out of the extension's configuration";
  if (!isImmutableField(err)) return "";
  const why = isRecreated(item) ? "since it carries no mark of this extension" : "since something could be lost with it";
  return `; a ${item.kind} is not created anew by itself, ${why}: delete it, and it is`;
}

/** Which object, what the API server says about it, and what to do. */
export function failureText({ item, err }: Failure): string {
  return `${describeObject(item)}: ${messageOf(err)}${adviceFor(item, err)}`;
}

/**
 * One error for all failures, in Helm's form for several ("N errors occurred:").
 * Terminal answers are retryable here: rights, quotas and policies change without an edit of the extension.
 */
function throwAll(doing: string, failures: readonly Failure[]): void {
  const [first] = failures;
  if (first) throw new RetryableError("Retrying", failuresText(doing, failures), { cause: first.err });
}

function failuresText(doing: string, failures: readonly Failure[]): string {
  const lines = failures.map((failure) => `${doing}${failureText(failure)}`);
  return lines.length === 1 ? String(lines[0]) : `${lines.length} errors occurred:\n${lines.map((line) => `\t* ${line}\n`).join("")}\n`;
}
