import { boundedMessage } from "../../api/conditions.ts";
import { INVENTORY_MAX, KEPT_CRDS_MAX, PROVIDED_APIS_MAX } from "../../api/constants.ts";
import type { Inventory, KeptCrds, ProvidedApis } from "../../api/clusterExtensionStatus.ts";
import { groupOf, type KubeObject, versionOf } from "../../api/k8s.ts";
import { type AggregatedApi, aggregatedApis } from "../../bundle/apiServices.ts";
import { isCrd } from "../../release/identity.ts";
import type { LeftObject } from "../../release/record.ts";

/** What status says of the objects of a release: the first hundred by name, and how many there are. */
export function inventoryOf(objects: readonly KubeObject[]): Inventory {
  return {
    count: objects.length,
    objects: objects.slice(0, INVENTORY_MAX).map(({ apiVersion, kind, metadata: { namespace, name } }) => ({
      ...(groupOf(apiVersion) === "" ? {} : { group: groupOf(apiVersion) }),
      version: versionOf(apiVersion),
      kind,
      ...(namespace ? { namespace } : {}),
      name,
    })),
  };
}

/**
 * The APIs that the CustomResourceDefinitions and APIServices of a release serve, sorted by group and kind; a definition that states none gives
 * none.
 */
export function providedApis(objects: readonly KubeObject[]): ProvidedApis {
  const defined = objects.filter(isCrd).flatMap((crd) => {
    const { group, names, versions } = (crd["spec"] ?? {}) as CrdSpec;
    const served = Array.isArray(versions) ? (versions as { name?: unknown; served?: unknown }[]) : [];
    const versionNames = served.flatMap((version) => (version?.served === true && typeof version.name === "string" ? [version.name] : []));
    return typeof group === "string" && typeof names?.kind === "string" ? [{ group, kind: names.kind, versions: versionNames }] : [];
  });
  const key = ({ group, kind }: { group: string; kind: string }): string => `${group}/${kind}`;
  const aggregated = [...Map.groupBy(aggregatedApis(objects), key).values()].map((apis) => {
    const [{ group, kind }] = apis as [AggregatedApi];
    return { group, kind, versions: [...new Set(apis.map(({ version }) => version))] };
  });
  return [...defined, ...aggregated].sort((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, PROVIDED_APIS_MAX);
}

/** What status says of the definitions that earlier releases left. */
export function keptCrds(left: readonly LeftObject[], hide: (text: string) => string): KeptCrds {
  const kept = left.flatMap(({ name, kept: because }) => (because === undefined ? [] : [{ name, message: boundedMessage(hide(because)) }]));
  return kept.slice(0, KEPT_CRDS_MAX);
}

interface CrdSpec {
  group?: unknown;
  names?: { kind?: unknown };
  versions?: unknown;
}
