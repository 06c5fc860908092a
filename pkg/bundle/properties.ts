import { messageOf } from "../errors/errors.ts";
import { goJson } from "../fbc/canonical.ts";
import { sortedKeys } from "./goSpecial.ts";
import { jsonMismatch, kindOf } from "./goValues.ts";
import type { BundleProperty, Csv } from "./types.ts";
import { yamlDocument } from "./yamlText.ts";

const ANNOTATION = "olm.properties";
const CSV_ANNOTATION = "csv.metadata.annotations['olm.properties']";

/**
 * The properties in the CSV's annotation `olm.properties`; none when there is no such annotation.
 * @throws Error when the annotation is no JSON list of properties.
 */
export function bundleProperties(csv: Csv): BundleProperty[] {
  const text = csv.metadata.annotations?.[ANNOTATION];
  if (text === undefined) return [];
  return reading(CSV_ANNOTATION, () => propertiesFrom(parsed(text)));
}

/**
 * Appends the properties of `metadata/properties.yaml` to those in the CSV's annotation `olm.properties`, which is written anew;
 * without that file (or with an empty one) the annotation is only checked.
 * @throws Error when one of the two cannot be read.
 */
export function addProperties(csv: Csv, file: Uint8Array | undefined): void {
  const properties = bundleProperties(csv);
  if (!file || file.byteLength === 0) return;
  properties.push(...reading("metadata/properties.yaml", () => propertiesIn(yamlDocument(new TextDecoder().decode(file)))));
  const text = properties.length === 0 ? "null" : goJson(properties, { sortKeys: false });
  csv.metadata.annotations = sortedKeys({ ...csv.metadata.annotations, [ANNOTATION]: text }) as Record<string, string>;
}

/** The list under `properties` of the parsed file. */
function propertiesIn(document: unknown): BundleProperty[] {
  try {
    if (document === null) return [];
    if (kindOf(document) !== "map") throw jsonMismatch(document, "source.RegistryV1Properties");
    const { properties = null } = document as { properties?: unknown };
    return propertiesFrom(sortedKeys(properties));
  } catch (err) {
    throw new Error(`error unmarshaling JSON: while decoding JSON: ${messageOf(err)}`, { cause: err });
  }
}

function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    throw new Error(`failed to unmarshal ${what}: ${messageOf(err)}`, { cause: err });
  }
}

/** The beginning of what is no JSON is told in Go's words. */
function parsed(text: string): unknown {
  const [first] = text.trimStart();
  if (first === undefined) throw new Error("unexpected end of JSON input");
  if (!/^[-{["\dtfn]/.test(first)) throw new Error(`invalid character '${first}' looking for beginning of value`);
  return JSON.parse(text);
}

function propertiesFrom(value: unknown): BundleProperty[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw jsonMismatch(value, "[]property.Property");
  return value.map((item: unknown) => {
    const members = item === null ? {} : item;
    if (kindOf(members) !== "map") throw jsonMismatch(members, "property.Property");
    return propertyFrom(members as Readonly<Record<string, unknown>>);
  });
}

/** Keys are taken in any letter case, as Go's decoder does. */
function propertyFrom(members: Readonly<Record<string, unknown>>): BundleProperty {
  const property: BundleProperty = { type: "", value: null };
  for (const [key, value] of Object.entries(members)) {
    const name = key.toLowerCase();
    if (name === "value") property.value = value;
    if (name !== "type" || value === null) continue;
    if (typeof value !== "string") throw jsonMismatch(value, "string").within("Property", "type");
    property.type = value;
  }
  return property;
}
