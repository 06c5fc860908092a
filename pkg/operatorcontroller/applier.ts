import { FIELD_MANAGER } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import { messageOf, RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import { describeObject, objectKey } from "../release/identity.ts";
import type { Logger } from "../telemetry/log.ts";

/** What an apply or delete did to one object. */
export interface ObjectAction {
  verb: "created" | "updated" | "unchanged" | "deleted" | "absent";
  ref: ObjectRef;
}

/** Live objects by `objectKey`; objects that do not exist are absent. */
export type LiveObjects = ReadonlyMap<string, KubeObject>;

/** Requests under way at once for one extension; enough to hide round trips, few enough to be fair to others. */
const PARALLEL = 8;

/** Reads and writes the objects of one extension with the identity of `client`. */
export class Applier {
  readonly #client: Client;
  readonly #log: Logger;
  readonly #signal: AbortSignal;

  constructor(client: Client, log: Logger, signal: AbortSignal) {
    this.#client = client;
    this.#log = log;
    this.#signal = signal;
  }

  /**
   * Reads all of `refs`.
   * @throws RetryableError Retrying with every read that was refused, not only the first.
   */
  async read(refs: readonly ObjectRef[]): Promise<LiveObjects> {
    const live = new Map<string, KubeObject>();
    const failures = await this.#each(refs, async (ref) => {
      const object = await this.#client.get(ref, { signal: this.#signal });
      if (object) live.set(objectKey(ref), object);
    });
    throwAll("could not get object: ", failures);
    return live;
  }

  /**
   * Applies every object as a server-side dry run: admission, validation, quota and RBAC answer, nothing is written.
   * A Role or ClusterRole that a binding of the same set names may not exist yet; that answer is no finding.
   * @throws RetryableError Retrying with every refusal at once.
   */
  async dryRun(objects: readonly KubeObject[]): Promise<void> {
    const own = new Set(objects.map((object) => object.metadata.name));
    const failures = await this.#each(objects, async (object) => {
      try {
        await this.#client.apply(object, { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal });
      } catch (err) {
        if (object.kind.endsWith("RoleBinding") && isNotFound(err) && own.has(roleOf(object))) return;
        throw err;
      }
    });
    throwAll("", failures);
  }

  /**
   * Applies objects in the order given, those of one kind side by side, and goes on after a refusal within a kind.
   * @param live what was there before, to tell created from updated.
   * @throws RetryableError Retrying with every refusal of the kind at which it stopped.
   */
  async apply(objects: readonly KubeObject[], live: LiveObjects): Promise<ObjectAction[]> {
    const actions: ObjectAction[] = [];
    for (const group of byKind(objects)) {
      const failures = await this.#each(group, async (object) => {
        const ref = refOf(object);
        const before = live.get(objectKey(ref));
        const after = await this.#client.apply(object, { fieldManager: FIELD_MANAGER, force: true, signal: this.#signal });
        const verb = !before ? "created" : before.metadata.resourceVersion === after.metadata.resourceVersion ? "unchanged" : "updated";
        actions.push({ verb, ref });
        this.#log[verb === "unchanged" ? "debug" : "info"](
          { verb, target: describeObject(ref), apiVersion: ref.apiVersion },
          "object applied",
        );
      });
      throwAll("", failures);
    }
    return actions;
  }

  /**
   * Deletes objects in the order given; each only if it is still the one that was read.
   * @throws RetryableError Retrying with every refusal.
   */
  async remove(objects: readonly KubeObject[]): Promise<ObjectAction[]> {
    const actions: ObjectAction[] = [];
    for (const group of byKind(objects)) {
      const failures = await this.#each(group, async (object) => {
        const ref = refOf(object);
        const preconditions = object.metadata.uid ? { uid: object.metadata.uid } : {};
        const found = await this.#client.delete(ref, { ...preconditions, propagationPolicy: "Background", signal: this.#signal });
        actions.push({ verb: found ? "deleted" : "absent", ref });
        if (found) this.#log.info({ verb: "deleted", target: describeObject(ref), apiVersion: ref.apiVersion }, "object deleted");
      });
      throwAll("", failures);
    }
    return actions;
  }

  async #each<T extends KubeObject | ObjectRef>(
    items: readonly T[],
    run: (item: T) => Promise<void>,
  ): Promise<{ item: T; err: unknown }[]> {
    const failures: { item: T; err: unknown }[] = [];
    const pending = [...items];
    const worker = async (): Promise<void> => {
      for (let item = pending.shift(); item !== undefined; item = pending.shift()) {
        this.#signal.throwIfAborted();
        try {
          await run(item);
        } catch (err) {
          failures.push({ item, err });
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
    return failures.sort((a, b) => items.indexOf(a.item) - items.indexOf(b.item));
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

/**
 * One error for all failures, in Helm's form for several ("N errors occurred:").
 * Terminal answers are retryable here: rights, quotas and policies change without an edit of the extension.
 */
function throwAll(doing: string, failures: readonly { item: KubeObject | ObjectRef; err: unknown }[]): void {
  const [first] = failures;
  if (!first) return;
  const lines = failures.map(({ item, err }) => `${doing}${describeObject(item)}: ${messageOf(err)}`);
  const text =
    lines.length === 1 ? String(lines[0]) : `${lines.length} errors occurred:\n${lines.map((line) => `\t* ${line}\n`).join("")}\n`;
  throw new RetryableError("Retrying", text, { cause: first.err });
}
