import type { JsonObject } from "../../api/k8s.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Meta, Property } from "../../fbc/types.ts";
import { formatWrongKind } from "../../fbc/wrongKind.ts";
import { encodeGoJson } from "../../golang/json.ts";
import { findMember, getObjectAt, getObjectMembers, getTextMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareUtf8 } from "../../text/compare.ts";
import { formatList } from "../../text/lists.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { type BundleObjects, findBundleFolders, parseAnnotatedProperties, readBundleMetadata, readBundleObjects } from "./bundleObjects.ts";
import { listRelatedImages } from "./relatedImages.ts";

/** The group, version, kind and plural name of an API. */
interface ApiKey {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
}

/** Maximum APIs in an error. */
const MAX_APIS = 50;

/** Returns the APIs that a bundle provides: all versions of its CRDs, and its API services. */
function providedApis(objects: readonly JsonObject[], csv: JsonObject): ApiKey[] {
  const crds = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  return [...crds.flatMap(crdApis), ...apiServices(csv, "owned")];
}

/** Returns the APIs that the ClusterServiceVersion requires. @throws Error if the name of a CRD has no dot. */
function requiredApis(csv: JsonObject): ApiKey[] {
  return [...definedApis(csv, "required"), ...apiServices(csv, "required")];
}

/** @throws Error if the ClusterServiceVersion owns a CRD that is not in the bundle. */
function checkOwnedApis(provided: readonly ApiKey[], csv: JsonObject): void {
  const names = new Set(provided.map(apiName));
  const missing = definedApis(csv, "owned")
    .map(apiName)
    .find((name) => !names.has(name));
  if (missing === undefined) return;
  const found = [...names].sort().map((name) => `${name}:{}`);
  throw new Error(`couldn't find ${missing} in bundle. found: map[${formatList(found, { max: MAX_APIS, separator: " " })}]`);
}

function crdApis(crd: JsonObject): ApiKey[] {
  const spec = getObjectAt(crd, "spec");
  const names = getObjectAt(spec, "names");
  const versions = getObjectMembers(spec, "versions").map((version) => getTextMember(version, "name"));
  const single = getTextMember(crd, "apiVersion").endsWith("/v1beta1") ? getTextMember(spec, "version") : "";
  return [...new Set([...versions, ...(single === "" ? [] : [single])])].map((version) => ({
    group: getTextMember(spec, "group"),
    version,
    kind: getTextMember(names, "kind"),
    plural: getTextMember(names, "plural"),
  }));
}

function definedApis(csv: JsonObject, which: "owned" | "required"): ApiKey[] {
  return getObjectMembers(getObjectAt(getObjectAt(csv, "spec"), "customresourcedefinitions"), which).map((definition) => {
    const name = getTextMember(definition, "name");
    const dot = name.indexOf(".");
    if (dot < 0) throw new Error(`couldn't parse plural.group from crd name: ${truncateExcerpt(name)}`);
    const [version, kind] = [getTextMember(definition, "version"), getTextMember(definition, "kind")];
    return { group: name.slice(dot + 1), version, kind, plural: name.slice(0, dot) };
  });
}

function apiServices(csv: JsonObject, which: "owned" | "required"): ApiKey[] {
  return getObjectMembers(getObjectAt(getObjectAt(csv, "spec"), "apiservicedefinitions"), which).map((api) => ({
    group: getTextMember(api, "group"),
    version: getTextMember(api, "version"),
    kind: getTextMember(api, "kind"),
    plural: getTextMember(api, "name"),
  }));
}

function apiName({ group, version, kind, plural }: ApiKey): string {
  return truncateExcerpt(`${group}/${version}/${kind} (${plural})`);
}

/** The fields of an image reference template. */
export interface BundleIdentity {
  readonly packageName: string;
  readonly name: string;
  readonly version: string;
}

