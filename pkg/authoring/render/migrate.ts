import type { JsonObject } from "../../api/k8s.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { Csv } from "../../bundle/types.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { Schema } from "../../fbc/content.ts";
import type { Meta, Property } from "../../fbc/types.ts";
import { findMember, getObjectAt, getObjectMembers, getTextMember, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { parseYaml } from "../../golang/yaml.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { isOmittedByGo } from "./catalogObject.ts";
import { sortByImage } from "./relatedImages.ts";

/** The property that contains the metadata of a ClusterServiceVersion instead of its manifest. */
export const CSV_METADATA = "olm.csv.metadata";

/**
 * Returns the property `olm.csv.metadata` of a ClusterServiceVersion, with fields in the order of opm. Omits empty lists, maps and strings.
 * `apiServiceDefinitions`, `crdDescriptions` and `provider` are always set.
 * @throws GoTypeError if a field of the manifest has the wrong type.
 * @see operator-registry v1.73.0 alpha/property/property.go, MustBuildCSVMetadata
 */
function csvMetadata(manifest: JsonObject): Property {
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
  return { type: CSV_METADATA, value: Object.fromEntries(Object.entries(value).filter(([, member]) => !isOmittedByGo(member))) };
}

/** Migration levels for catalogs. Each level includes the previous ones. @see operator-registry v1.73.0 alpha/action/migrations */
export const MIGRATION_LEVELS = ["none", "bundle-object-to-csv-metadata"] as const;
export type MigrationLevel = (typeof MIGRATION_LEVELS)[number];

const OBJECT = "olm.bundle.object";

/** Parses a migration level. @throws Error `unknown migration level "…"`. */
export function parseMigrationLevel(text: string): MigrationLevel {
  const level = MIGRATION_LEVELS.find((known) => known === text);
  if (level === undefined) throw new Error(`unknown migration level ${goQuote(text)}: use ${MIGRATION_LEVELS.join(" or ")}`);
  return level;
}

/**
 * Migrates an object of a catalog like opm. In bundles, moves manifests and olm.csv.metadata after all other properties, and sorts images. From level
 * bundle-object-to-csv-metadata, replaces the manifests of each bundle that has an image with the property olm.csv.metadata.
 * @throws Error if the manifest of a ClusterServiceVersion cannot be read.
 * @see C-20
 */
export function migrateMeta(meta: Meta, level: MigrationLevel): Meta {
  if (meta.schema !== Schema.bundle) return meta;
  const blob = { ...meta.blob };
  const properties = findMember(blob, "properties");
  if (Array.isArray(properties)) blob[findKey(blob, "properties")] = objectsLast(migratedProperties(blob, level));
  const images = findMember(blob, "relatedImages");
  if (Array.isArray(images) && images.every(hasImage)) blob[findKey(blob, "relatedImages")] = sortByImage(images);
  return { ...meta, blob };
}

function migratedProperties(blob: JsonObject, level: MigrationLevel): JsonObject[] {
  const properties = [...getObjectMembers(blob, "properties")];
  if (level === "none" || getTextMember(blob, "image") === "") return properties;
  if (properties.some((property) => getTextMember(property, "type") === CSV_METADATA)) return properties;
  const csv = findCsv(properties);
  if (csv === undefined) return properties;
  return [
    ...properties.filter((property) => getTextMember(property, "type") !== OBJECT),
    { ...buildMetadata(csv, getTextMember(blob, "name")) },
  ];
}

function buildMetadata(csv: JsonObject, bundle: string): Property {
  try {
    return csvMetadata(csv);
  } catch (err) {
    throw new Error(`migrate: ClusterServiceVersion of bundle ${goQuote(truncateExcerpt(bundle))}: ${getErrorMessage(err)}`, {
      cause: err,
    });
  }
}

/** Finds the first ClusterServiceVersion among the manifests in `properties`. */
export function findCsv(properties: readonly JsonObject[]): JsonObject | undefined {
  for (const property of properties) {
    if (getTextMember(property, "type") !== OBJECT) continue;
    const manifest: unknown = parseYaml(Buffer.from(getTextMember(getObjectAt(property, "value"), "data"), "base64").toString());
    if (isObject(manifest) && manifest["kind"] === "ClusterServiceVersion") return manifest;
  }
  return undefined;
}

function objectsLast(properties: readonly JsonObject[]): JsonObject[] {
  const isLast = (property: JsonObject): boolean => [OBJECT, CSV_METADATA].includes(getTextMember(property, "type"));
  return [...properties.filter((property) => !isLast(property)), ...properties.filter(isLast)];
}

function hasImage(item: unknown): item is { image: string } {
  return isObject(item) && typeof item["image"] === "string";
}

function findKey(blob: JsonObject, key: string): string {
  return Object.keys(blob).find((name) => blob[name] === findMember(blob, key)) ?? key;
}
