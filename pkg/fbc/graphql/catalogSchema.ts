import * as z from "zod";
import { compareText } from "../../text/compare.ts";
import { sanitizeTypeName, toQueryFieldName, withLetterFirst } from "./names.ts";

/** GraphQL scalar types. An object in place of a scalar is converted to a String with its JSON text. */
const SCALARS = ["String", "Boolean", "Int", "Float"] as const;
/** A GraphQL scalar. */
export type Scalar = (typeof SCALARS)[number];

/** A field that was discovered from keys and values. */
export const DiscoveredField = z.object({
  /** GraphQL name. */
  name: z.string(),
  /** The keys that map to this field name, in order of discovery. Usually one. */
  keys: z.array(z.string()),
  scalar: z.enum(SCALARS),
  list: z.boolean(),
});
export type DiscoveredField = z.output<typeof DiscoveredField>;

/** The discovered fields of the metas of one schema. */
export const DiscoveredSchema = z.object({
  schema: z.string(),
  totalObjects: z.int().min(0),
  /** Sorted by name. `nested` contains the fields of objects in a list. */
  fields: z.array(DiscoveredField.extend({ nested: z.array(DiscoveredField).optional() })),
  /** Whether keys were omitted because there are too many keys or they are too long. */
  incomplete: z.boolean(),
});
export type DiscoveredSchema = z.output<typeof DiscoveredSchema>;

/** A field of an object type. */
export interface PlannedField {
  readonly name: string;
  /** Keys in order of precedence: first the key that is identical to the name, then the other keys in byte order. */
  readonly keys: readonly string[];
  readonly scalar: Scalar;
  readonly list: boolean;
  /** Type of the elements, if they are objects. */
  readonly nested?: PlannedType;
  readonly description?: string;
}

/** An object type. Its name is unique and does not collide with names that GraphQL or the server use. */
export interface PlannedType {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly PlannedField[];
}

/** The query field and type for the metas of one schema. */
export interface PlannedSchema {
  readonly schema: string;
  readonly totalObjects: number;
  readonly queryField: string;
  readonly type: PlannedType;
  /** Sentences about unexpected names. */
  readonly remarks: readonly string[];
}

/** Names that the server or GraphQL reserve. */
const RESERVED_TYPES = [
  "Query",
  "Mutation",
  "Subscription",
  "CatalogSummary",
  "SchemaSummary",
  "String",
  "Int",
  "Float",
  "Boolean",
  "ID",
] as const;
const RESERVED_FIELDS = ["summary"] as const;
/** Prefix of schemas that always keep their names. */
const WELL_KNOWN = "olm.";

/**
 * Assigns unique names to all discovered schemas, types and fields. Appends a number to a name that is already used. Assigns names to schemas with
 * prefix "olm." first, then to all other schemas sorted by name, then to types of list elements. The same schemas always get the same names.
 */
export function planSchemas(discovered: readonly DiscoveredSchema[]): PlannedSchema[] {
  const types = new Names(RESERVED_TYPES);
  const fields = new Names(RESERVED_FIELDS);
  const named = [...discovered].sort(byPrecedence).map((schema) => ({
    schema,
    typeName: types.take(withLetterFirst(sanitizeTypeName(schema.schema), "Type")),
    queryField: fields.take(withLetterFirst(toQueryFieldName(schema.schema), "field")),
  }));
  return named
    .map(({ schema, typeName, queryField }) => planSchema(schema, typeName, queryField, types))
    .sort((a, b) => compareText(a.schema, b.schema));
}

function planSchema(discovered: DiscoveredSchema, typeName: string, queryField: string, types: Names): PlannedSchema {
  const { schema, totalObjects } = discovered;
  const quoted = JSON.stringify(schema);
  const fields = discovered.fields.map((field): PlannedField => {
    const own = plannedField(field);
    if (!field.nested || field.nested.length === 0) return own;
    const name = types.take(withLetterFirst(sanitizeTypeName(schema) + sanitizeTypeName(field.name), "Type"));
    const description = `An element of ${JSON.stringify(field.keys[0] ?? field.name)} in an object of schema ${quoted}.`;
    return { ...own, nested: { name, description, fields: field.nested.map(plannedField) } };
  });
  const remarks = [
    ...remarkOnName("type", typeName, sanitizeTypeName(schema)),
    ...remarkOnName("query field", queryField, toQueryFieldName(schema)),
    ...discovered.fields.flatMap(({ name, keys }) =>
      keys.length > 1 ? [`Field ${name} reads the keys ${keys.map((key) => JSON.stringify(key)).join(", ")}.`] : [],
    ),
    ...(discovered.incomplete ? ["Some fields are omitted."] : []),
  ];
  const description = [`An object of schema ${quoted}.`, ...remarks].join(" ");
  return { schema, totalObjects, queryField, remarks, type: { name: typeName, description, fields } };
}

function plannedField({ name, keys, scalar, list }: DiscoveredField): PlannedField {
  const ordered = [...keys].sort((a, b) => Number(b === name) - Number(a === name) || compareText(a, b));
  const plain = { name, keys: ordered, scalar, list };
  if (ordered.length === 1 && ordered[0] === name) return plain;
  return { ...plain, description: `Key ${ordered.map((key) => JSON.stringify(key)).join(" or ")}.` };
}

function remarkOnName(what: string, name: string, preferred: string): string[] {
  return name === preferred
    ? []
    : [`Its ${what} is ${name}, because ${preferred} is ${/^[0-9]/.test(preferred) ? "not a valid GraphQL name" : "already in use"}.`];
}

function byPrecedence(a: DiscoveredSchema, b: DiscoveredSchema): number {
  const wellKnown = Number(b.schema.startsWith(WELL_KNOWN)) - Number(a.schema.startsWith(WELL_KNOWN));
  return wellKnown || compareText(a.schema, b.schema);
}

/** Assigns unique names. */
class Names {
  readonly #taken: Set<string>;
  readonly #next = new Map<string, number>();

  constructor(reserved: readonly string[]) {
    this.#taken = new Set(reserved);
  }

  /** Returns `name`, with a number appended if it is already used. */
  take(name: string): string {
    let free = name;
    for (let n = this.#next.get(name) ?? 2; this.#taken.has(free); n++) {
      free = `${name}_${n}`;
      this.#next.set(name, n + 1);
    }
    this.#taken.add(free);
    return free;
  }
}
