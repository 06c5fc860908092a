import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";

const INDEX = /^(\d+|\*)$/;

/**
 * Whether objects of the schema can have something at a descriptor's path, such as `tls.hosts[0].name`. Where the schema lets anything through,
 * anything can be.
 */
export function schemaAllows(schema: unknown, path: string): boolean {
  const parts = path
    .replaceAll(/\[["']?([^[\]"']*)["']?\]/g, ".$1.")
    .split(".")
    .filter((part) => part !== "");
  return allows(schema, parts);
}

function allows(schema: unknown, parts: readonly string[]): boolean {
  const [part, ...rest] = parts;
  if (part === undefined || !isObject(schema)) return true;
  const { properties, additionalProperties, items } = schema;
  if (isObject(items)) return allows(items, INDEX.test(part) ? rest : parts);
  if (isObject(properties) && Object.hasOwn(properties, part)) return allows(properties[part], rest);
  if (isObject(properties) && nested(properties, parts)) return true;
  // Tools that make descriptors of Go's types leave the keys of maps out.
  if (isObject(additionalProperties)) return allows(additionalProperties, rest) || allows(additionalProperties, parts);
  return isOpen(schema);
}

/** Keys may hold dots themselves. */
function nested(properties: JsonObject, parts: readonly string[]): boolean {
  for (let count = 2; count <= parts.length; count++) {
    const key = parts.slice(0, count).join(".");
    if (Object.hasOwn(properties, key)) return allows(properties[key], parts.slice(count));
  }
  return false;
}

/** Whether the schema says nothing about its members. */
function isOpen(schema: JsonObject): boolean {
  const { type, properties, additionalProperties } = schema;
  if (schema["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true) return true;
  return properties === undefined && (type === "object" || type === undefined || type === "");
}
