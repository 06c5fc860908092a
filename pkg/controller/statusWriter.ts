import { changedConditions } from "../api/conditions.ts";
import { EVENTS, type EventReason, type EventSink } from "../api/events.ts";
import { type Condition, type KubeObject, refOf } from "../api/k8s.ts";
import { messageOf, RetryableError, wrapError } from "../errors/errors.ts";
import { canonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isInvalid, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/** An object whose status has conditions. */
type Reconciled = KubeObject & { status?: { conditions?: Condition[] | undefined } };

/** The status of a kind of objects. */
type StatusOf<T extends Reconciled> = NonNullable<T["status"]>;

/** One Event about a change of status. */
export interface StatusEvent {
  readonly reason: EventReason;
  readonly message: string;
}

/** What a status writer needs for one kind of objects. */
export interface StatusWriterOptions<T extends Reconciled> {
  readonly client: Pick<Client, "get" | "patch">;
  readonly events: EventSink;
  /** Returns the Events about a status that replaces that of `object`. */
  readonly describe: (object: Readonly<T>, after: StatusOf<T>) => readonly StatusEvent[];
  /** Returns the status to write when the API server refuses `status` as invalid; undefined if there is no other. */
  readonly reduce?: (status: StatusOf<T>) => StatusOf<T> | undefined;
}

/** The outcome of a write: `replaced` if the object no longer exists, or is another one under the same name. */
export type StatusWrite =
  | { readonly kind: "unchanged" }
  | { readonly kind: "replaced" }
  | { readonly kind: "written"; readonly resourceVersion: string | undefined };

/** A write of an object's metadata or status failed. It is retryable, whatever ended the reconcile. */
export class UpdateError extends RetryableError {
  /**
   * @param what the part of the object, such as `status`.
   * @param failure what ended the reconcile before, if anything did: its text comes first.
   */
  constructor(what: string, cause: unknown, failure?: unknown) {
    const { reason, message } = wrapError(`error updating ${what}: `, cause);
    super(reason, failure === undefined ? message : `${messageOf(failure)}\n${message}`, { cause });
  }
}

/** Writes the status of one kind of objects at the end of each reconcile: only if it differs, with log lines and Events about the difference. */
export class StatusWriter<T extends Reconciled> {
  readonly #options: StatusWriterOptions<T>;

  constructor(options: StatusWriterOptions<T>) {
    this.#options = options;
  }

  /**
   * Replaces the status of `object` unless it is the same already. Logs each condition that changed, then records the Events.
   * @param failure what ended the reconcile, for the text of an error.
   * @throws UpdateError if the API server does not accept the status.
   */
  async write(object: Readonly<T>, status: StatusOf<T>, log: Logger, failure?: unknown): Promise<StatusWrite> {
    if (canonicalJson(status) === canonicalJson(object.status ?? {})) return { kind: "unchanged" };
    let written: KubeObject | undefined;
    try {
      written = await this.#replace(object, status);
    } catch (err) {
      throw new UpdateError("status", err, failure);
    }
    if (!written) return { kind: "replaced" };
    for (const { condition: changed } of changedConditions(object.status?.conditions, status.conditions)) {
      const { type: condition, status: value, reason, message } = changed;
      log.info({ condition, status: value, reason, message }, "condition changed");
    }
    const { events, describe } = this.#options;
    for (const { reason, message } of describe(object, status)) events.record(object, EVENTS[reason].type, reason, message);
    return { kind: "written", resourceVersion: written.metadata.resourceVersion };
  }

  async #replace(object: Readonly<T>, status: StatusOf<T>): Promise<KubeObject | undefined> {
    const { client, reduce } = this.#options;
    try {
      return await replaceStatus(client, object, status);
    } catch (err) {
      const reduced = isInvalid(err) ? reduce?.(status) : undefined;
      if (!reduced) throw err;
      return replaceStatus(client, object, reduced);
    }
  }
}

/**
 * Replaces the status of an object, if it is still the one that was read and not one made anew under its name.
 * A merge patch would not do: of the metadata in a patch of a status the API server takes nothing, not even the uid as a condition.
 * @returns the object as it is now; undefined when it is another one, or gone.
 * @throws KubeError when the status is refused.
 */
export async function replaceStatus(
  client: Pick<Client, "get" | "patch">,
  object: Readonly<KubeObject>,
  status: object,
): Promise<KubeObject | undefined> {
  const ref = refOf(object);
  const body = [
    { op: "test", path: "/metadata/uid", value: object.metadata.uid },
    { op: "add", path: "/status", value: status },
  ];
  try {
    return await client.patch(ref, body, { type: "json", subresource: "status" });
  } catch (err) {
    if (isNotFound(err)) return undefined;
    if (!isInvalid(err)) throw err;
    const live = await client.get(ref, { metadataOnly: true });
    if (live?.metadata.uid === object.metadata.uid) throw err;
    return undefined;
  }
}
