import { YAMLException } from "js-yaml";
import type { JsonObject } from "../../api/k8s.ts";
import { ANNOTATIONS_FILE, type BundleFolders, chooseFolders, readAnnotationsFile } from "../../bundle/annotations.ts";
import { sortKeys } from "../../bundle/goTypes.ts";
import { parseRawProperties, readDependencies, unwrapProperty } from "../../bundle/properties.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { keepNumberTokens } from "../../golang/json.ts";
import { findMember, isObject } from "../../golang/members.ts";
import { parseYamlDocuments } from "../../golang/yaml.ts";
import { countValues } from "../../golang/yamlDocument.ts";
import { formatList } from "../../text/lists.ts";
import { truncateExcerpt } from "../../text/truncate.ts";

const CSV = "ClusterServiceVersion";
/** Maximum values of a document. The largest real manifests have about 100,000. Values of an anchor count once for each alias. */
const MAX_VALUES = 500_000;
/** Maximum warnings in an error. */
const MAX_WARNINGS = 3;

/** The manifests of a bundle that opm adds to a catalog. */
export interface BundleObjects {
  /** The first object of each file, sorted by file name. Contains only the first ClusterServiceVersion. */
  readonly objects: readonly JsonObject[];
  readonly csv: JsonObject;
  /** One sentence for each skipped part. */
  readonly warnings: readonly string[];
}

/** Returns the folders in the bundle annotations. If the annotations cannot be read or a folder does not exist, returns the default folders. */
export function findBundleFolders(files: BundleFiles): BundleFolders {
  const annotations = files.get(ANNOTATIONS_FILE);
  try {
    if (annotations) return chooseFolders(files.keys(), readAnnotationsFile(annotations));
  } catch {
    // Invalid annotations are reported elsewhere.
  }
  return { manifests: "manifests", metadata: "metadata" };
}

/**
 * Reads the manifests of a bundle: the first document of each file. Skips files whose names begin with a dot. Skips files without an object with a
 * kind, with a warning.
 * @throws Error `no bundle objects found` and `no csv in bundle`.
 * @see C-20; operator-registry v1.73.0 pkg/registry/parse.go, addManifests
 */
export function readBundleObjects(files: BundleFiles): BundleObjects {
  const objects: JsonObject[] = [];
  const warnings: string[] = [];
  let csv: JsonObject | undefined;
  for (const path of filesDirectlyIn(files, findBundleFolders(files).manifests)) {
    if (path.slice(path.lastIndexOf("/") + 1).startsWith(".")) continue;
    const object = objectIn(path, files, warnings);
    if (object === undefined) continue;
    const isCsv = object["kind"] === CSV;
    if (isCsv && csv !== undefined) {
      warnings.push(`${path}: skipped, because the bundle already has a ${CSV}`);
      continue;
    }
    if (isCsv) csv = object;
    objects.push(object);
  }
  if (objects.length === 0) throw new Error(`no bundle objects found${formatWarnings(warnings)}`);
  if (csv === undefined) throw new Error(`no csv in bundle${formatWarnings(warnings)}`);
  return { objects, csv, warnings };
}

/** Parses the first non-empty document. @throws Error for invalid YAML, or if the document with expanded aliases has more than MAX_VALUES values. */
export function parseFirstDocument(content: Uint8Array): { document: unknown; count: number } {
  const documents = parseYamlDocuments(new TextDecoder().decode(content)).filter((document) => document !== null);
  const document = documents[0] ?? null;
  if (countValues(document, 0, MAX_VALUES) > MAX_VALUES) throw new Error(`the document contains more than ${MAX_VALUES} values`);
  return { document, count: documents.length };
}

/** Returns the paths of the files directly in `folder`, in the order of their names. */
function filesDirectlyIn(files: BundleFiles, folder: string): string[] {
  const inside = `${folder}/`;
  return [...files.keys()].filter((path) => path.startsWith(inside) && !path.slice(inside.length).includes("/")).sort();
}

/** Formats warnings that can explain an error. */
function formatWarnings(warnings: readonly string[]): string {
  return warnings.length === 0 ? "" : `; ${formatList(warnings, { max: MAX_WARNINGS, separator: "; " })}`;
}

