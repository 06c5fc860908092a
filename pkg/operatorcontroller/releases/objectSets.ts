import { API_VERSION, GROUP, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Clock } from "../../async/clock.ts";
import { withoutBulk } from "../../controller/informer.ts";
import { OptionalKind, type OptionalKindClient } from "../../controller/optionalKind.ts";
import { goQuote } from "../../golang/quote.ts";
import { type ActiveRelease, toActiveRelease, type UnreadableReleases } from "../../openshift/upgradeable.ts";
import type { Logger } from "../../telemetry/log.ts";

/** The kinds in which the Go operator-controller stores releases with feature gate BoxcutterRuntime. The second is the earlier name of the first. */
export const OBJECT_SET_KINDS = [
  { apiVersion: API_VERSION, kind: "ClusterObjectSet" },
  { apiVersion: API_VERSION, kind: "ClusterExtensionRevision" },
] as const;
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
    if (labels[LABEL_OWNER_NAME] !== extension || isArchived(object)) return [];
    // Object sets have the labels of release Secrets as annotations.
    const release = toActiveRelease(extension, { labels: annotations, annotations });
    if (release.properties !== undefined || labels[LABEL_MIGRATED] !== "true") return [release];
    const { bundle } = release;
    if (bundles.has(bundle)) return [];
    return [{ extension, reason: `${object.kind} ${goQuote(name)} does not contain the properties of bundle ${goQuote(bundle)}` }];
  });
}

function isArchived(object: KubeObject): boolean {
  return ((object["spec"] ?? {}) as { lifecycleState?: unknown }).lifecycleState === "Archived";
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
  readonly #kinds: readonly OptionalKind[];

  constructor({ client, log, clock }: ObjectSetsOptions) {
    const options = { log, transform: withoutContent, ...(clock ? { clock } : {}) };
    this.#kinds = OBJECT_SET_KINDS.map((gvk) => new OptionalKind(client, gvk, options));
  }

  /** Calls `handler` when the result of `list` may have changed. */
  onChange(handler: () => void): void {
    for (const objects of this.#kinds) objects.onChange(handler);
  }

  /** Watches the object sets until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#kinds.map((objects) => objects.run(signal)));
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
