import { ANNOTATION_PROPERTIES } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { findTerminalError, getErrorMessage } from "../errors/errors.ts";
import type { Property } from "../fbc/types.ts";
import { describeKind, formatWrongKind } from "../fbc/wrongKind.ts";
import { encodeGoJson, findStringEnd } from "../golang/json.ts";
import { findGoJsonFault } from "../golang/jsonSyntax.ts";
import { findMember, isObject } from "../golang/members.ts";
import { createJsonMismatch, getGoKind } from "../golang/types.ts";
import { type OnMember, parseYamlDocument } from "../golang/yamlDocument.ts";
import { compareText } from "../text/compare.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { sortKeys } from "./goTypes.ts";
import type { NameCount } from "./limits.ts";
import type { BundleFiles, Csv, DeclaredDependencies } from "./types.ts";

/**
 * Unwraps an item of a list of properties or dependencies that is nested in a field `property`, such as `- property: {type: color, value: red}`.
 * Returns an item with its own type unchanged.
 */
export function unwrapProperty(item: JsonObject): JsonObject {
  const inner = findMember(item, "property");
  return isObject(inner) && findMember(item, "type") === undefined ? inner : item;
}

const MAX_BYTES = 1024 * 1024;
const MAX_DEPENDENCIES = 512;
const MAX_FAULTS = 20;

/**
 * Reads the dependencies of a bundle as the properties that `opm render` adds to a catalog. `olm.package` becomes `olm.package.required`, `olm.gvk`
 * becomes `olm.gvk.required` without duplicates, and other types are kept. Sorted by type, then by value. The file can have any name in folder
 * `metadata`; uses the first file with dependencies. Reports invalid files and items as faults. A bundle with faults is still installed, as in Go.
 * @param memberNames counts the field names in the files. @throws TerminalError like `NameCount.add`.
 * @see operator-registry v1.63.0 pkg/registry/parse.go, addMetadata; pkg/registry/registry_to_model.go
 */
export function readDependencies(files: BundleFiles, metadata = "metadata", memberNames?: NameCount): DeclaredDependencies {
  const inside = `${metadata}/`;
  const names = [...files.keys()].filter((path) => path.startsWith(inside) && !path.slice(inside.length).includes("/"));
  const faults: string[] = [];
  for (const path of names.sort()) {
    try {
      const items = itemsIn(files.get(path) ?? new Uint8Array(), (name) => memberNames?.add(path, name));
      if (items.length > 0) return convertDependencies(path, items);
    } catch (err) {
      if (findTerminalError(err)) throw err;
      if (path === `${inside}dependencies.yaml`) faults.push(`${path}: ${getErrorMessage(err)}`);
    }
  }
  return { properties: [], faults };
}

/** Reads the list `dependencies`; empty if there is none. @throws Error if the file is invalid. */
function itemsIn(content: Uint8Array, onMember: OnMember): readonly unknown[] {
  if (content.byteLength > MAX_BYTES) throw new Error(`the file is too large: ${content.byteLength} bytes, maximum ${MAX_BYTES}`);
  const document = parseYamlDocument(new TextDecoder().decode(content), onMember);
  const items = isObject(document) ? findMember(document, "dependencies") : undefined;
  if (items === undefined || items === null) return [];
  if (!Array.isArray(items)) throw new Error(`dependencies: expected a list, got ${describeKind(items)}`);
  if (items.length > MAX_DEPENDENCIES) throw new Error(`dependencies: too many items: ${items.length}, maximum ${MAX_DEPENDENCIES}`);
  return items;
}

function convertDependencies(path: string, items: readonly unknown[]): DeclaredDependencies {
  const properties = new Map<string, Property>();
  const faults: string[] = [];
  for (const [i, item] of items.entries()) {
    try {
      const property = toRequiredProperty(item);
      // Only APIs are deduplicated, as in opm.
      properties.set(property.type === "olm.gvk.required" ? encodeGoJson(property.value) : `${i}`, property);
    } catch (err) {
      if (faults.length < MAX_FAULTS) faults.push(`${path}: dependencies[${i}]${getErrorMessage(err)}`);
    }
  }
  const keys = new Map([...properties.values()].map((property) => [property, encodeGoJson(property.value)]));
  const order = (a: Property, b: Property): number => compareText(a.type, b.type) || compareText(keys.get(a) ?? "", keys.get(b) ?? "");
  return { properties: [...properties.values()].sort(order), faults };
}

function toRequiredProperty(item: unknown): Property {
  if (!isObject(item)) throw new Error(`: expected an object, got ${describeKind(item)}`);
  const dependency = unwrapProperty(item);
  const type = text(dependency, "type", "");
  const value = findMember(dependency, "value") ?? null;
  if (type === "") throw new Error(".type: must be set");
  if (type !== "olm.package" && type !== "olm.gvk") return { type, value };
  if (!isObject(value)) throw new Error(`.value: expected an object, got ${describeKind(value)}`);
  if (type === "olm.gvk") {
    const [group, kind, version] = ["group", "kind", "version"].map((key) => text(value, key, ".value"));
    return { type: "olm.gvk.required", value: { group, kind, version } };
  }
  const packageName = text(value, "packageName", ".value") || text(value, "name", ".value");
  const versionRange = text(value, "version", ".value") || text(value, "versionRange", ".value");
  return { type: "olm.package.required", value: { packageName, versionRange } };
}

/** Reads a text; empty if it is missing, as in Go. */
function text(object: JsonObject, key: string, at: string): string {
  const value = findMember(object, key) ?? "";
  if (typeof value === "string") return value;
  throw new Error(`${at}.${key}: ${truncateExcerpt(formatWrongKind(value, "a string"))}`);
}

