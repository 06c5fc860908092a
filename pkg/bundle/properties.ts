import { ANNOTATION_PROPERTIES } from "../api/constants.ts";
import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { messageOf } from "../errors/errors.ts";
import { goJson } from "../fbc/canonical.ts";
import { memberOf } from "../fbc/keys.ts";
import type { NameCount } from "./bundleLimits.ts";
import { sortedKeys } from "./goSpecial.ts";
import { jsonMismatch, kindOf } from "./goValues.ts";
import { propertiesText, type RawProperty, rawProperties } from "./propertyList.ts";
import type { BundleFiles, Csv } from "./types.ts";
import { unwrapped } from "./unwrapped.ts";
import { yamlDocument } from "./yamlText.ts";

const CSV_ANNOTATION = "csv.metadata.annotations['olm.properties']";

/**
 * Appends the properties of the file at `path`, such as "metadata/properties.yaml", to those in the CSV's annotation `olm.properties`, which is written anew;
 * without that file (or with an empty one) the annotation is only checked. Items of the file may have a member `property` around them.
 * Numbers of the annotation stay as they are written, 4.10 for one, while those of the file are read as floating point first: 4.10 becomes
 * 4.1 and 5.0 becomes 5.
 * @param names counts the names of members of the file. @throws Error when one of the two cannot be read.
 */
export function addProperties(csv: Csv, path: string, files: BundleFiles, names?: NameCount): void {
  const properties = annotated(csv);
  const file = files.get(path);
  if (!file || file.byteLength === 0) return;
  properties.push(...reading(path, () => propertiesIn(yamlDocument(new TextDecoder().decode(file), (name) => names?.add(path, name)))));
  csv.metadata.annotations = sortedKeys({ ...csv.metadata.annotations, [ANNOTATION_PROPERTIES]: propertiesText(properties) }) as Record<
    string,
    string
  >;
}

function annotated(csv: Csv): RawProperty[] {
  const text = csv.metadata.annotations?.[ANNOTATION_PROPERTIES];
  return text === undefined ? [] : reading(CSV_ANNOTATION, () => rawProperties(text));
}

/** The list under `properties` of the parsed file. */
function propertiesIn(document: unknown): RawProperty[] {
  try {
    if (document === null) return [];
    if (kindOf(document) !== "map") throw jsonMismatch(document, "source.RegistryV1Properties");
    const properties = memberOf(document as JsonObject, "properties") ?? null;
    const items = Array.isArray(properties) ? properties.map((item: unknown) => (isObject(item) ? unwrapped(item) : item)) : properties;
    return rawProperties(goJson(items));
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
