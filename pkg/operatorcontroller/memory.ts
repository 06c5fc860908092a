import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type ObjectRef, refOf } from "../api/k8s.ts";
import { objectKey } from "../release/identity.ts";
import type { ReleaseRecord } from "../release/record.ts";

/** What is remembered of one extension between passes. A controller that has just started knows none of it and is as right without. */
export interface Remembered {
  readonly uid: string;
  /** When its objects were last compared with the cluster; milliseconds since the epoch. */
  checkedAt?: number;
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
    const fresh: Remembered = { uid, recorded: [] };
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

  forget(name: string): void {
    this.#byName.delete(name);
  }
}