/** A bundle in the form of a catalog. */
export interface CatalogBundle {
  /** The olm.bundle, with fields in the order of opm. */
  readonly meta: Meta;
  /** The ClusterServiceVersion of the bundle, unchanged. */
  readonly csv: JsonObject;
  /** One sentence for each skipped part. */
  readonly warnings: readonly string[];
}

const SUBSTITUTES_FOR = "olm.substitutesFor";
const OBJECT = "olm.bundle.object";

/**
 * Renders a registry+v1 bundle as an olm.bundle. Sorts properties by type and value, with manifests as `olm.bundle.object` at the end, and images.
 * @param imageOf returns the image reference of the bundle; empty if it has none yet.
 * @throws Error, like opm, if the bundle is invalid, its CSV owns a CRD that is not in the bundle, or its version is not a string.
 * @see C-20 "Bundle to FBC"; operator-registry v1.73.0 pkg/registry/registry_to_model.go, alpha/action/render.go
 */
export function renderCatalogBundle(files: BundleFiles, imageOf: (identity: BundleIdentity) => string): CatalogBundle {
  const found = readBundleObjects(files);
  const { csv, objects } = found;
  const name = getTextMember(getObjectAt(csv, "metadata"), "name");
  const provided = providedApis(objects, csv);
  naming(`error checking provided apis in bundle ${truncateExcerpt(name)}: `, () => checkOwnedApis(provided, csv));
  const metadata = readBundleMetadata(files, findBundleFolders(files).metadata);
  const annotated = naming("failed to derive properties: ", () => readAnnotations(csv));
  const stated = [...metadata.properties, ...annotated.properties];
  const own = ownProperty(stated, metadata.packageName, name, csv);
  const version = getTextMember(own.value as JsonObject, "version");
  const image = imageOf({ packageName: metadata.packageName, name, version });
  const properties = [
    own,
    ...stated.filter(({ type }) => type !== "olm.package" && type !== "olm.gvk"),
    ...apiProperties("olm.gvk", [...stated.flatMap(statedApi), ...provided]),
    ...requiredProperties(metadata.required, csv),
  ];
  const blob = {
    schema: "olm.bundle",
    name,
    package: metadata.packageName,
    image,
    properties: [...sortProperties(properties), ...sortProperties(objectProperties(found))],
    relatedImages: naming(`get related images for bundle ${goQuote(name)}: `, () => listRelatedImages(csv, image)),
  };
  const warnings = [...found.warnings, ...metadata.warnings, ...annotated.warnings];
  return { meta: { schema: blob.schema, name, package: blob.package, blob: withoutEmpty(blob) }, csv, warnings };
}

/** Omits empty `name`, `package` and `listRelatedImages`, like opm. */
function withoutEmpty(blob: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(blob).filter(([key, value]) => key === "image" || (value !== "" && !(Array.isArray(value) && value.length === 0))),
  );
}

function readAnnotations(csv: JsonObject): { properties: Property[]; warnings: string[] } {
  const text = findMember(getObjectAt(getObjectAt(csv, "metadata"), "annotations"), "olm.properties");
  return typeof text === "string" ? parseAnnotatedProperties(text) : { properties: [], warnings: [] };
}

/** Returns the property olm.package from `stated`. If missing, creates it from the package and version of the bundle. */
function ownProperty(stated: readonly Property[], packageName: string, bundle: string, csv: JsonObject): Property {
  const given = stated.find(({ type, value }) => type === "olm.package" && typeof value === "object" && value !== null);
  if (given) {
    const value = given.value as JsonObject;
    return packageProperty(getTextMember(value, "packageName"), getTextMember(value, "version"), getTextMember(value, "release"));
  }
  const spec = getObjectAt(csv, "spec");
  const [version, release] = [statedText(spec, "version"), statedText(spec, "release")];
  const annotations = getObjectAt(getObjectAt(csv, "metadata"), "annotations");
  if (release !== "" || getTextMember(annotations, SUBSTITUTES_FOR) === "") return packageProperty(packageName, version, release);
  const plus = version.indexOf("+");
  if (plus < 0)
    throw new Error(
      `failed to derive properties: bundle ${goQuote(bundle)} error: no release version expressed as build metadata: ${goQuote(version)}`,
    );
  return packageProperty(packageName, version.slice(0, plus), version.slice(plus + 1));
}

