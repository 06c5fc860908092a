import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { COLLECTOR_FINALIZERS } from "../api/constants.ts";
import { canonicalJson } from "../golang/json.ts";
import { compileSelector } from "../resolve/labelSelector.ts";

/** The part of a catalog that a resolution can depend on beside its content, as one text. */
function circumstances({ spec, status, metadata }: ClusterCatalog): string {
  return canonicalJson([
    metadata.labels ?? {},
    spec.priority ?? 0,
    spec.availabilityMode ?? "Available",
    status?.urls?.base ?? "",
    findCondition(status?.conditions, "Serving")?.status ?? "",
  ]);
}

/** Reference of a catalog's content by digest; undefined where there is none. */
export function contentRef(catalog: ClusterCatalog | undefined): string | undefined {
  return catalog?.status?.resolvedSource?.image?.ref;
}

/** Whether a catalog is as before but for its content. */
export function isNewEdition(after: ClusterCatalog | undefined, before: ClusterCatalog | undefined): after is ClusterCatalog {
  return after !== undefined && before !== undefined && circumstances(after) === circumstances(before);
}

/**
 * The extensions whose resolution a change of one catalog can alter: those whose selector matches its labels
 * before or after. A change of anything else in the catalog, such as a message, alters none.
 */
export function extensionsToResolve(
  extensions: readonly ClusterExtension[],
  after: ClusterCatalog | undefined,
  before: ClusterCatalog | undefined,
): ClusterExtension[] {
  if (isNewEdition(after, before) && contentRef(after) === contentRef(before)) return [];
  const labels = [before, after].flatMap((catalog) => (catalog ? [catalog.metadata.labels ?? {}] : []));
  return extensions.filter((extension) => labels.some(compileSelector(extension.spec?.source?.catalog?.selector).matches));
}

/** Whether an update of an extension asks for a pass: an edit of spec, of metadata we read, or a deletion; our own status writes do not. */
export function needsPass(after: ClusterExtension, before: ClusterExtension | undefined): boolean {
  if (!before) return true;
  const input = ({ metadata }: ClusterExtension): string =>
    canonicalJson([
      metadata.uid,
      metadata.generation ?? 0,
      metadata.deletionTimestamp ?? "",
      metadata.annotations ?? {},
      metadata.labels ?? {},
      (metadata.finalizers ?? []).some((finalizer) => COLLECTOR_FINALIZERS.includes(finalizer)),
    ]);
  return (
    input(after) !== input(before) ||
    (after.metadata.deletionTimestamp !== undefined && after.metadata.finalizers?.length !== before.metadata.finalizers?.length)
  );
}
