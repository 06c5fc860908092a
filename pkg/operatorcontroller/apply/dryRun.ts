import { FIELD_MANAGER } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { isDenied, isImmutableField, isNamespaceMissing, isNotFound } from "../../kube/errors.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { compareText } from "../../text/compare.ts";
import { formatFirst, type LiveObjects } from "../state/objectActions.ts";
import { DeniedError, type IsOver } from "../state/waiting.ts";
import {
  type Answers,
  applyWithPorts,
  type Failure,
  failuresOf,
  failuresText,
  isRecreated,
  type ObjectClient,
  RequestsFailed,
} from "./applier.ts";
import { ownerMarks } from "./handovers.ts";

/** Something that the API server, or an admission webhook or policy of the cluster, says about objects without refusing them. */
export interface ApiWarning {
  /** One printable line of at most 500 characters. */
  readonly text: string;
  /** The objects that it was said about. */
  readonly refs: readonly ObjectRef[];
}

/** Warnings by text, with the objects of each, both in an order that does not depend on which answer came first. */
export function inOrder(refsByText: ReadonlyMap<string, readonly ObjectRef[]>): ApiWarning[] {
  const byText = [...refsByText].sort(([a], [b]) => compareText(a, b));
  return byText.map(([text, refs]) => ({ text, refs: refs.toSorted((a, b) => compareText(describeObject(a), describeObject(b))) }));
}

/** Warnings that become Events; of the others the number is told. */
const MAX_WARNING_EVENTS = 5;

/** What Events say about the warnings that came with a bundle: one text a warning, six at most. */
export function warningTexts(warnings: readonly ApiWarning[], bundle: string): string[] {
  const texts = warnings
    .slice(0, MAX_WARNING_EVENTS)
    .map(({ text, refs }) => `the API server warns about ${formatFirst(refs.map(describeObject))} of bundle "${bundle}": ${text}`);
  const more = warnings.length - texts.length;
  return more > 0 ? [...texts, `the API server warns of ${more} more things about bundle "${bundle}": olmv1 plan shows them`] : texts;
}

/** Different warnings that one pass keeps. */
const MAX_WARNINGS = 100;

/**
 * Server-side dry runs of what is to be applied, with the identity of `client`: admission, validation, quota and RBAC answer, nothing is
 * written. A Role or ClusterRole that a binding of the same set names may not exist yet; that answer is no finding. Nor is a field that cannot
 * be changed of an object that `Applier.apply` creates anew.
 */
export class DryRun {
  readonly #client: ObjectClient;
  readonly #signal: AbortSignal;
  readonly #warnings = new Map<string, ObjectRef[]>();

  constructor(client: ObjectClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** What the API server had to say about objects that it did not refuse, in order of text; 100 texts at most. */
  get warnings(): readonly ApiWarning[] {
    return inOrder(this.#warnings);
  }

  /**
   * @param objects those that were tried.
   * @returns RequestsFailed Retrying with every failure; a DeniedError if all of them are denied by permissions, quotas or policies, which is
   * over as soon as the first of them is not denied any more; undefined without failures.
   */
  refusal(failures: readonly Failure[], objects: readonly KubeObject[]): RequestsFailed | DeniedError | undefined {
    const [first] = failures;
    if (!first) return undefined;
    const refused = objects.find((object) => objectKey(object) === objectKey(first.item));
    if (!refused || !failures.every(({ err }) => isDenied(err))) return new RequestsFailed("", failures);
    return new DeniedError(failuresText("", failures), { cause: first.err, isOver: this.untilNot(isDenied, refused) });
  }

  /**
   * Tries every object.
   * @param taken live objects of other extensions that are taken from them, by `objectKey`.
   * @returns the objects as they would be, and what was denied.
   */
  async each(objects: readonly KubeObject[], taken: LiveObjects = new Map()): Promise<Answers> {
    const after = new Map<string, KubeObject>();
    const roles = new Set(objects.filter(({ kind }) => kind.endsWith("Role")).map(({ metadata }) => metadata.name));
    const failures = await failuresOf(objects, this.#signal, async (object) => {
      try {
        const warn = (text: string): void => this.#warned(text, refOf(object));
        const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal: this.#signal, warn };
        const from = taken.get(objectKey(object));
        after.set(objectKey(object), await (from ? this.#take(object, from) : applyWithPorts(this.#client, object, options)));
      } catch (err) {
        if (object.kind.endsWith("RoleBinding") && isNotFound(err) && !isNamespaceMissing(err) && roles.has(roleOf(object))) return;
        if (isImmutableField(err) && isRecreated(object)) return;
        throw err;
      }
    });
    return { objects: after, failures };
  }

  /** Over as soon as an object is not refused in that way any more. */
  untilNot(isRefusal: (err: unknown) => boolean, object: KubeObject): IsOver {
    return async (signal) => {
      const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true, signal };
      const failure: unknown = await this.#client.apply(object, options).catch((err: unknown) => err);
      return !isRefusal(failure);
    };
  }

  /** An apply would give the object a second controller beside the owner that it has, which the API server refuses. */
  #take(object: KubeObject, live: KubeObject): Promise<KubeObject> {
    const { labels, annotations, ...marks } = ownerMarks(object, live);
    const metadata = {
      ...object.metadata,
      ...marks,
      labels: { ...object.metadata.labels, ...(labels as object) },
      annotations: { ...object.metadata.annotations, ...(annotations as object | undefined) },
    };
    const options = { type: "merge", fieldManager: FIELD_MANAGER, dryRun: true, signal: this.#signal } as const;
    return this.#client.patch(refOf(object), { ...object, metadata }, options);
  }

  #warned(text: string, ref: ObjectRef): void {
    const refs = this.#warnings.get(text);
    if (refs) refs.push(ref);
    else if (this.#warnings.size < MAX_WARNINGS) this.#warnings.set(text, [ref]);
  }
}

function roleOf(binding: KubeObject): string {
  const role = binding["roleRef"];
  return typeof role === "object" && role !== null && "name" in role ? String(role.name) : "";
}
