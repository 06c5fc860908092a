import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { ReleaseRecord } from "./record.ts";

/** What happens to what has drifted, and whether that is so only because the extension was taken over. */
export interface DriftPolicy {
  readonly policy: "Correct" | "Warn" | "Ignore";
  readonly isTakenOver: boolean;
}

/**
 * What `spec.drift.policy` says; where it says nothing, what another operator-controller installed is left alone until something newer is
 * installed, since somebody may rely on how it is, and everything else is put back.
 */
export function driftPolicyOf(spec: ClusterExtension["spec"], deployed: Pick<ReleaseRecord, "takenOver">): DriftPolicy {
  const { policy } = spec.drift ?? {};
  if (policy !== undefined) return { policy, isTakenOver: false };
  const isTakenOver = deployed.takenOver === true;
  return { policy: isTakenOver ? "Warn" : "Correct", isTakenOver };
}
