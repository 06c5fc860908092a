/** The draft-07 keywords that configuration schemas use. Other keywords, such as a description, do not affect validation. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: JsonType;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** Whether texts in the list must be unique. */
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** A type of JSON Schema. */
export type JsonType = "null" | "boolean" | "number" | "integer" | "string" | "array" | "object";

/** A validation error: the failed keyword and its operands. */
type FailureCause =
  | { readonly keyword: "type"; readonly got: JsonType; readonly want: JsonType }
  | { readonly keyword: "format"; readonly value: string; readonly format: string; readonly reason: string }
  | { readonly keyword: "required"; readonly missing: readonly string[] }
  | { readonly keyword: "additionalProperties"; readonly unknown: readonly string[]; readonly known: readonly string[] }
  | { readonly keyword: "enum"; readonly got: unknown; readonly want: readonly string[] }
  | { readonly keyword: "minLength" | "maxLength" | "minItems" | "maxItems"; readonly got: number; readonly want: number }
  | { readonly keyword: "uniqueItems"; readonly repeated: readonly string[] }
  | { readonly keyword: "pattern"; readonly want: string }
  | { readonly keyword: "allOf" | "anyOf" | "oneOf" | "$ref" | "group" }
  /** An error from a check that is not part of the schema, as a sentence. */
  | { readonly keyword: "rule"; readonly text: string };

/** A fault at one location. `causes` are the faults that it consists of, in the order in which they were found. */
export interface SchemaFailure {
  readonly fault: FailureCause;
  /** Field names and list indexes from the root. */
  readonly path: readonly string[];
  readonly causes: readonly SchemaFailure[];
}

/** Returns the error if a text does not have the format; undefined if it is valid. */
export type Format = (value: string) => string | undefined;

/**
 * Validates values against a schema. Reports faults as the tree of santhosh-tekuri/jsonschema v6, because users see the lines of that library: a
 * `type`, `enum` or `format` fault ends the check of a value, several faults of a value form a group, and a reference hides a single fault. Checks
 * fields in the order of their names. Interprets schemas without compiling them.
 * @see https://pkg.go.dev/github.com/santhosh-tekuri/jsonschema/v6
 */
export class SchemaChecker {
  readonly #references: Readonly<Record<string, JsonSchema>>;
  readonly #formats: ReadonlyMap<string, Format>;

  /** @param references schemas by `$ref`. @param formats validated formats by name; other formats accept all values. */
  constructor(references: Readonly<Record<string, JsonSchema>>, formats: ReadonlyMap<string, Format>) {
    this.#references = references;
    this.#formats = formats;
  }

  /** Returns the faults of a value, without the group of the root; empty if it is valid. */
  check(schema: JsonSchema, value: unknown): readonly SchemaFailure[] {
    const failure = this.#check(schema, value, []);
    if (!failure) return [];
    return failure.fault.keyword === "group" ? failure.causes : [failure];
  }

  #check(schema: JsonSchema, value: unknown, path: readonly string[]): SchemaFailure | undefined {
    const got = getType(value);
    const { type: want } = schema;
    if (want !== undefined && want !== got && !(want === "integer" && Number.isInteger(value)))
      return leaf({ keyword: "type", got, want }, path);
    if (schema.enum && !schema.enum.some((text) => text === value)) return leaf({ keyword: "enum", got: value, want: schema.enum }, path);
    if (schema.format !== undefined && typeof value === "string") {
      const reason = this.#formats.get(schema.format)?.(value);
      if (reason !== undefined) return leaf({ keyword: "format", value, format: schema.format, reason }, path);
    }
    if (schema.$ref !== undefined) return this.#checkReference(schema.$ref, value, path);
    const failures = this.#checkContent(schema, value, got, path);
    failures.push(this.#checkAll(schema, value, path), this.#checkAny(schema, value, path), this.#checkOne(schema, value, path));
    const found = failures.filter((failure) => failure !== undefined);
    return found.length > 1 ? { fault: { keyword: "group" }, path, causes: found } : found[0];
  }

