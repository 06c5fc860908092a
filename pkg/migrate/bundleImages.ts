import { imageReference } from "../api/imageReference.ts";
import type { KubeObject } from "../api/k8s.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../golang/members.ts";
import { quoteShellWord } from "../text/shell.ts";

/** Maximum number of lookups per InstallPlan. Real InstallPlans have a few. */
const MAX_LOOKUPS = 1_000;

/**
 * Returns the image of an installed bundle, from the lookups of the InstallPlan that installed it; undefined if it is unknown, for example because
 * OLM v0 deletes old InstallPlans, or because the bundle was in a ConfigMap. Ignores texts that are not image references.
 * @param plans the InstallPlans in the namespace of the ClusterServiceVersion
 * @see https://github.com/operator-framework/api/blob/v0.27.0/pkg/operators/v1alpha1/installplan_types.go
 */
export function findBundleImage(plans: readonly KubeObject[], csv: string): string | undefined {
  const lookups = plans.flatMap((plan) => getObjectsAt(getObjectAt(plan, "status"), "bundleLookups").slice(0, MAX_LOOKUPS));
  const images = lookups.flatMap((lookup) => (lookup["identifier"] === csv ? (getNonEmptyText(lookup, "path") ?? []) : []));
  return images.find((image) => imageReference.safeParse(image).success);
}

/** Formats the command that adds an installed bundle to a catalog folder. */
export function formatAddBundle(image: string, channel: string | undefined): string {
  return `olmv1 catalog add-bundle ./installed ${quoteShellWord(image)} --channels ${quoteShellWord(channel ?? "installed")} --migrate`;
}

/** Formats the commands that create a ClusterCatalog with an installed bundle. */
export function formatCatalogCommands(image: string, channel: string | undefined): string {
  return `mkdir installed, ${formatAddBundle(image, channel)}, ${BUILD_COMMANDS}`;
}

/** The commands that create a ClusterCatalog from the folder. */
export const BUILD_COMMANDS = "olmv1 catalog build ./installed -t REGISTRY/CATALOG:TAG, olmv1 catalog add installed REGISTRY/CATALOG:TAG";