function packageProperty(packageName: string, version: string, release: string): Property {
  return { type: "olm.package", value: { packageName, version, ...(release === "" ? {} : { release }) } };
}

function statedApi({ type, value }: Property): ApiKey[] {
  if (type !== "olm.gvk" || typeof value !== "object" || value === null) return [];
  const [group, version, kind] = ["group", "version", "kind"].map((key) => getTextMember(value as JsonObject, key));
  return [{ group: group ?? "", version: version ?? "", kind: kind ?? "", plural: "" }];
}

function requiredProperties(required: readonly Property[], csv: JsonObject): Property[] {
  const fromCsv = naming("get required apis: ", () => apiProperties("olm.gvk.required", requiredApis(csv)));
  const known = new Set(required.filter(({ type }) => type === "olm.gvk.required").map(getSortKey));
  return [...required, ...fromCsv.filter((property) => !known.has(getSortKey(property)))];
}

/** Returns a property for each distinct API. */
function apiProperties(type: string, apis: readonly ApiKey[]): Property[] {
  const properties = apis.map(({ group, kind, version }): Property => ({ type, value: { group, kind, version } }));
  return [...new Map(properties.map((property) => [getSortKey(property), property])).values()];
}

function objectProperties({ objects }: BundleObjects): Property[] {
  return objects.map((object) => ({ type: OBJECT, value: { data: Buffer.from(encodeGoJson(object)).toString("base64") } }));
}

/** Sorts properties by type, then by the bytes of the value. Removes duplicates. */
function sortProperties(properties: readonly Property[]): Property[] {
  const keyed = properties.map((property) => ({ property, key: Buffer.from(getSortKey(property)) }));
  const distinct = [...new Map(keyed.map((item) => [`${item.property.type} ${item.key.toString()}`, item])).values()];
  const compared = distinct.sort((a, b) => compareUtf8(a.property.type, b.property.type) || Buffer.compare(a.key, b.key));
  return compared.map(({ property }) => property);
}

function getSortKey({ value }: Property): string {
  return encodeGoJson(value, { sortKeys: false, escapeHtml: false });
}

function statedText(spec: JsonObject, key: string): string {
  const value = spec[key];
  if (value === undefined || value === null || typeof value === "string") return value ?? "";
  throw new Error(`failed to derive properties: spec.${key}: ${formatWrongKind(value, "a string")}`);
}

function naming<T>(prefix: string, work: () => T): T {
  try {
    return work();
  } catch (err) {
    throw new Error(`${prefix}${getErrorMessage(err)}`, { cause: err });
  }
}

const ACTION = /\{\{([^{}]*)\}\}/g;
const FIELDS: ReadonlyMap<string, keyof BundleIdentity> = new Map([
  [".Package", "packageName"],
  [".Name", "name"],
  [".Version", "version"],
]);

/**
 * Parses a template for image references such as `quay.io/example/{{.Package}}:v{{.Version}}`. Also supports `.Name`.
 * @throws Error for other expressions in braces.
 */
export function parseImageTemplate(template: string): (identity: BundleIdentity) => string {
  for (const [, action = ""] of template.matchAll(ACTION)) parseField(action);
  if (/\{\{|\}\}/.test(template.replaceAll(ACTION, "")))
    throw new Error(`image reference template ${goQuote(template)}: unbalanced braces`);
  return (identity) => template.replaceAll(ACTION, (_, action: string) => identity[parseField(action)]);
}

function parseField(action: string): keyof BundleIdentity {
  const field = FIELDS.get(action.trim());
  if (field !== undefined) return field;
  throw new Error(`image reference template: ${goQuote(action.trim())} is not one of ${[...FIELDS.keys()].join(", ")}`);
}