  #checkContent(schema: JsonSchema, value: unknown, got: JsonType, path: readonly string[]): (SchemaFailure | undefined)[] {
    if (got === "object") return this.#checkObject(schema, value as Readonly<Record<string, unknown>>, path);
    if (got === "array") return this.#checkList(schema, value as readonly unknown[], path);
    return typeof value === "string" ? checkString(schema, value, path) : [];
  }

  #checkReference(reference: string, value: unknown, path: readonly string[]): SchemaFailure | undefined {
    const target = this.#references[reference];
    if (!target) throw new Error(`the schema references unknown ${reference}`);
    const failure = this.#check(target, value, path);
    if (!failure) return undefined;
    return { fault: { keyword: "$ref" }, path, causes: failure.fault.keyword === "group" ? failure.causes : [failure] };
  }

  #checkObject(schema: JsonSchema, object: Readonly<Record<string, unknown>>, path: readonly string[]): (SchemaFailure | undefined)[] {
    const failures: (SchemaFailure | undefined)[] = [];
    const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(object, name));
    if (missing.length > 0) failures.push(leaf({ keyword: "required", missing }, path));
    const unknown: string[] = [];
    const { properties = {}, additionalProperties: additional } = schema;
    for (const name of Object.keys(object).sort()) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (property) failures.push(this.#check(property, object[name], [...path, name]));
      else if (additional === false) unknown.push(name);
      else if (typeof additional === "object") failures.push(this.#check(additional, object[name], [...path, name]));
    }
    if (unknown.length > 0) failures.push(leaf({ keyword: "additionalProperties", unknown, known: Object.keys(properties).sort() }, path));
    return failures;
  }

  #checkList(schema: JsonSchema, list: readonly unknown[], path: readonly string[]): (SchemaFailure | undefined)[] {
    const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems } = schema;
    const failures: (SchemaFailure | undefined)[] = [];
    const got = list.length;
    if (got < minItems) failures.push(leaf({ keyword: "minItems", got, want: minItems }, path));
    if (got > maxItems) return [leaf({ keyword: "maxItems", got, want: maxItems }, path)];
    const repeated = uniqueItems ? findRepeated(list) : [];
    if (repeated.length > 0) failures.push(leaf({ keyword: "uniqueItems", repeated }, path));
    if (items) for (const [index, item] of list.entries()) failures.push(this.#check(items, item, [...path, String(index)]));
    return failures;
  }

  #checkAll({ allOf = [] }: JsonSchema, value: unknown, path: readonly string[]): SchemaFailure | undefined {
    const causes = this.#failuresOf(allOf, value, path);
    return causes.length > 0 ? { fault: { keyword: "allOf" }, path, causes } : undefined;
  }

  #checkAny({ anyOf = [] }: JsonSchema, value: unknown, path: readonly string[]): SchemaFailure | undefined {
    const causes = this.#failuresOf(anyOf, value, path);
    return anyOf.length > 0 && causes.length === anyOf.length ? { fault: { keyword: "anyOf" }, path, causes } : undefined;
  }

  /** In all used schemas the alternatives are mutually exclusive, so at most one matches. */
  #checkOne({ oneOf = [] }: JsonSchema, value: unknown, path: readonly string[]): SchemaFailure | undefined {
    const causes = this.#failuresOf(oneOf, value, path);
    return oneOf.length > 0 && causes.length === oneOf.length ? { fault: { keyword: "oneOf" }, path, causes } : undefined;
  }

  #failuresOf(schemas: readonly JsonSchema[], value: unknown, path: readonly string[]): SchemaFailure[] {
    return schemas.map((schema) => this.#check(schema, value, path)).filter((failure) => failure !== undefined);
  }
}

function checkString(schema: JsonSchema, text: string, path: readonly string[]): (SchemaFailure | undefined)[] {
  const failures: SchemaFailure[] = [];
  const got = Array.from(text).length;
  const { minLength, maxLength, pattern } = schema;
  if (minLength !== undefined && got < minLength) failures.push(leaf({ keyword: "minLength", got, want: minLength }, path));
  if (maxLength !== undefined && got > maxLength) failures.push(leaf({ keyword: "maxLength", got, want: maxLength }, path));
  if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) failures.push(leaf({ keyword: "pattern", want: pattern }, path));
  return failures;
}

function findRepeated(list: readonly unknown[]): string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const item of list) if (typeof item === "string") (seen.has(item) ? repeated : seen).add(item);
  return [...repeated];
}

function leaf(fault: FailureCause, path: readonly string[]): SchemaFailure {
  return { fault, path, causes: [] };
}

function getType(value: unknown): JsonType {
  if (value === null || value === undefined) return "null";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "string") return "string";
  if (typeof value === "number" || typeof value === "bigint") return "number";
  return Array.isArray(value) ? "array" : "object";
}
