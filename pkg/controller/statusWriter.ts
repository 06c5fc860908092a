import { listChangedConditions } from "../api/conditions.ts";
import { EVENTS, type EventReason, type EventSink } from "../api/events.ts";
import { type Condition, type KubeObject, toObjectRef } from "../api/k8s.ts";
import { getErrorMessage, RetryableError, wrapError } from "../errors/errors.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isInvalid, isNotFound } from "../kube/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/** An object whose status has conditions. */
type Reconciled = KubeObject & { status?: { conditions?: Condition[] | undefined } };

/** The status of an object. */
type StatusOf<T extends Reconciled> = NonNullable<T["status"]>;

/** One Event about a change of status. */
export interface StatusEvent {
  readonly reason: EventReason;
  readonly message: string;
}

/** Options of a status writer for one kind. */
export interface StatusWriterOptions<T extends Reconciled> {
  readonly client: Pick<Client, "get" | "patch">;
  readonly events: EventSink;
  /** Returns the Events to record when this status replaces the status of `object`. */
  readonly describe: (object: Readonly<T>, after: StatusOf<T>) => readonly StatusEvent[];
  /** Returns the status to write instead if the API server rejects `status` as invalid; undefined to fail. */
  readonly reduce?: (status: StatusOf<T>) => StatusOf<T> | undefined;
}

/** Result of a write: `replaced` if the object no longer exists or was recreated. */
export type StatusWrite =
  | { readonly kind: "unchanged" }
  | { readonly kind: "replaced" }
  | { readonly kind: "written"; readonly resourceVersion: string | undefined };

/** Thrown if a write of an object's metadata or status failed. Always retryable. */
export class UpdateError extends RetryableError {
  /**
   * @param what the part of the object, such as `status`.
   * @param failure error that ended the reconcile, if any; its text is printed first.
   */
  constructor(what: string, cause: unknown, failure?: unknown) {
    const { reason, message } = wrapError(`error updating ${what}: `, cause);
    super(reason, failure === undefined ? message : `${getErrorMessage(failure)}\n${message}`, { cause });
  }
}

/**
 * Writes the status of an object at the end of each reconcile if it has changed, and reports the change in logs and
 * Events.
 */
export class StatusWriter<T extends Reconciled> {
  readonly #options: StatusWriterOptions<T>;

  constructor(options: StatusWriterOptions<T>) {
    this.#options = options;
  }

  /**
   * Replaces the status of `object` if it differs. Logs each changed condition and records the Events.
   * @param failure error that ended the reconcile, for the text of an UpdateError.
   * @throws UpdateError if the API server rejects the status.
   */
  async write(object: Readonly<T>, status: StatusOf<T>, log: Logger, failure?: unknown): Promise<StatusWrite> {
    if (encodeCanonicalJson(status) === encodeCanonicalJson(object.status ?? {})) return { kind: "unchanged" };
    let written: KubeObject | undefined;
    try {
      written = await this.#replace(object, status);
    } catch (err) {
      throw new UpdateError("status", err, failure);
    }
    if (!written) return { kind: "replaced" };
    for (const { condition: changed } of listChangedConditions(object.status?.conditions, status.conditions)) {
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
 * Replaces the status of an object unless the object was recreated with the same name. A merge patch does not work,
 * because the API server ignores the metadata of a patch to the status subresource and so would not check the uid.
 * @returns the object after the write; undefined if it was recreated or no longer exists.
 * @throws KubeError if the status is rejected.
 */
export async function replaceStatus(
  client: Pick<Client, "get" | "patch">,
  object: Readonly<KubeObject>,
  status: object,
): Promise<KubeObject | undefined> {
  const ref = toObjectRef(object);
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
