import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type ObjectRef, refOf } from "../api/k8s.ts";
import type { Availability } from "../release/health/availability.ts";
import { objectKey } from "../release/identity.ts";
import type { ReleaseRecord } from "../release/record.ts";

/** Least time between two readings of health that changes of status ask for. */
const HEALTHY_PAUSE_MS = 5_000;
const ILL_PAUSE_MS = 1_000;

/** What a release was last found to be. */
export interface RememberedHealth {
  /** Its number. */
  readonly release: number;
  readonly availability: Availability;
  /** When it was read, in milliseconds since the epoch. */
  readonly readAt: number;
  /** How many checks in a row did not find it healthy. */
  readonly checks: number;
  /** When to read it again, in milliseconds since the epoch; infinite while it is healthy. */
  dueAt: number;
}

/** What is remembered of one extension between passes. A controller that has just started knows none of it and is as right without. */
export interface Remembered {
  readonly uid: string;
  /** When its objects, or those that are not watched, were last compared with the cluster; milliseconds since the epoch. */
  checkedAt?: number;
  health?: RememberedHealth;
  /** When all of its objects were. */
  comparedAt?: number;
  /** What has drifted and is left as it is, by `objectKey`; a sentence each. */
  readonly drifted: Map<string, string>;
  /** When its ServiceAccount's rights were last looked up, and what it lacked then, where that is only warned of. */
  rights?: { checkedAt: number; lacking: string | undefined };
  /** What the API server was last said to warn of, and about which input. */
  warned?: string;
  /**
   * The objects of the releases that were last seen. A deletion in the foreground makes the garbage collector delete the releases at once,
   * which would leave nothing to tell which CustomResourceDefinitions have to be looked after.
   */
  recorded: readonly ObjectRef[];
}

/** What is remembered of the extensions there are, by name; one that was made anew under its name starts with nothing. */
export class ExtensionMemory {
  readonly #byName = new Map<string, Remembered>();

  /** How many extensions are remembered. */
  get size(): number {
    return this.#byName.size;
  }

  of({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>): Remembered {
    const known = this.#byName.get(name);
    if (known?.uid === uid) return known;
    const fresh: Remembered = { uid, drifted: new Map(), recorded: [] };
    this.#byName.set(name, fresh);
    return fresh;
  }

  /** Remembers the objects of these releases in place of those before, or beside them. */
  record(extension: Readonly<ClusterExtension>, releases: readonly ReleaseRecord[], { keep = false }: { keep?: boolean } = {}): void {
    const remembered = this.of(extension);
    const refs = releases.flatMap(({ objects }) => objects.map(refOf));
    const all = keep ? [...remembered.recorded, ...refs] : refs;
    remembered.recorded = [...new Map(all.map((ref) => [objectKey(ref), ref])).values()];
  }

  /**
   * Makes a pass over an extension read its health, but not so often as a status may change: at most every five seconds while it is healthy,
   * every second while it is not.
   * @param now milliseconds since the epoch.
   * @returns in how many milliseconds that pass is due.
   */
  healthChanged(name: string, now: number): number {
    const health = this.#byName.get(name)?.health;
    if (!health) return 0;
    const pause = health.availability.status === "True" ? HEALTHY_PAUSE_MS : ILL_PAUSE_MS;
    health.dueAt = Math.min(health.dueAt, Math.max(now, health.readAt + pause));
    return Math.max(health.dueAt - now, 0);
  }

  forget(name: string): void {
    this.#byName.delete(name);
  }
}
