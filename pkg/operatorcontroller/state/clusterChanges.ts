import type { InstalledBundle } from "../../release/installedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { newReleaseHistory, type ReleaseHistory } from "../releases/releaseStore.ts";
import type { LiveObjects, ObjectAction } from "./objectActions.ts";

/** Why a bundle that was rolled back is on hold: reason and message of condition Progressing. */
export interface BundleHold {
  readonly reason: "ProgressDeadlineExceeded" | "Retrying";
  readonly message: string;
}

/** A release that failed after some of its objects were applied. */
export interface FailedRelease {
  readonly release: ReleaseRecord;
  /** The objects that were applied. */
  readonly applied: LiveObjects;
  /** All actions while applying the release. */
  readonly actions: readonly ObjectAction[];
}

/** Changes that one reconcile made to the cluster. The apply code writes this object; error handling reads it. */
export interface ClusterChanges {
  /** Whether the desired release is recorded in the handovers. */
  isAimed?: boolean;
  /** Whether objects may have been written. */
  began?: boolean;
  /** The deployed release, if this reconcile changed it. Otherwise the history contains it. */
  deployed?: ReleaseRecord;
  /** Objects as the API server returned them when they were compared or applied. */
  live?: LiveObjects;
  failed?: FailedRelease;
  /** Set after an earlier release was restored: why the failed bundle is on hold. */
  held?: BundleHold;
}

/** The releases of an extension as the reconcile read them, updated by each write of a release. */
export interface KnownReleases {
  history: ReleaseHistory;
  installed: InstalledBundle | undefined;
  /** The last deployed release and all later attempts at the end of the reconcile. Absent while unknown. */
  active?: readonly Pick<ReleaseRecord, "labels" | "annotations">[];
  /**
   * Reasons why installed objects may be missing from the history, one sentence each: releases are unreadable or
   * missing.
   */
  unreadable: readonly string[];
  /** Text of condition Installed if the installed bundle is unknown or the reconcile may not act. */
  unknownBecause?: string;
}

/** Returns the initial state: no release is known. */
export function createUnknownReleases(): KnownReleases {
  return { history: newReleaseHistory(), installed: undefined, unreadable: [] };
}
