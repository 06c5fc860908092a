import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { type JsonObject, type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { BUNDLE_LIMITS } from "../../bundle/limits.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import type { CallOptions } from "../../kube/request.ts";
import { withOwner } from "../../release/labels.ts";
import {
  decodeObjectData,
  isArchivedSet,
  isObjectSetOf,
  OBJECT_DATA_TYPE,
  type ObjectDataRef,
  type ObjectSet,
  ObjectSetUnreadable,
  parseObjectSet,
  TEARDOWN_FINALIZER,
} from "../../release/objectSet.ts";
import { needsImport, planObjectSetReleases, toKnownSet } from "../../release/objectSetReleases.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { ReleaseHistory, ReleaseOwner } from "./releaseStore.ts";

/** Options of `readObjectSetReleases`. */
export interface ObjectSetReading extends CallOptions {
  client: Pick<Client, "get">;
  systemNamespace: string;
  /** Called with the reason for each archived set that is skipped because it cannot be read. */
  onSkipped?: (reason: string) => void;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** Maximum number of object sets of an extension. The Go operator-controller keeps five archived ones. */
const MAX_SETS = 50;

/**
 * Reads the releases that the Go operator-controller stored in the object sets of an extension, if they are newer than its releases. Skips archived
 * sets that cannot be read, because only a rollback needs them.
 * @param found the object sets of the extension; their objects are not used
 * @returns the releases that the sets become, oldest first; undefined if none must be imported
 * @throws ObjectSetUnreadable if an active set cannot be read; RetryableError if there are too many; KubeError
 */
export async function readObjectSetReleases(
  extension: Readonly<ClusterExtension>,
  found: readonly KubeObject[],
  history: ReleaseHistory,
  options: ObjectSetReading,
): Promise<ReleaseRecord[] | undefined> {
  if (!needsImport(found.filter((set) => !isArchivedSet(set)).map(toKnownSet), history.current)) return undefined;
  if (found.length > MAX_SETS)
    throw new RetryableError(
      "Retrying",
      `${CLUSTER_EXTENSION} ${goQuote(extension.metadata.name)} has more than ${MAX_SETS} ClusterObjectSets`,
    );
  const read = await Promise.all(found.map((set) => loadSet(extension, set, options)));
  return planObjectSetReleases(read.flat(), history).map(({ set, version, status }) => buildRelease(set, extension, { version, status }));
}

/** Returns the owner of the releases of an extension. */
export function toReleaseOwner({ metadata: { name, uid = "" } }: Pick<ClusterExtension, "metadata">): ReleaseOwner {
  return { name, uid };
}

/** An object set with all of its objects. */
interface LoadedSet extends ObjectSet {
  readonly objects: readonly KubeObject[];
}

/** Returns the set with all of its objects; empty if it no longer exists or cannot be read and is not needed. */
async function loadSet(extension: Readonly<ClusterExtension>, known: KubeObject, options: ObjectSetReading): Promise<LoadedSet[]> {
  const live = await options.client.get(toObjectRef(known), options);
  if (!live || !isObjectSetOf(live, toReleaseOwner(extension))) return [];
  try {
    const set = parseObjectSet(live);
    return [{ ...set, objects: await readObjects(set, options) }];
  } catch (err) {
    const { finalizers = [] } = live.metadata;
    if (!(err instanceof ObjectSetUnreadable) || !isArchivedSet(live) || finalizers.includes(TEARDOWN_FINALIZER)) throw err;
    options.onSkipped?.(getErrorMessage(err));
    return [];
  }
}

async function readObjects(set: ObjectSet, options: ObjectSetReading): Promise<KubeObject[]> {
  const secrets = new Map<string, JsonObject>();
  const objects: KubeObject[] = [];
  let bytes = 0;
  for (const entry of set.entries) {
    const { place } = entry;
    if ("object" in entry) objects.push(entry.object);
    else {
      const data = secrets.get(entry.ref.name) ?? (await readSecret(entry.ref, set, options));
      secrets.set(entry.ref.name, data);
      objects.push(decodeObjectData(data[entry.ref.key], place, set));
    }
    bytes += JSON.stringify(objects.at(-1)).length;
    if (bytes > BUNDLE_LIMITS.renderedBytes)
      throw new ObjectSetUnreadable(set, `its objects exceed the maximum of ${BUNDLE_LIMITS.renderedBytes} bytes`);
  }
  return objects;
}

/** Reads only Secrets that an object set may use: an object set must not disclose others. @returns the data of the Secret */
async function readSecret({ name, namespace }: ObjectDataRef, set: ObjectSet, options: ObjectSetReading): Promise<JsonObject> {
  const { client, systemNamespace } = options;
  if (namespace !== "" && namespace !== systemNamespace) {
    const next = "pass the namespace of the Go operator-controller as --system-namespace";
    throw new ObjectSetUnreadable(set, `Secret ${namespace}/${name} is not in namespace ${goQuote(systemNamespace)}. To read it, ${next}`);
  }
  const secret = await client.get({ ...SECRET, name, namespace: systemNamespace }, options);
  if (!secret) throw new ObjectSetUnreadable(set, `Secret ${systemNamespace}/${name} does not exist. Restore this Secret`);
  if (secret["type"] !== OBJECT_DATA_TYPE)
    throw new ObjectSetUnreadable(set, `Secret ${systemNamespace}/${name} is not of type ${OBJECT_DATA_TYPE}`);
  return (secret["data"] ?? {}) as JsonObject;
}

function buildRelease(
  set: LoadedSet,
  extension: Readonly<ClusterExtension>,
  parts: Pick<ReleaseRecord, "version" | "status">,
): ReleaseRecord {
  const { name, uid } = toReleaseOwner(extension);
  const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
  return {
    name,
    namespace: getNamespace(extension),
    ...parts,
    description: `imported from ${set.kind} ${set.name}`,
    firstDeployed: set.createdAt,
    lastDeployed: set.createdAt,
    labels: { ...set.labels },
    annotations: { ...set.annotations },
    objects: set.objects.map((object) => withOwner(object, owner)),
    objectSet: set.uid,
  };
}
