import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import { messageOf, terminalIn } from "../errors/errors.ts";
import { goJson } from "../fbc/canonical.ts";
import { excerpt } from "../fbc/excerpt.ts";
import { memberOf } from "../fbc/keys.ts";
import { kindOf, wrongKind } from "../fbc/meta.ts";
import type { Property } from "../fbc/types.ts";
import type { NameCount } from "./bundleLimits.ts";
import type { BundleFiles, DeclaredDependencies } from "./types.ts";
import { unwrapped } from "./unwrapped.ts";
import { type OnMember, yamlDocument } from "./yamlText.ts";

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
  if (!Array.isArray(items)) throw new Error(`dependencies: expected a list, got ${kindOf(items)}`);
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
  const order = (a: Property, b: Property): number => compare(a.type, b.type) || compare(keys.get(a) ?? "", keys.get(b) ?? "");
  return { properties: [...properties.values()].sort(order), faults };
}

function requiredBy(item: unknown): Property {
  if (!isObject(item)) throw new Error(`: expected an object, got ${kindOf(item)}`);
  const dependency = unwrapped(item);
  const type = text(dependency, "type", "");
  const value = memberOf(dependency, "value") ?? null;
  if (type === "") throw new Error(".type: must be set");
  if (type !== "olm.package" && type !== "olm.gvk") return { type, value };
  if (!isObject(value)) throw new Error(`.value: expected an object, got ${kindOf(value)}`);
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

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
