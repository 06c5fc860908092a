import { ANNOTATION_PROPERTIES } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { messageOf, terminalIn } from "../errors/errors.ts";
import { describeKind, wrongKind } from "../fbc/content.ts";
import type { Property } from "../fbc/types.ts";
import { goJson, stringEnd } from "../golang/json.ts";
import { goJsonFault } from "../golang/jsonSyntax.ts";
import { isObject, memberOf } from "../golang/members.ts";
import { goKindOf, jsonMismatch } from "../golang/types.ts";
import { type OnMember, yamlDocument } from "../golang/yamlDocument.ts";
import { compareText } from "../text/compare.ts";
import { excerpt } from "../text/truncate.ts";
import { sortedKeys } from "./goTypes.ts";
import type { NameCount } from "./limits.ts";
import type { BundleFiles, Csv, DeclaredDependencies } from "./types.ts";

/**
 * An item of a list of properties or dependencies without the member `property` that some authors put around it, as in
 * `- property: {type: color, value: red}`; one that states a type of its own stays as it is.
 */
export function unwrapProperty(item: JsonObject): JsonObject {
  const inner = memberOf(item, "property");
  return isObject(inner) && memberOf(item, "type") === undefined ? inner : item;
}

const MAX_BYTES = 1024 * 1024;
const MAX_DEPENDENCIES = 512;
const MAX_FAULTS = 20;

/**
 * What the bundle's metadata says it depends on, as the properties that `opm render` puts into a catalog for it: `olm.package` becomes
 * `olm.package.required`, `olm.gvk` becomes `olm.gvk.required` (none twice), every other type stays, all ordered by type and then by value.
 * The file may have any name in folder `metadata`; the first with dependencies counts. Of a file that is no YAML, or an item that cannot be read,
 * there is a fault and nothing else: a bundle with one is rendered and installed all the same, as Go does it.
 * @param memberNames counts the names of members of the files. @throws TerminalError as `NameCount.add`.
 * @see operator-registry v1.63.0 pkg/registry/parse.go, addMetadata; pkg/registry/registry_to_model.go
 */
export function dependenciesIn(files: BundleFiles, metadata = "metadata", memberNames?: NameCount): DeclaredDependencies {
  const inside = `${metadata}/`;
  const names = [...files.keys()].filter((path) => path.startsWith(inside) && !path.slice(inside.length).includes("/"));
  const faults: string[] = [];
  for (const path of names.sort()) {
    try {
      const items = itemsIn(files.get(path) ?? new Uint8Array(), (name) => memberNames?.add(path, name));
      if (items.length > 0) return declared(path, items);
    } catch (err) {
      if (terminalIn(err)) throw err;
      if (path === `${inside}dependencies.yaml`) faults.push(`${path}: ${messageOf(err)}`);
    }
  }
  return { properties: [], faults };
}

/** The list under `dependencies`; empty where there is none. @throws Error when the text cannot be read. */
function itemsIn(content: Uint8Array, onMember: OnMember): readonly unknown[] {
  if (content.byteLength > MAX_BYTES) throw new Error(`the file has ${content.byteLength} bytes, more than the ${MAX_BYTES} that are read`);
  const document = yamlDocument(new TextDecoder().decode(content), onMember);
  const items = isObject(document) ? memberOf(document, "dependencies") : undefined;
  if (items === undefined || items === null) return [];
  if (!Array.isArray(items)) throw new Error(`dependencies: expected a list, got ${describeKind(items)}`);
  if (items.length > MAX_DEPENDENCIES)
    throw new Error(`dependencies: ${items.length} of them, more than the ${MAX_DEPENDENCIES} that are read`);
  return items;
}

function declared(path: string, items: readonly unknown[]): DeclaredDependencies {
  const properties = new Map<string, Property>();
  const faults: string[] = [];
  for (const [i, item] of items.entries()) {
    try {
      const property = requiredBy(item);
      // Only APIs are told once, as opm has it.
      properties.set(property.type === "olm.gvk.required" ? goJson(property.value) : `${i}`, property);
    } catch (err) {
      if (faults.length < MAX_FAULTS) faults.push(`${path}: dependencies[${i}]${messageOf(err)}`);
    }
  }
  const keys = new Map([...properties.values()].map((property) => [property, goJson(property.value)]));
  const order = (a: Property, b: Property): number => compareText(a.type, b.type) || compareText(keys.get(a) ?? "", keys.get(b) ?? "");
  return { properties: [...properties.values()].sort(order), faults };
}

