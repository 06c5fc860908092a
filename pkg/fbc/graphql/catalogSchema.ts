import * as z from "zod";
import { compareText } from "../../text/compare.ts";
import { queryFieldName, sanitizeTypeName, withLetterFirst } from "./names.ts";

/** The GraphQL scalars that values become; an object where a scalar is expected becomes a String, its JSON text. */
const SCALARS = ["String", "Boolean", "Int", "Float"] as const;
/** A GraphQL scalar that values become. */
export type Scalar = (typeof SCALARS)[number];

/** A field as its keys and values tell it. */
export const DiscoveredField = z.object({
  /** Its GraphQL name. */
  name: z.string(),
  /** The keys that have this name, in the order they were met; usually one. */
  keys: z.array(z.string()),
  scalar: z.enum(SCALARS),
  list: z.boolean(),
});
export type DiscoveredField = z.output<typeof DiscoveredField>;

/** What the metas of one schema have in common. */
export const DiscoveredSchema = z.object({
  schema: z.string(),
  totalObjects: z.int().min(0),
  /** By name. A list whose elements are objects has the fields of these as `nested`. */
  fields: z.array(DiscoveredField.extend({ nested: z.array(DiscoveredField).optional() })),
  /** True where keys were left out, because there are too many or they are too long. */
  incomplete: z.boolean(),
});
export type DiscoveredSchema = z.output<typeof DiscoveredSchema>;

/** A field of an object type. */
export interface PlannedField {
  readonly name: string;
  /** The keys it reads, the first that an object has: the one that is spelled like the field before others, which are in byte order. */
  readonly keys: readonly string[];
  readonly scalar: Scalar;
  readonly list: boolean;
  /** The type of the elements, where they are objects. */
  readonly nested?: PlannedType;
  readonly description?: string;
}

/** An object type; names are unique and never those of GraphQL or of the server itself. */
export interface PlannedType {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly PlannedField[];
}

/** How the metas of one schema are queried. */
export interface PlannedSchema {
  readonly schema: string;
  readonly totalObjects: number;
  readonly queryField: string;
  readonly type: PlannedType;
  /** What is not as its names suggest, in sentences; for people. */
  readonly remarks: readonly string[];
}

/** The names that the server itself and GraphQL use. */
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
/** These schemas keep the names that clients know, whatever else a catalog holds. */
const WELL_KNOWN = "olm.";

/**
 * Names for everything that was discovered, by schema. What would have the name of something else gets a number behind its own: schemas whose
 * names begin with "olm." come first, then all in order of their names, then the types of list elements; so the same schemas always get the same names.
 */
export function planSchemas(discovered: readonly DiscoveredSchema[]): PlannedSchema[] {
  const types = new Names(RESERVED_TYPES);
  const fields = new Names(RESERVED_FIELDS);
  const named = [...discovered].sort(byPrecedence).map((schema) => ({
    schema,
    typeName: types.take(withLetterFirst(sanitizeTypeName(schema.schema), "Type")),
    queryField: fields.take(withLetterFirst(queryFieldName(schema.schema), "field")),
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
    const description = `An element of ${JSON.stringify(field.keys[0] ?? field.name)} of the objects of schema ${quoted}.`;
    return { ...own, nested: { name, description, fields: field.nested.map(plannedField) } };
  });
  const remarks = [
    ...remarkOnName("type", typeName, sanitizeTypeName(schema)),
    ...remarkOnName("query field", queryField, queryFieldName(schema)),
    ...discovered.fields.flatMap(({ name, keys }) =>
      keys.length > 1 ? [`Field ${name} reads the keys ${keys.map((key) => JSON.stringify(key)).join(", ")}.`] : [],
    ),
    ...(discovered.incomplete ? ["There are more fields than are shown."] : []),
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

function remarkOnName(what: string, name: string, usual: string): string[] {
  return name === usual
    ? []
    : [`Its ${what} is ${name}, as ${usual} is ${/^[0-9]/.test(usual) ? "no name in GraphQL" : "the name of something else"}.`];
}

function byPrecedence(a: DiscoveredSchema, b: DiscoveredSchema): number {
  const wellKnown = Number(b.schema.startsWith(WELL_KNOWN)) - Number(a.schema.startsWith(WELL_KNOWN));
  return wellKnown || compareText(a.schema, b.schema);
}

/** Gives each name once. */
class Names {
  readonly #taken: Set<string>;
  readonly #next = new Map<string, number>();

  constructor(reserved: readonly string[]) {
    this.#taken = new Set(reserved);
  }

  /** `name`, with a number behind it when it is taken. */
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
