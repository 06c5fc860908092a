import { isObject } from "../golang/members.ts";
import type { YamlPath } from "../golang/yaml.ts";
import { findSimilarName } from "../text/compare.ts";
import table from "./goTypes.json" with { type: "json" };

/** A field that Go drops because the struct does not have such a field. */
export interface UnknownMember {
  readonly path: YamlPath;
  /** A similar known name. */
  readonly meant: string | undefined;
}

/** Types of fields by struct and name. */
const TYPES: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  Object.entries<readonly string[] | null>(table.types).map(([name, members]) => [
    name,
    new Map((members ?? []).map((member) => member.split(" ") as [string, string])),
  ]),
);
const SCHEMA = "apiextensions/v1.JSONSchemaProps";
/** Unions that contain schemas. */
const HOLDS_SCHEMA = /^!JSONSchemaPropsOr(Array|Bool|StringArray)$/;

/** Finds fields of a parsed value, at any depth, that the Go struct `type` does not have, in order. Ignores parts of the wrong type. */
export function findUnknownFields(type: string, value: unknown): UnknownMember[] {
  const found: UnknownMember[] = [];
  visit(type, value, [], found);
  return found;
}

function visit(type: string, value: unknown, path: YamlPath, found: UnknownMember[]): void {
  if (type.startsWith("*")) return visit(type.slice(1), value, path, found);
  if (type.startsWith("[]")) {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) visit(type.slice(2), item, [...path, i], found);
    return;
  }
  if (!isObject(value)) return;
  if (HOLDS_SCHEMA.test(type)) return visit(SCHEMA, value, path, found);
  const ofMap = type.startsWith("{}") ? type.slice(2) : undefined;
  const members = TYPES.get(type);
  if (ofMap === undefined && !members) return;
  for (const [name, item] of Object.entries(value)) {
    const itemType = ofMap ?? members?.get(name);
    if (itemType === undefined) found.push({ path: [...path, name], meant: findSimilarName(name, [...(members?.keys() ?? [])]) });
    else visit(itemType, item, [...path, name], found);
  }
}
