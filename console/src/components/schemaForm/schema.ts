/** The used members of a JSON Schema. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | FieldSchema;
  readonly items?: FieldSchema;
  readonly oneOf?: readonly FieldSchema[];
  readonly anyOf?: readonly FieldSchema[];
  readonly allOf?: readonly FieldSchema[];
  readonly $ref?: string;
}

/** How a field is edited. `unknown` fields are only edited as YAML. */
export type FieldKind =
  | { readonly kind: "text"; readonly suggestions: readonly string[] }
  | { readonly kind: "number"; readonly isInteger: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "choice"; readonly values: readonly string[] }
  | { readonly kind: "object"; readonly properties: Readonly<Record<string, FieldSchema>>; readonly required: readonly string[] }
  | { readonly kind: "map"; readonly values: FieldSchema }
  | { readonly kind: "list"; readonly items: FieldSchema }
  | { readonly kind: "variants"; readonly variants: readonly FieldSchema[] }
  | { readonly kind: "unknown" };

const MAX_REFERENCES = 8;
const MAX_VARIANTS = 8;
const UNKNOWN = { kind: "unknown" } as const;

/** Follows references such as `#/components/schemas/x`. Undefined if a reference does not exist, or if there are too many. */
function resolve(schema: FieldSchema, root: FieldSchema): FieldSchema | undefined {
  let current: FieldSchema | undefined = schema;
  for (let i = 0; current?.$ref !== undefined; i++) {
    if (i === MAX_REFERENCES || !current.$ref.startsWith("#/")) return undefined;
    let target: unknown = root;
    for (const name of current.$ref.slice(2).split("/")) {
      target =
        typeof target === "object" && target !== null && Object.hasOwn(target, name)
          ? (target as Record<string, unknown>)[name]
          : undefined;
    }
    current = typeof target === "object" && target !== null ? (target as FieldSchema) : undefined;
  }
  return current;
}

/** Determines how a field is edited. @param root the schema that references point into */
export function classifyField(schema: FieldSchema, root: FieldSchema): FieldKind {
  const found = resolve(schema, root);
  if (!found) return UNKNOWN;
  if (found.allOf?.length === 1 && found.allOf[0]) return classifyField(found.allOf[0], root);
  const variants = found.oneOf ?? found.anyOf;
  if (variants && !found.properties) return classifyVariants(variants, root);
  if (found.enum) {
    const texts = found.enum.filter((value) => typeof value === "string");
    // The empty text means the same as no value.
    return texts.length === found.enum.length ? { kind: "choice", values: texts.filter((text) => text !== "") } : UNKNOWN;
  }
  const types = [found.type ?? (found.properties ? "object" : [])].flat().filter((type) => type !== "null");
  if (types.length !== 1) return types.includes("string") ? { kind: "text", suggestions: [] } : UNKNOWN;
  return classifyType(types[0], found);
}

function classifyType(type: string | undefined, { properties, required = [], additionalProperties, items }: FieldSchema): FieldKind {
  if (type === "string") return { kind: "text", suggestions: [] };
  if (type === "integer" || type === "number") return { kind: "number", isInteger: type === "integer" };
  if (type === "boolean") return { kind: "boolean" };
  if (type === "array" && items) return { kind: "list", items };
  if (type !== "object") return UNKNOWN;
  if (properties) return { kind: "object", properties, required };
  return typeof additionalProperties === "object" ? { kind: "map", values: additionalProperties } : UNKNOWN;
}

function classifyVariants(variants: readonly FieldSchema[], root: FieldSchema): FieldKind {
  const kinds = variants
    .filter((variant) => resolve(variant, root)?.type !== "null")
    .map((variant) => ({ variant, kind: classifyField(variant, root) }));
  const [only] = kinds;
  if (kinds.length === 0 || kinds.length > MAX_VARIANTS || !only) return UNKNOWN;
  if (kinds.length === 1) return only.kind;
  if (kinds.every(({ kind }) => kind.kind === "text" || kind.kind === "choice")) {
    const suggestions = kinds.flatMap(({ kind }) => (kind.kind === "choice" ? kind.values : []));
    return { kind: "text", suggestions };
  }
  // A quantity is a text or a number: a text contains both.
  if (kinds.every(({ kind }) => kind.kind === "text" || kind.kind === "number")) return { kind: "text", suggestions: [] };
  return { kind: "variants", variants: kinds.map(({ variant }) => variant) };
}

/** Returns the description of a field, or of the schema that it refers to. */
export function describeField(schema: FieldSchema, root: FieldSchema): string | undefined {
  return schema.description ?? resolve(schema, root)?.description;
}

/** Returns an object with another value of a member; without the member if the value is undefined. */
export function withFieldValue(object: unknown, name: string, value: unknown): Record<string, unknown> | undefined {
  const next: Record<string, unknown> = isRecord(object) ? { ...object } : {};
  if (value === undefined) delete next[name];
  else next[name] = value;
  return Object.keys(next).length === 0 ? undefined : next;
}

/** Whether a value is an object, and not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
