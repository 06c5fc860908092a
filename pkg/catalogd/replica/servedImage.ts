import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType } from "../../api/constants.ts";

/** The image whose content every replica has to serve of a catalog. */
export interface ServedImage {
  /** By digest. */
  readonly ref: string;
  readonly digest: string;
  /** When the leader unpacked it, RFC 3339 in whole seconds; it may be missing in a status that somebody else wrote. */
  readonly lastUnpacked?: string;
}

/**
 * What is served of a catalog as the leader said it in the status, which is never a tag; undefined when nothing is, or is to be no more: the
 * catalog does not exist, is being deleted, is switched off, or was never unpacked.
 */
export function servedImage(catalog: Readonly<ClusterCatalog> | undefined): ServedImage | undefined {
  const { metadata, spec, status } = catalog ?? {};
  if (!status?.resolvedSource || metadata?.deletionTimestamp !== undefined || spec?.availabilityMode === "Unavailable") return undefined;
  if (findCondition(status.conditions, ConditionType.Serving)?.status !== "True") return undefined;
  const { ref } = status.resolvedSource.image;
  const digest = ref.slice(ref.lastIndexOf("@") + 1);
  return { ref, digest, ...(status.lastUnpacked ? { lastUnpacked: status.lastUnpacked } : {}) };
}
