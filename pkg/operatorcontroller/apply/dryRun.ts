import { FIELD_MANAGER } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { isDenied, isImmutableField, isNamespaceMissing, isNotFound } from "../../kube/errors.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { compareText } from "../../text/compare.ts";
import { DeniedError, type UnblockCheck } from "../state/conditionPoller.ts";
import { formatFirst, type LiveObjects } from "../state/objectActions.ts";
import {
  applyWithPorts,
  collectFailures,
  formatFailures,
  isRecreatable,
  type ObjectClient,
  type ObjectFailure,
  type ObjectResults,
  RequestsFailed,
} from "./applier.ts";
import { buildOwnerMarks } from "./handovers.ts";

/** A warning from the API server, an admission webhook or an admission policy about accepted objects. */
export interface ApiWarning {
  /** One printable line of at most 500 characters. */
  readonly text: string;
  /** The objects that the warning is about. */
  readonly refs: readonly ObjectRef[];
}

/** Sorts warnings by text, and the objects of each warning by description. The result does not depend on the order of the responses. */
export function sortWarnings(refsByText: ReadonlyMap<string, readonly ObjectRef[]>): ApiWarning[] {
  const byText = [...refsByText].sort(([a], [b]) => compareText(a, b));
  return byText.map(([text, refs]) => ({ text, refs: refs.toSorted((a, b) => compareText(describeObject(a), describeObject(b))) }));
}

/** Maximum number of warnings with their own Event. One more Event reports the number of omitted warnings. */
const MAX_WARNING_EVENTS = 5;

/** Formats the warnings about a bundle as Event messages: one message for each of the first five warnings, and one for the number of others. */
export function formatApiWarnings(warnings: readonly ApiWarning[], bundle: string): string[] {
  const texts = warnings
    .slice(0, MAX_WARNING_EVENTS)
    .map(({ text, refs }) => `the API server warns about ${formatFirst(refs.map(describeObject))} of bundle "${bundle}": ${text}`);
  const more = warnings.length - texts.length;
  return more > 0
    ? [...texts, `the API server returned ${more} more warnings about bundle "${bundle}"; run olmv1 plan to list them`]
    : texts;
}

/** Maximum number of distinct warnings that one reconcile keeps. */
const MAX_WARNINGS = 100;

/**
 * Runs server-side dry runs of objects with the identity of `client`. The API server checks admission, validation, quota and RBAC, and writes
 * nothing. Two errors do not count as failures: a binding to a missing Role or ClusterRole of the same set, and an immutable field of an object that
 * `Applier.apply` recreates.
 */
export class DryRun {
  readonly #client: ObjectClient;
  readonly #signal: AbortSignal;
  readonly #warnings = new Map<string, ObjectRef[]>();

  constructor(client: ObjectClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** The API server's warnings, sorted by text; at most 100. */
  get warnings(): readonly ApiWarning[] {
    return sortWarnings(this.#warnings);
  }

  /**
   * Returns the error for the failures of a dry run.
   * @param objects the objects of the dry run.
   * @returns DeniedError if permissions, quotas or policies deny all failed objects; the controller retries when the first of them is no longer
   * denied. Otherwise RequestsFailed Retrying with every failure. Undefined without failures.
   */
  toError(failures: readonly ObjectFailure[], objects: readonly KubeObject[]): RequestsFailed | DeniedError | undefined {
    const [first] = failures;
    if (!first) return undefined;
    const refused = objects.find((object) => getObjectKey(object) === getObjectKey(first.item));
    if (!refused || !failures.every(({ err }) => isDenied(err))) return new RequestsFailed("", failures);
    return new DeniedError(formatFailures("", failures), { cause: first.err, isOver: this.untilNot(isDenied, refused) });
  }

  /**
   * Runs a dry run of every object.
   * @param taken live objects to take over from other extensions or from an object set, by `getObjectKey`.
   * @returns the objects in the responses, and the failures.
   */
  async run(objects: readonly KubeObject[], taken: LiveObjects = new Map()): Promise<ObjectResults> {
    const after = new Map<string, KubeObject>();
    const roles = new Set(objects.filter(({ kind }) => kind.endsWith("Role")).map(({ metadata }) => metadata.name));
    const failures = await collectFailures(objects, this.#signal, async (object) => {
      try {
        const warn = (text: string): void => this.#addWarning(text, toObjectRef(object));
        const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal, warn };
        const from = taken.get(getObjectKey(object));
        after.set(getObjectKey(object), await (from ? this.#take(object, from) : applyWithPorts(this.#client, object, options)));
      } catch (err) {
        if (object.kind.endsWith("RoleBinding") && isNotFound(err) && !isNamespaceMissing(err) && roles.has(getRole(object))) return;
        if (isImmutableField(err) && isRecreatable(object)) return;
        throw err;
      }
    });
    return { objects: after, failures };
  }

  /** Returns a check that is true when a dry run of the object no longer fails with an error for which `isRefusal` is true. */
  untilNot(isRefusal: (err: unknown) => boolean, object: KubeObject): UnblockCheck {
    return async (signal) => {
      const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal };
      const failure: unknown = await this.#client.apply(object, options).catch((err: unknown) => err);
      return !isRefusal(failure);
    };
  }

  /** Patches the owner, too, because an apply would add a second controller reference, which the API server rejects. */
  #take(object: KubeObject, live: KubeObject): Promise<KubeObject> {
    const { labels, annotations, ...marks } = buildOwnerMarks(object, live);
    const metadata = {
      ...object.metadata,
      ...marks,
      labels: { ...object.metadata.labels, ...(labels as object) },
      annotations: { ...object.metadata.annotations, ...(annotations as object | undefined) },
    };
    const options = { type: "merge", fieldManager: FIELD_MANAGER, dryRun: true, signal: this.#signal } as const;
    return this.#client.patch(toObjectRef(object), { ...object, metadata }, options);
  }

  #addWarning(text: string, ref: ObjectRef): void {
    const refs = this.#warnings.get(text);
    if (refs) refs.push(ref);
    else if (this.#warnings.size < MAX_WARNINGS) this.#warnings.set(text, [ref]);
  }
}

function getRole(binding: KubeObject): string {
  const role = binding["roleRef"];
  return typeof role === "object" && role !== null && "name" in role ? String(role.name) : "";
}
