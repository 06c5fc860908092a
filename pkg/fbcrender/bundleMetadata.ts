import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { sortedKeys } from "../bundle/goTypes.ts";
import { dependenciesIn, rawProperties, unwrapped } from "../bundle/properties.ts";
import type { BundleFiles } from "../bundle/types.ts";
import { messageOf } from "../errors/errors.ts";
import { memberOf } from "../fbc/keys.ts";
import { withNumberTokens } from "../fbc/numberTokens.ts";
import type { Property } from "../fbc/types.ts";
import { filesDirectlyIn, firstDocument } from "./bundleObjects.ts";

const PACKAGE_KEY = "operators.operatorframework.io.bundle.package.v1";
const CHANNELS_KEY = "operators.operatorframework.io.bundle.channels.v1";
const DEFAULT_CHANNEL_KEY = "operators.operatorframework.io.bundle.channel.default.v1";

/** What the metadata folder of a bundle says, in files of any name. */
export interface BundleMetadata {
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
 * @see catalog-and-resolution.md 5.7; operator-registry v1.73 pkg/registry/parse.go, addMetadata
 */
export function bundleMetadata(files: BundleFiles, metadata: string): BundleMetadata {
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
  const property = unwrapped(item);
  const type = memberOf(property, "type");
  return typeof type === "string" ? [{ type, value: sortedKeys(memberOf(property, "value") ?? null) }] : [];
}
