import { isObject } from "../api/jsonObject.ts";
import type { JsonObject } from "../api/k8s.ts";
import type { YamlPath } from "../fbc/yamlLines.ts";
import { pathText } from "./pathText.ts";

/** What is wrong with one node of a schema. */
export interface StructuralFault {
  /** From the root of the schema. */
  readonly path: YamlPath;
  readonly message: string;
}

/** Members that JSON Schema has and schemas of CRDs may not have. */
const FORBIDDEN = ["$ref", "id", "definitions", "dependencies", "patternProperties", "additionalItems"];
const TYPES = new Set(["object", "array", "string", "integer", "number", "boolean"]);
/** Deeper than this nothing is looked at. */
const MAX_DEPTH = 200;

/**
 * Why the schema of a version of a CRD is not structural, the basics only: types, forbidden members, `properties` beside `additionalProperties`,
 * lists without `items` of one schema, keys of lists that are maps.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export function structuralFaults(schema: unknown): StructuralFault[] {
  const faults: StructuralFault[] = [];
  if (isObject(schema)) visit(schema, [], faults);
  return faults;
}

function visit(schema: JsonObject, path: YamlPath, faults: StructuralFault[]): void {
  if (path.length > MAX_DEPTH) return;
  const add = (message: string): void => {
    faults.push({ path, message: path.length === 0 ? `the schema ${message}` : `${pathText(path)} ${message}` });
  };
  const { type, properties, additionalProperties, items } = schema;
  const hasType = typeof type === "string" && type !== "";
  const isUntyped = schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (!hasType && !isUntyped) add("has no type");
  if (hasType && !TYPES.has(type)) add(`has type "${type}", which there is not`);
  if (path.length === 0 && hasType && type !== "object") add("is no object");
  for (const member of FORBIDDEN) if (!isEmpty(schema[member])) add(`has ${member}, which schemas of CRDs may not have`);
  if (schema["uniqueItems"] === true) add("has uniqueItems: true, which schemas of CRDs may not have");
  if (!isEmpty(properties) && (isObject(additionalProperties) || additionalProperties === false))
    add("has both properties and additionalProperties");
  if (type === "array" && !isObject(items)) add("is a list without one schema for its items");
  if (schema["x-kubernetes-list-type"] === "map" && isEmpty(schema["x-kubernetes-list-map-keys"]))
    add("is a list of type map without x-kubernetes-list-map-keys");
  if (isObject(properties))
    for (const [name, property] of Object.entries(properties))
      if (isObject(property)) visit(property, [...path, "properties", name], faults);
  if (isObject(additionalProperties)) visit(additionalProperties, [...path, "additionalProperties"], faults);
  if (isObject(items)) visit(items, [...path, "items"], faults);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
