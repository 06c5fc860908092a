import type { KubeObject } from "../api/k8s.ts";
import { ANNOTATION_WITHOUT_SUBSCRIPTION, CLASSIC_GROUP } from "../api/migration.ts";
import { getNonEmptyText } from "../golang/members.ts";
import { parseInstalledCsv, readStatedProperties } from "./clusterServiceVersion.ts";
import type { OlmV0Cluster } from "./olmV0Cluster.ts";
import { SUBSCRIPTION_VERSIONS, type Subscription } from "./subscription.ts";

/** The ClusterServiceVersion of OLM v0 itself. */
const PACKAGE_SERVER = "packageserver";

/**
 * Returns a Subscription for each installed ClusterServiceVersion that has none, for example because a user deleted it to stop upgrades. OLM v0 keeps
 * such operators, and rejects new Subscriptions for them. The package comes from the properties that OLM v0 copies from the catalog; without them, the
 * Subscription has no package and cannot be parsed.
 * @param subscriptions the valid Subscriptions of the cluster
 */
export function listOrphans({ csvs }: Pick<OlmV0Cluster, "csvs">, subscriptions: readonly Subscription[]): KubeObject[] {
  const isReferred = (namespace: string, name: string): boolean =>
    subscriptions.some((one) => one.namespace === namespace && (one.installedCsv === name || one.currentCsv === name));
  const parsed = csvs.map((csv) => ({ csv, ...parseInstalledCsv(csv) }));
  const isReplaced = (namespace: string, name: string): boolean =>
    parsed.some((other) => other.namespace === namespace && other.replaces === name);
  return parsed.flatMap(({ csv, namespace, name, isDeleted }) => {
    if (isDeleted || name === PACKAGE_SERVER || isReferred(namespace, name) || isReplaced(namespace, name)) return [];
    const packageName = findPackageName(csv);
    const isTaken = subscriptions.some((one) => one.namespace === namespace && one.name === packageName);
    return [
      {
        apiVersion: `${CLASSIC_GROUP}/${SUBSCRIPTION_VERSIONS[0]}`,
        kind: "Subscription",
        metadata: {
          name: packageName === undefined || isTaken ? name : packageName,
          namespace,
          annotations: { [ANNOTATION_WITHOUT_SUBSCRIPTION]: name },
        },
        spec: packageName === undefined ? {} : { name: packageName },
        status: { installedCSV: name, currentCSV: name },
      },
    ];
  });
}

function findPackageName(csv: KubeObject): string | undefined {
  const names = readStatedProperties(csv).map(({ type, content }) =>
    type === "olm.package" ? getNonEmptyText(content, "packageName") : undefined,
  );
  return names.find((name) => name !== undefined);
}