const SPACE = /[ \t\r\n]/;
const ESCAPED = /[<>&\u2028\u2029]/g;

/** A property with its value as JSON text, so that the number 4.10 keeps its digits. Empty if there is no value. */
export interface RawProperty {
  readonly type: string;
  readonly value: string;
}

/**
 * Parses the annotation `olm.properties`; empty for the text `null`. As in Go, keys are case-insensitive, the last of duplicate keys takes
 * precedence, and a null property or type is empty.
 * @throws Error of encoding/json if the text is not a JSON list of properties. It quotes at most one character of the text.
 */
export function parseRawProperties(text: string): RawProperty[] {
  const fault = findGoJsonFault(text);
  if (fault !== undefined) throw new Error(fault);
  const list = text.trim();
  if (list === "null") return [];
  if (!list.startsWith("[")) throw createJsonMismatch(sample(list), "[]property.Property");
  return splitTokens(list).map(parseProperty);
}

/** Formats properties like Go's `json.Marshal`: removes white space between tokens of values and keeps their text otherwise. */
function formatProperties(properties: readonly RawProperty[]): string {
  if (properties.length === 0) return "null";
  const items = properties.map(({ type, value }) => `{"type":${encodeGoJson(type)},"value":${value === "" ? "null" : compactJson(value)}}`);
  return `[${items.join(",")}]`;
}

function parseProperty(item: string): RawProperty {
  const property = { type: "", value: "" };
  if (item === "null") return property;
  if (!item.startsWith("{")) throw createJsonMismatch(sample(item), "property.Property");
  const parts = splitTokens(item);
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const name = String(JSON.parse(parts[i] ?? "")).toLowerCase();
    const value = parts[i + 1] ?? "";
    if (name === "value") property.value = value;
    if (name !== "type" || value === "null") continue;
    if (!value.startsWith('"')) throw createJsonMismatch(sample(value), "string").within("Property", "type");
    property.type = String(JSON.parse(value));
  }
  return property;
}

/** Returns an example value with the type of a JSON token. */
function sample(token: string): unknown {
  if (token.startsWith("{")) return {};
  if (token.startsWith("[")) return [];
  if (token.startsWith('"')) return "";
  return token === "true" || token === "false" ? token === "true" : 0;
}

/** Splits a valid JSON object or list into its elements, or into alternating keys and values. */
function splitTokens(json: string): string[] {
  const parts: string[] = [];
  const end = json.length - 1;
  let depth = 0;
  let start = 1;
  for (let at = 1; at <= end; at++) {
    const char = json[at];
    if (char === '"') at = findStringEnd(json, at);
    else if (char === "{" || char === "[") depth++;
    else if (depth === 0 && (char === "," || char === ":" || at === end)) {
      const part = json.slice(start, at).trim();
      if (part !== "") parts.push(part);
      start = at + 1;
    } else if (char === "}" || char === "]") depth--;
  }
  return parts;
}

/** Removes white space from valid JSON and escapes `<`, `>`, `&` and the two line separators as Go does. */
function compactJson(json: string): string {
  let text = "";
  let start = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] === '"') at = findStringEnd(json, at);
    else if (SPACE.test(json[at] ?? "")) {
      text += json.slice(start, at);
      start = at + 1;
    }
  }
  return (text + json.slice(start)).replace(ESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const CSV_ANNOTATION = "csv.metadata.annotations['olm.properties']";

/**
 * Appends the properties in the file at `path`, such as "metadata/properties.yaml", to the annotation `olm.properties` of the CSV. If the file is
 * missing or empty, only checks the annotation. Items of the file can be nested in a field `property`. Numbers in the annotation keep their
 * digits, such as 4.10. Numbers in the file become floating-point numbers: 4.10 becomes 4.1 and 5.0 becomes 5.
 * @param names counts the field names in the file. @throws Error if the file or the annotation is invalid.
 */
export function addProperties(csv: Csv, path: string, files: BundleFiles, names?: NameCount): void {
  const properties = annotatedProperties(csv);
  const file = files.get(path);
  if (!file || file.byteLength === 0) return;
  properties.push(
    ...withContext(path, () => propertiesIn(parseYamlDocument(new TextDecoder().decode(file), (name) => names?.add(path, name)))),
  );
  csv.metadata.annotations = sortKeys({ ...csv.metadata.annotations, [ANNOTATION_PROPERTIES]: formatProperties(properties) }) as Record<
    string,
    string
  >;
}

function annotatedProperties(csv: Csv): RawProperty[] {
  const text = csv.metadata.annotations?.[ANNOTATION_PROPERTIES];
  return text === undefined ? [] : withContext(CSV_ANNOTATION, () => parseRawProperties(text));
}

/** Reads the list `properties` of a parsed file. */
function propertiesIn(document: unknown): RawProperty[] {
  try {
    if (document === null) return [];
    if (getGoKind(document) !== "map") throw createJsonMismatch(document, "source.RegistryV1Properties");
    const properties = findMember(document as JsonObject, "properties") ?? null;
    const items = Array.isArray(properties)
      ? properties.map((item: unknown) => (isObject(item) ? unwrapProperty(item) : item))
      : properties;
    return parseRawProperties(encodeGoJson(items));
  } catch (err) {
    throw new Error(`error unmarshaling JSON: while decoding JSON: ${getErrorMessage(err)}`, { cause: err });
  }
}

function withContext<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (err) {
    throw new Error(`failed to unmarshal ${what}: ${getErrorMessage(err)}`, { cause: err });
  }
}
