import { GROUP, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { withoutBulk } from "../../controller/informer.ts";
import { OptionalKind, type OptionalKindClient } from "../../controller/optionalKind.ts";
import { goQuote } from "../../golang/quote.ts";
import { type ActiveRelease, toActiveRelease, type UnreadableReleases } from "../../openshift/upgradeable.ts";
import { isArchivedSet, isObjectSetOf, OBJECT_SET_KINDS } from "../../release/objectSet.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ReleaseOwner } from "./releaseStore.ts";

/** Maximum wait for a response of the API server, in milliseconds. */
const ANSWER_MS = 10_000;
const LABEL_MIGRATED = `${GROUP}/migrated-from-helm`;

/** The releases of one extension in object sets; undefined while they are unknown. */
export type ObjectSetReleases = readonly (ActiveRelease | UnreadableReleases)[] | undefined;

/**
 * Returns the releases of an extension in object sets: each that is not archived, because its objects are installed or being installed. The Go
 * implementation omits the properties of a bundle if it converted the release Secret of the bundle, so without that Secret they are unknown.
 * @param bundles the names of bundles in release Secrets
 * @see operator-controller 03bd94dd internal/operator-controller/applier/boxcutter.go
 */
export function listObjectSetReleases(
  objects: readonly KubeObject[],
  extension: string,
  bundles: ReadonlySet<string>,
): (ActiveRelease | UnreadableReleases)[] {
  return objects.flatMap((object): (ActiveRelease | UnreadableReleases)[] => {
    const { name, labels = {}, annotations = {} } = object.metadata;
    if (labels[LABEL_OWNER_NAME] !== extension || isArchivedSet(object)) return [];
    // Object sets have the labels of release Secrets as annotations.
    const release = toActiveRelease(extension, { labels: annotations, annotations });
    if (release.properties !== undefined || labels[LABEL_MIGRATED] !== "true") return [release];
    const { bundle } = release;
    if (bundles.has(bundle)) return [];
    return [{ extension, reason: `${object.kind} ${goQuote(name)} does not contain the properties of bundle ${goQuote(bundle)}` }];
  });
}

/** Removes the objects in an object set, which can have megabytes. */
function withoutContent(object: KubeObject): KubeObject {
  const { lifecycleState } = (object["spec"] ?? {}) as { lifecycleState?: unknown };
  const { apiVersion, kind, metadata } = withoutBulk(object);
  return { apiVersion, kind, metadata, spec: { lifecycleState } };
}

/** The options of ObjectSets. */
export interface ObjectSetsOptions {
  client: OptionalKindClient;
  log: Logger;
  clock?: Clock;
}

/** Follows the object sets of a cluster on which the Go implementation ran with feature gate BoxcutterRuntime. */
export class ObjectSets {
  /** Resolves when it is known whether the cluster has object sets, or after some seconds without a response. */
  readonly synced: Promise<void>;
  readonly #kinds: readonly OptionalKind[];
  readonly #clock: Clock;
  readonly #sync = Promise.withResolvers<void>();

  constructor({ client, log, clock = systemClock }: ObjectSetsOptions) {
    this.synced = this.#sync.promise;
    this.#clock = clock;
    this.#kinds = OBJECT_SET_KINDS.map((gvk) => new OptionalKind(client, gvk, { log, transform: withoutContent, clock }));
    this.onChange(() => {
      if (this.#kinds.every(({ state }) => state.kind !== "unknown")) this.#sync.resolve();
    });
  }

  /** Calls `handler` when the result of `list` may have changed. */
  onChange(handler: () => void): void {
    for (const objects of this.#kinds) objects.onChange(handler);
  }

  /** Watches the object sets until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const stopWaiting = this.#clock.after(ANSWER_MS, () => this.#sync.resolve());
    await Promise.all(this.#kinds.map((objects) => objects.run(signal)));
    stopWaiting();
    this.#sync.resolve();
  }

  /**
   * Returns the object sets of an extension, without their objects; undefined while they are unknown. Omits sets that the API server does not let the
   * controller list.
   */
  find(owner: ReleaseOwner): KubeObject[] | undefined {
    const states = this.#kinds.map(({ state }) => state);
    if (states.some(({ kind }) => kind === "unknown")) return undefined;
    return states.flatMap((state) => (state.kind === "served" ? state.objects.filter((object) => isObjectSetOf(object, owner)) : []));
  }

  /** Returns the releases of an extension. If they cannot be listed, reports that only if it has no other bundle. @param bundles as in `listObjectSetReleases` */
  list(extension: string, bundles: ReadonlySet<string>): ObjectSetReleases {
    const states = this.#kinds.map(({ state }) => state);
    if (states.some(({ kind }) => kind === "unknown")) return undefined;
    return states.flatMap((state) => {
      if (state.kind === "served") return listObjectSetReleases(state.objects, extension, bundles);
      return state.kind === "unreadable" && bundles.size === 0 ? [{ extension, reason: `cannot list object sets: ${state.reason}` }] : [];
    });
  }
}
