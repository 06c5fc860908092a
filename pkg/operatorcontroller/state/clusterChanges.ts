import type { InstalledBundle } from "../../release/installedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { noReleases, type ReleaseHistory } from "../releases/releaseStore.ts";
import type { LiveObjects, ObjectAction } from "./objectActions.ts";

/** Why a bundle is not tried again: reason and message of condition Progressing. */
export interface Held {
  readonly reason: "ProgressDeadlineExceeded" | "Retrying";
  readonly message: string;
}

/** A release that was refused in the middle. */
export interface FailedRelease {
  readonly release: ReleaseRecord;
  /** The objects that were applied. */
  readonly applied: LiveObjects;
  /** Everything that was done. */
  readonly actions: readonly ObjectAction[];
}

/** What one reconcile does to the cluster. The apply code keeps it; what runs after a failure reads it. */
export interface ClusterChanges {
  /** The release that the extension aims at is noted in the handovers. */
  isAimed?: boolean;
  /** Objects may have been written. */
  began?: boolean;
  /** The deployed release as it is by now, if it was changed; otherwise it is in the history. */
  deployed?: ReleaseRecord;
  /** Objects as the API server returned them when they were compared or applied. */
  live?: LiveObjects;
  failed?: FailedRelease;
  /** Set once an earlier release was restored: what condition Progressing says about the bundle that was given up. */
  held?: Held;
}

/** The releases of an extension as a reconcile read them, kept current by everything in it that writes a release. */
export interface KnownReleases {
  history: ReleaseHistory;
  installed: InstalledBundle | undefined;
  /** The last deployed release and every attempt after it, at the end of the reconcile. Absent while they are not known. */
  active?: readonly Pick<ReleaseRecord, "labels" | "annotations">[];
  /** Why the releases do not tell all that may be installed, a sentence each: some cannot be read, or none is found although one must exist. */
  unreadable: readonly string[];
  /** Set if it is not known what is installed, or the reconcile may not act: the text of condition Installed. */
  unknownBecause?: string;
}

/** Returns releases of which nothing is known. */
export function unknownReleases(): KnownReleases {
  return { history: noReleases(), installed: undefined, unreadable: [] };
}
