import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import type { CatalogContents } from "./catalogContents.ts";

/** Packages that are asked for at once, and the longest time that takes; what has not answered by then counts as changed. */
const AT_ONCE = 8;
const TIMEOUT_MS = 30_000;

/** A catalog with new content, and the reference of the content before. */
export interface NewEdition {
  readonly catalog: ClusterCatalog;
  readonly before: string | undefined;
}

/**
 * Tells `onConcerned` each extension that a new edition of a catalog concerns: its package differs, or something is left to do for it, or that
 * cannot be told. Of hundreds of extensions it is mostly few; each package is asked for once, and a catalog that knows its tags sends none.
 */
export async function findConcerned(
  { catalog, before }: NewEdition,
  extensions: readonly ClusterExtension[],
  contents: Pick<CatalogContents, "isAsBefore">,
  onConcerned: (name: string) => void,
): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const byPackage = Map.groupBy(extensions, (extension) =>
    isSettled(extension) ? extension.spec?.source?.catalog?.packageName : undefined,
  );
  for (const { metadata } of byPackage.get(undefined) ?? []) onConcerned(metadata.name);
  await mapInParallel([...byPackage], AT_ONCE, async ([packageName, group]) => {
    if (packageName === undefined || (await contents.isAsBefore(catalog, before, packageName, signal))) return;
    for (const { metadata } of group) onConcerned(metadata.name);
  });
}

/** Whether the last pass found nothing left to do; only such an extension may be left alone. */
function isSettled({ metadata, status }: ClusterExtension): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  return (
    status?.install !== undefined &&
    progressing?.status === "True" &&
    progressing.reason === Reason.Succeeded &&
    progressing.observedGeneration === metadata.generation
  );
}