function objectIn(path: string, files: BundleFiles, warnings: string[]): JsonObject | undefined {
  try {
    const { document, count } = parseFirstDocument(files.get(path) ?? new Uint8Array());
    if (!isObject(document) || typeof document["kind"] !== "string" || document["kind"] === "") {
      warnings.push(`${path}: skipped, because the file contains no object with a kind`);
      return undefined;
    }
    if (count > 1) warnings.push(`${path}: only the first of ${count} documents is added to the catalog`);
    return document;
  } catch (err) {
    const fault = err instanceof YAMLException ? `line ${(err.mark?.line ?? 0) + 1}: ${err.reason}` : getErrorMessage(err);
    warnings.push(`${path}: skipped, because the file cannot be read: ${truncateExcerpt(fault)}`);
    return undefined;
  }
}

const PACKAGE_KEY = "operators.operatorframework.io.bundle.package.v1";
const CHANNELS_KEY = "operators.operatorframework.io.bundle.channels.v1";
const DEFAULT_CHANNEL_KEY = "operators.operatorframework.io.bundle.channel.default.v1";

/** The content of the metadata folder of a bundle. Its files can have any name. */
export interface MetadataFolder {
  readonly packageName: string;
  /** From the properties file. */
  readonly properties: readonly Property[];
  /** From the dependencies file, converted to properties. */
  readonly required: readonly Property[];
  readonly warnings: readonly string[];
}

/**
 * Reads the files in folder `metadata`. File names are arbitrary: uses the first file of each kind.
 * @throws Error `Could not find annotations file`.
 * @see C-20; operator-registry v1.73.0 pkg/registry/parse.go, addMetadata
 */
export function readBundleMetadata(files: BundleFiles, metadata: string): MetadataFolder {
  const documents = filesDirectlyIn(files, metadata).flatMap((path) => documentIn(files.get(path)));
  const annotations = documents.map((document) => findMember(document, "annotations")).find(identifiesBundle);
  if (annotations === undefined) throw new Error("Could not find annotations file");
  const properties = documents.map((document) => findMember(document, "properties")).find((list) => Array.isArray(list) && list.length > 0);
  const { properties: required, faults } = readDependencies(files, metadata);
  return {
    packageName: textIn(annotations, PACKAGE_KEY),
    properties: (Array.isArray(properties) ? properties : []).flatMap(propertyIn),
    required,
    warnings: faults.map((fault) => `skipped: ${fault}`),
  };
}

/** Parses the annotation `olm.properties` of the CSV. Returns a warning and no properties if it is not a list of properties. */
export function parseAnnotatedProperties(text: string): { properties: Property[]; warnings: string[] } {
  try {
    const properties = parseRawProperties(text).map(({ type, value }) => ({ type, value: parsedValue(type, value) }));
    return { properties, warnings: [] };
  } catch (err) {
    return { properties: [], warnings: [`skipped annotation olm.properties of the ClusterServiceVersion: ${getErrorMessage(err)}`] };
  }
}

/** Parses the value of a property. A number in olm.maxOpenShiftVersion keeps its digits. */
function parsedValue(type: string, value: string): unknown {
  const text = `{"properties":[{"type":${JSON.stringify(type)},"value":${value === "" ? "null" : value}}]}`;
  const { properties } = keepNumberTokens(JSON.parse(text), text) as { properties: [{ value: unknown }] };
  return properties[0].value;
}

function documentIn(content: Uint8Array | undefined): JsonObject[] {
  try {
    const { document } = parseFirstDocument(content ?? new Uint8Array());
    return isObject(document) ? [document] : [];
  } catch {
    return [];
  }
}

function identifiesBundle(annotations: unknown): boolean {
  return [PACKAGE_KEY, CHANNELS_KEY, DEFAULT_CHANNEL_KEY].some((key) => textIn(annotations, key) !== "");
}

function textIn(annotations: unknown, key: string): string {
  const value = isObject(annotations) ? findMember(annotations, key) : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function propertyIn(item: unknown): Property[] {
  if (!isObject(item)) return [];
  const property = unwrapProperty(item);
  const type = findMember(property, "type");
  return typeof type === "string" ? [{ type, value: sortKeys(findMember(property, "value") ?? null) }] : [];
}
