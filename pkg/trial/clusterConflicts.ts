import { mapInParallel } from "../async/concurrency.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { listClusterExtensions } from "../rollout/extensions.ts";
import { formatList } from "../text/lists.ts";
import type { TrialBundle } from "./trialCatalog.ts";

const PARALLEL = 8;
const NAMES_SHOWN = 5;

/**
 * Checks that a trial cannot change anything that is on the cluster: no extension has the package, because it could choose a bundle of the trial, and
 * no CustomResourceDefinition of the bundles exists, because the trial deletes them with all custom resources.
 * @throws Error that names what is on the cluster
 */
export async function requireNoConflicts(client: Client, bundles: readonly TrialBundle[], signal: AbortSignal): Promise<void> {
  const { packageName = "" } = bundles[0] ?? {};
  const advice = "Use another cluster, or --embedded (no changes were made)";
  const extension = (await listClusterExtensions(client)).find(({ spec }) => spec.source.catalog?.packageName === packageName);
  if (extension)
    throw new Error(
      `cannot try package ${goQuote(packageName)} on this cluster: ClusterExtension ${goQuote(extension.metadata.name)} has the same package. ${advice}`,
    );
  const names = [...new Set(bundles.flatMap(({ crds }) => crds))];
  const found = await mapInParallel(names, PARALLEL, (name) =>
    client.get({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name }, { metadataOnly: true, signal }),
  );
  const existing = found.flatMap((crd) => (crd ? [crd.metadata.name] : []));
  if (existing.length > 0)
    throw new Error(
      `cannot try package ${goQuote(packageName)} on this cluster: CustomResourceDefinitions of the bundle exist: ${formatList(existing, { max: NAMES_SHOWN })}. ${advice}`,
    );
}
