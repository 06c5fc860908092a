import { isObject } from "../api/jsonObject.ts";
import type { RawObject } from "./decodeSchema.ts";

/** More levels and parts than these no schema has that an API server takes. */
const MAX_LEVELS = 400;
const MAX_PARTS = 500_000;

/** Lists and maps of schemas, and how a path names one of them. */
type Walk = (schema: unknown, path: string) => void;

/**
 * Every schema in `root` by its path: `^` for the root, then `.name` for a property, `.items` for the elements of a list,
 * `.additionalProperties` for the values of a map, `.allOf[0]` and so on for alternatives. Where two schemas have one path the later counts.
 * @param root not larger than `sizeFault` allows.
 */
function flatten(root: unknown): Map<string, RawObject> {
  const nodes = new Map<string, RawObject>();
  const walk: Walk = (schema, path) => {
    if (!isObject(schema)) return;
    nodes.set(path, schema);
    const { items, not, additionalProperties, additionalItems } = schema;
    if (Array.isArray(items)) for (const [index, one] of items.entries()) walk(one, `${path}.items[${index}]`);
    else walk(items, `${path}.items`);
    for (const holder of ["allOf", "anyOf", "oneOf"]) {
      const list = schema[holder];
      if (Array.isArray(list)) for (const [index, one] of list.entries()) walk(one, `${path}.${holder}[${index}]`);
    }
    walk(not, `${path}.not`);
    for (const [name, one] of membersOf(schema["properties"])) walk(one, `${path}.${name}`);
    walk(additionalProperties, `${path}.additionalProperties`);
    for (const [name, one] of membersOf(schema["patternProperties"])) walk(one, `${path}.patternProperties[${name}]`);
    walk(additionalItems, `${path}.additionalItems`);
    for (const [name, one] of membersOf(schema["definitions"])) walk(one, `${path}.definitions[${name}]`);
    for (const [name, one] of membersOf(schema["dependencies"])) walk(one, `${path}.dependencies[${name}]`);
  };
  walk(root, "^");
  return nodes;
}

/** A schema by paths, or why it is too large for that. */
export type FlatSchema = { readonly nodes: ReadonlyMap<string, RawObject> } | { readonly tooLarge: string };

/** `root` as `flatten` gives it, if it is not too large. */
export function flatSchema(root: unknown): FlatSchema {
  const tooLarge = sizeFault(root);
  return tooLarge === undefined ? { nodes: flatten(root) } : { tooLarge };
}

/** Why a schema is too large to be compared; undefined when it is not. A schema that contains itself has no end of levels. */
export function sizeFault(root: unknown): string | undefined {
  let parts = 0;
  const level = (value: unknown, depth: number): boolean => {
    if (++parts > MAX_PARTS) return false;
    if (typeof value !== "object" || value === null) return true;
    if (depth > MAX_LEVELS) return false;
    const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    return members.every((member) => level(member, depth + 1));
  };
  if (level(root, 0)) return undefined;
  return parts > MAX_PARTS ? `it has more than ${MAX_PARTS} parts` : `it is nested deeper than ${MAX_LEVELS} levels`;
}

function membersOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}