function requiredBy(item: unknown): Property {
  if (!isObject(item)) throw new Error(`: expected an object, got ${describeKind(item)}`);
  const dependency = unwrapProperty(item);
  const type = text(dependency, "type", "");
  const value = memberOf(dependency, "value") ?? null;
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

/** Empty where there is none, as Go has it. */
function text(object: JsonObject, key: string, at: string): string {
  const value = memberOf(object, key) ?? "";
  if (typeof value === "string") return value;
  throw new Error(`${at}.${key}: ${excerpt(wrongKind(value, "a string"))}`);
}

const SPACE = /[ \t\r\n]/;
const ESCAPED = /[<>&\u2028\u2029]/g;

/** One property with its value as the text of the JSON token, so that the number 4.10 stays 4.10; the empty text where there is no value. */
export interface RawProperty {
  readonly type: string;
  readonly value: string;
}

/**
 * The properties in the text of an annotation `olm.properties`, in order; none for the text `null`. Keys are taken in any letter case, of a
 * repeated key the last one counts, a null in place of a property or of a type is an empty one, as Go's decoder has it.
 * @throws Error in the words of Go's encoding/json when the text is no JSON list of properties; at most one character of it is quoted.
 */
export function rawProperties(text: string): RawProperty[] {
  const fault = goJsonFault(text);
  if (fault !== undefined) throw new Error(fault);
  const list = text.trim();
  if (list === "null") return [];
  if (!list.startsWith("[")) throw jsonMismatch(sample(list), "[]property.Property");
  return partsOf(list).map(propertyFrom);
}

/** `properties` as Go's `json.Marshal` prints the list: values without white space around their tokens, otherwise as they are written. */
function propertiesText(properties: readonly RawProperty[]): string {
  if (properties.length === 0) return "null";
  const items = properties.map(({ type, value }) => `{"type":${goJson(type)},"value":${value === "" ? "null" : compacted(value)}}`);
  return `[${items.join(",")}]`;
}

function propertyFrom(item: string): RawProperty {
  const property = { type: "", value: "" };
  if (item === "null") return property;
  if (!item.startsWith("{")) throw jsonMismatch(sample(item), "property.Property");
  const parts = partsOf(item);
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const name = String(JSON.parse(parts[i] ?? "")).toLowerCase();
    const value = parts[i + 1] ?? "";
    if (name === "value") property.value = value;
    if (name !== "type" || value === "null") continue;
    if (!value.startsWith('"')) throw jsonMismatch(sample(value), "string").within("Property", "type");
    property.type = String(JSON.parse(value));
  }
  return property;
}

/** A value of the kind that the JSON token is of. */
function sample(token: string): unknown {
  if (token.startsWith("{")) return {};
  if (token.startsWith("[")) return [];
  if (token.startsWith('"')) return "";
  return token === "true" || token === "false" ? token === "true" : 0;
}

/** The tokens inside the brackets of `json`, a valid object or list: the elements, or keys and values by turns. */
function partsOf(json: string): string[] {
  const parts: string[] = [];
  const end = json.length - 1;
  let depth = 0;
  let start = 1;
  for (let at = 1; at <= end; at++) {
    const char = json[at];
    if (char === '"') at = stringEnd(json, at);
    else if (char === "{" || char === "[") depth++;
    else if (depth === 0 && (char === "," || char === ":" || at === end)) {
      const part = json.slice(start, at).trim();
      if (part !== "") parts.push(part);
      start = at + 1;
    } else if (char === "}" || char === "]") depth--;
  }
  return parts;
}

/** Valid JSON on one line, with `<`, `>`, `&` and the two line separators escaped as Go escapes them. */
function compacted(json: string): string {
  let text = "";
  let start = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] === '"') at = stringEnd(json, at);
    else if (SPACE.test(json[at] ?? "")) {
      text += json.slice(start, at);
      start = at + 1;
    }
  }
  return (text + json.slice(start)).replace(ESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

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
    if (goKindOf(document) !== "map") throw jsonMismatch(document, "source.RegistryV1Properties");
    const properties = memberOf(document as JsonObject, "properties") ?? null;
    const items = Array.isArray(properties)
      ? properties.map((item: unknown) => (isObject(item) ? unwrapProperty(item) : item))
      : properties;
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
