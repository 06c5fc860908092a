import { YAMLException } from "js-yaml";
import type { JsonObject } from "../../api/k8s.ts";
import { ANNOTATIONS_FILE, type BundleFolders, bundleAnnotations, foldersIn } from "../../bundle/annotations.ts";
import { sortedKeys } from "../../bundle/goTypes.ts";
import { dependenciesIn, rawProperties, unwrapProperty } from "../../bundle/properties.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { withNumberTokens } from "../../golang/json.ts";
import { isObject, memberOf } from "../../golang/members.ts";
import { parseYamlDocuments } from "../../golang/yaml.ts";
import { countValues } from "../../golang/yamlDocument.ts";
import { formatList } from "../../text/lists.ts";
import { excerpt } from "../../text/truncate.ts";

const CSV = "ClusterServiceVersion";
/** The largest real manifests have some 100,000; each is written out as often as an alias refers to it. */
const MAX_VALUES = 500_000;
/** Of what was passed over, that an error tells of. */
const MAX_TOLD = 3;

/** The manifests of a bundle as opm takes them into a catalog. */
export interface BundleObjects {
  /** One of each file, in the order of their names; a second ClusterServiceVersion is left out. */
  readonly objects: readonly JsonObject[];
  readonly csv: JsonObject;
  /** What was passed over, a sentence each. */
  readonly warnings: readonly string[];
}

/** The folders that a bundle keeps its files in: those that its annotations state, as far as these can be read and the folders exist. */
export function bundleFolders(files: BundleFiles): BundleFolders {
  const annotations = files.get(ANNOTATIONS_FILE);
  try {
    if (annotations) return foldersIn(files.keys(), bundleAnnotations(annotations));
  } catch {
    // What is wrong with them is no matter of where the files lie.
  }
  return { manifests: "manifests", metadata: "metadata" };
}

/**
 * The manifests of a bundle. Of a file with several documents the first counts; files whose names begin with a dot, and those that hold no object with
 * a kind, are passed over with a warning.
 * @throws Error `no bundle objects found` and `no csv in bundle`.
 * @see C-20; operator-registry v1.73.0 pkg/registry/parse.go, addManifests
 */
export function bundleObjects(files: BundleFiles): BundleObjects {
  const objects: JsonObject[] = [];
  const warnings: string[] = [];
  let csv: JsonObject | undefined;
  for (const path of filesDirectlyIn(files, bundleFolders(files).manifests)) {
    if (path.slice(path.lastIndexOf("/") + 1).startsWith(".")) continue;
    const object = objectIn(path, files, warnings);
    if (object === undefined) continue;
    const isCsv = object["kind"] === CSV;
    if (isCsv && csv !== undefined) {
      warnings.push(`${path}: a second ${CSV}, of which the first counts`);
      continue;
    }
    if (isCsv) csv = object;
    objects.push(object);
  }
  if (objects.length === 0) throw new Error(`no bundle objects found${reasons(warnings)}`);
  if (csv === undefined) throw new Error(`no csv in bundle${reasons(warnings)}`);
  return { objects, csv, warnings };
}

/** The first document in `text` that holds something. @throws Error that says why it is no YAML, or that it holds far more than its text. */
export function firstDocument(content: Uint8Array): { document: unknown; count: number } {
  const documents = parseYamlDocuments(new TextDecoder().decode(content)).filter((document) => document !== null);
  const document = documents[0] ?? null;
  if (countValues(document, 0, MAX_VALUES) > MAX_VALUES) throw new Error(`the document holds more than ${MAX_VALUES} values`);
  return { document, count: documents.length };
}

/** The paths of the files in `folder` and in none below it, in the order of their names. */
function filesDirectlyIn(files: BundleFiles, folder: string): string[] {
  const inside = `${folder}/`;
  return [...files.keys()].filter((path) => path.startsWith(inside) && !path.slice(inside.length).includes("/")).sort();
}

/** Why there may be less in a bundle than its author thinks. */
function reasons(warnings: readonly string[]): string {
  return warnings.length === 0 ? "" : `; ${formatList(warnings, { max: MAX_TOLD, separator: "; " })}`;
}

