import type { KubeObject } from "../api/k8s.ts";
import { compareText } from "../text/compare.ts";
import type { ObjectSet } from "./objectSet.ts";
import {
  findLastDeployed,
  isOfAnotherWriter,
  isPending,
  MAX_HISTORY,
  type ReleaseRecord,
  type ReleaseStatus,
  type ReleaseSummary,
} from "./record.ts";

/** The parts of an object set that decide about its release. */
type SetState = Pick<ObjectSet, "uid" | "name" | "revision" | "isArchived" | "isComplete" | "isTearingDown">;

/** The release that an object set becomes. */
export interface ObjectSetRelease<T extends SetState> {
  readonly set: T;
  readonly version: number;
  readonly status: ReleaseStatus;
}

/** The releases of an extension before the import, each list as in its history. */
export interface ReleasesBefore {
  readonly current: readonly ReleaseRecord[];
  readonly older: readonly ReleaseSummary[];
  /** Releases of an earlier extension with the same name. */
  readonly foreign: readonly ReleaseSummary[];
}

/** Largest revision that a rollback accepts. */
const MAX_REVISION = 999_999_999;

/**
 * Decides which releases the object sets of an extension become, oldest version first:
 *
 * | object set                                       | release    | position         |
 * | archived                                         | superseded | before the next  |
 * | archived before it was complete                  | failed     | before the next  |
 * | the active one with the highest revision that is complete | deployed |           |
 * | active or being torn down, and not the deployed one | failed  | after it         |
 *
 * The releases after the deployed one are attempts whose objects may be on the cluster, so the next release prunes them. Without a deployed
 * release, omits archived sets. Versions are the revisions, or higher if other releases have them. Deterministic, so that an interrupted import
 * continues.
 * @param sets of one extension, in any order
 */
export function planObjectSetReleases<T extends SetState>(sets: readonly T[], before: ReleasesBefore): ObjectSetRelease<T>[] {
  const sorted = sets.toSorted((a, b) => a.revision - b.revision || compareText(a.name, b.name));
  const deployed = sorted.findLast((set) => !set.isArchived && set.isComplete);
  const archived = deployed ? sorted.filter(({ isArchived, isTearingDown }) => isArchived && !isTearingDown).slice(1 - MAX_HISTORY) : [];
  const attempts = sorted.filter((set) => set !== deployed && (!set.isArchived || set.isTearingDown));
  const statuses = new Map<T, ReleaseStatus>([
    ...archived.map((set): [T, ReleaseStatus] => [set, set.isComplete ? "superseded" : "failed"]),
    ...(deployed ? [[deployed, "deployed"] as const] : []),
    ...attempts.map((set): [T, ReleaseStatus] => [set, "failed"]),
  ]);
  const known = new Map(before.current.flatMap(({ objectSet, version }) => (objectSet === undefined ? [] : [[objectSet, version]])));
  const others = [...before.current.filter(({ objectSet }) => objectSet === undefined), ...before.older, ...before.foreign];
  let last = Math.max(0, ...others.map(({ version }) => version));
  return [...statuses].map(([set, status]) => {
    last = known.get(set.uid) ?? Math.max(last + 1, set.revision <= MAX_REVISION ? set.revision : 0);
    return { set, status, version: last };
  });
}

/** The parts of an object set that decide whether its release must be imported. */
interface KnownSet {
  readonly uid: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** Returns the parts of an object set that decide whether its release must be imported. */
export function toKnownSet({ metadata: { uid = "", creationTimestamp } }: KubeObject): KnownSet {
  return { uid, createdAt: creationTimestamp ?? "" };
}

/**
 * Reports whether our deployed release replaced the release in an object set: it was applied after the Go operator-controller created the set. Its
 * apply replaced the owner references to the set.
 */
export function isReplaced({ createdAt }: Pick<KnownSet, "createdAt">, deployed: ReleaseRecord | undefined): boolean {
  if (!deployed || isOfAnotherWriter(deployed)) return false;
  return Date.parse(deployed.lastDeployed) >= Date.parse(createdAt);
}

/**
 * Reports whether the releases in object sets must be imported: the release of an active set was neither imported completely nor replaced.
 * @param active the active sets
 */
export function needsImport(active: readonly KnownSet[], current: readonly ReleaseRecord[]): boolean {
  const deployed = findLastDeployed(current);
  const imported = new Set(current.filter((release) => !isPending(release)).map(({ objectSet }) => objectSet));
  return active.some((set) => !imported.has(set.uid) && !isReplaced(set, deployed));
}
