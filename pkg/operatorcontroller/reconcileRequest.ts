import type { ClusterExtension } from "../api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, RECONCILE_REQUEST_MAX } from "../api/constants.ts";

/** The value that asks for a comparison of everything, as status tells it once it was dealt with; undefined where nobody asks. */
export function reconcileRequestOf({ metadata }: Readonly<ClusterExtension>): string | undefined {
  return metadata.annotations?.[ANNOTATION_RECONCILE_REQUESTED_AT]?.slice(0, RECONCILE_REQUEST_MAX);
}
