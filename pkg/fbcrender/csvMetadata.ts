import type { JsonObject } from "../api/k8s.ts";
import { MANIFEST_TYPES } from "../bundle/goTypes.ts";
import type { Csv } from "../bundle/types.ts";
import type { Property } from "../fbc/types.ts";

/** The property that tells a catalog's readers what a ClusterServiceVersion says of its operator, without the manifest. */
export const CSV_METADATA = "olm.csv.metadata";

/**
 * Property `olm.csv.metadata` of a ClusterServiceVersion, members in opm's order. Lists, maps and texts that are empty are left out, `apiServiceDefinitions`,
 * `crdDescriptions` and `provider` are always there.
 * @throws GoTypeError when a member of the manifest has the wrong type.
 * @see operator-registry v1.73 alpha/property/property.go, MustBuildCSVMetadata
 */
export function csvMetadata(manifest: JsonObject): Property {
  const { metadata, spec } = MANIFEST_TYPES.convert("operators/v1alpha1.ClusterServiceVersion", manifest) as Csv;
  const value = {
    annotations: metadata.annotations,
    apiServiceDefinitions: spec.apiservicedefinitions,
    crdDescriptions: spec.customresourcedefinitions,
    description: spec["description"],
    displayName: spec["displayName"],
    installModes: spec.installModes,
    keywords: spec["keywords"],
    labels: metadata.labels,
    links: spec["links"],
    maintainers: spec["maintainers"],
    maturity: spec["maturity"],
    minKubeVersion: spec.minKubeVersion,
    nativeAPIs: spec["nativeAPIs"],
    provider: spec["provider"],
  };
  return { type: CSV_METADATA, value: Object.fromEntries(Object.entries(value).filter(([, member]) => !isEmpty(member))) };
}

/** As Go's `omitempty` has it, which never leaves out a struct. */
function isEmpty(member: unknown): boolean {
  if (member === undefined || member === null || member === "") return true;
  return Array.isArray(member) && member.length === 0;
}