function objectIn(path: string, files: BundleFiles, warnings: string[]): JsonObject | undefined {
  try {
    const { document, count } = firstDocument(files.get(path) ?? new Uint8Array());
    if (!isObject(document) || typeof document["kind"] !== "string" || document["kind"] === "") {
      warnings.push(`${path}: it is passed over, since it holds no object with a kind`);
      return undefined;
    }
    if (count > 1) warnings.push(`${path}: of its ${count} documents only the first goes into the catalog`);
    return document;
  } catch (err) {
    const fault = err instanceof YAMLException ? `line ${(err.mark?.line ?? 0) + 1}: ${err.reason}` : messageOf(err);
    warnings.push(`${path}: it is passed over, since it cannot be read: ${excerpt(fault)}`);
    return undefined;
  }
}

const PACKAGE_KEY = "operators.operatorframework.io.bundle.package.v1";
const CHANNELS_KEY = "operators.operatorframework.io.bundle.channels.v1";
const DEFAULT_CHANNEL_KEY = "operators.operatorframework.io.bundle.channel.default.v1";

/** What the metadata folder of a bundle says, in files of any name. */
export interface MetadataFolder {
  readonly packageName: string;
  /** Of a properties file. */
  readonly properties: readonly Property[];
  /** Of a dependencies file, as the properties that they become. */
  readonly required: readonly Property[];
  readonly warnings: readonly string[];
}

/**
 * What the files in folder `metadata` say; of each kind of file the first counts, whatever it is called.
 * @throws Error `Could not find annotations file`.
 * @see C-20; operator-registry v1.73.0 pkg/registry/parse.go, addMetadata
 */
export function bundleMetadata(files: BundleFiles, metadata: string): MetadataFolder {
  const documents = filesDirectlyIn(files, metadata).flatMap((path) => documentIn(files.get(path)));
  const annotations = documents.map((document) => memberOf(document, "annotations")).find(saysWhatItIs);
  if (annotations === undefined) throw new Error("Could not find annotations file");
  const properties = documents.map((document) => memberOf(document, "properties")).find((list) => Array.isArray(list) && list.length > 0);
  const { properties: required, faults } = dependenciesIn(files, metadata);
  return {
    packageName: textIn(annotations, PACKAGE_KEY),
    properties: (Array.isArray(properties) ? properties : []).flatMap(propertyIn),
    required,
    warnings: faults.map((fault) => `it is passed over: ${fault}`),
  };
}

/** The properties in the CSV's annotation `olm.properties`; with a warning, and none, where its text is no list of properties. */
export function annotatedProperties(text: string): { properties: Property[]; warnings: string[] } {
  try {
    const properties = rawProperties(text).map(({ type, value }) => ({ type, value: parsedValue(type, value) }));
    return { properties, warnings: [] };
  } catch (err) {
    return { properties: [], warnings: [`annotation olm.properties of the ClusterServiceVersion is passed over: ${messageOf(err)}`] };
  }
}

/** A number of olm.maxOpenShiftVersion keeps its text. */
function parsedValue(type: string, value: string): unknown {
  const text = `{"properties":[{"type":${JSON.stringify(type)},"value":${value === "" ? "null" : value}}]}`;
  const { properties } = withNumberTokens(JSON.parse(text), text) as { properties: [{ value: unknown }] };
  return properties[0].value;
}

function documentIn(content: Uint8Array | undefined): JsonObject[] {
  try {
    const { document } = firstDocument(content ?? new Uint8Array());
    return isObject(document) ? [document] : [];
  } catch {
    return [];
  }
}

function saysWhatItIs(annotations: unknown): boolean {
  return [PACKAGE_KEY, CHANNELS_KEY, DEFAULT_CHANNEL_KEY].some((key) => textIn(annotations, key) !== "");
}

function textIn(annotations: unknown, key: string): string {
  const value = isObject(annotations) ? memberOf(annotations, key) : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

function propertyIn(item: unknown): Property[] {
  if (!isObject(item)) return [];
  const property = unwrapProperty(item);
  const type = memberOf(property, "type");
  return typeof type === "string" ? [{ type, value: sortedKeys(memberOf(property, "value") ?? null) }] : [];
}
