import type { JsonObject } from "../../api/k8s.ts";
import { compareText } from "../../text/compare.ts";
import { copyText } from "../intern.ts";
import type { DiscoveredField, DiscoveredSchema } from "./catalogSchema.ts";
import { remapFieldName } from "./names.ts";
import { inferNestedType, inferType, needsFloat, type ValueType } from "./scalars.ts";

/** Limits for the memory of a discovery and the size of the resulting schema. */
export interface DiscoveryLimits {
  schemas: number;
  /** Maximum fields of one object type. */
  fields: number;
  /** Maximum fields and additional keys of all types. */
  totalFields: number;
  /** Maximum characters of a schema name or key. */
  nameLength: number;
}

const DISCOVERY_LIMITS: DiscoveryLimits = { schemas: 1_000, fields: 1_000, totalFields: 20_000, nameLength: 256 };

interface Field extends DiscoveredField {
  nested?: Fields;
}

/** The fields of one object type. */
interface Fields {
  readonly byKey: Map<string, Field | undefined>;
  readonly byName: Map<string, Field>;
}

interface Schema {
  readonly fields: Fields;
  totalObjects: number;
  incomplete: boolean;
}

/**
 * Discovers the fields of the metas of each schema. The first value of a field in the catalog determines its type. Changes Int to Float if Int cannot
 * represent a later number. Stores only the keys of metas.
 * @see operator-controller df2c201d internal/catalogd/graphql/graphql.go, DiscoverSchemaFromMetas
 */
export class SchemaDiscovery {
  readonly #limits: DiscoveryLimits;
  readonly #schemas = new Map<string, Schema>();
  #fields = 0;
  #leftOut = 0;

  constructor(limits: DiscoveryLimits = DISCOVERY_LIMITS) {
    this.#limits = limits;
  }

  /** Adds a meta. Ignores metas without a schema. */
  add(schema: string, blob: JsonObject): void {
    if (schema === "") return;
    const known = this.#schemas.get(schema) ?? this.#newSchema(schema);
    if (!known) {
      this.#leftOut++;
      return;
    }
    known.totalObjects++;
    for (const key of Object.keys(blob)) {
      const value = blob[key];
      const field = this.#fieldOf(known.fields, key, known, () => inferType(value));
      if (field) this.#update(field, value, known);
    }
  }

  /** Number of metas in schemas that were omitted, because there are too many schemas or their names are too long. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Returns the discovered schemas, sorted. */
  schemas(): DiscoveredSchema[] {
    return [...this.#schemas]
      .sort(([a], [b]) => compareText(a, b))
      .map(([schema, { fields, totalObjects, incomplete }]) => ({
        schema,
        totalObjects,
        incomplete,
        fields: sorted(fields).map(({ nested, ...field }) => {
          const own = nested ? sorted(nested).map(({ name, keys, scalar, list }) => ({ name, keys, scalar, list })) : [];
          return own.length > 0 ? { ...field, nested: own } : field;
        }),
      }));
  }

  #newSchema(schema: string): Schema | undefined {
    if (this.#schemas.size >= this.#limits.schemas || schema.length > this.#limits.nameLength) return undefined;
    const created: Schema = { fields: noFields(), totalObjects: 0, incomplete: false };
    this.#schemas.set(copyText(schema), created);
    return created;
  }

  /** Updates the type of a field with another value. */
  #update(field: Field, value: unknown, schema: Schema): void {
    if (field.scalar === "Int") {
      if (needsFloat(value)) field.scalar = "Float";
    } else if (field.nested && Array.isArray(value)) {
      for (const object of inferType(value).objects ?? []) this.#updateNested(field.nested, object, schema);
    }
  }

  #updateNested(fields: Fields, object: Record<string, unknown>, schema: Schema): void {
    for (const key of Object.keys(object)) {
      const value = object[key];
      const field = this.#fieldOf(fields, key, schema, () => inferNestedType(value));
      if (field?.scalar === "Int" && needsFloat(value)) field.scalar = "Float";
    }
  }

  #fieldOf(fields: Fields, key: string, schema: Schema, type: () => ValueType): Field | undefined {
    if (fields.byKey.has(key)) return fields.byKey.get(key);
    if (this.#fields >= this.#limits.totalFields || key.length > this.#limits.nameLength) {
      schema.incomplete = true;
      return undefined;
    }
    const name = remapFieldName(key);
    let field = fields.byName.get(name);
    if (!field && fields.byName.size >= this.#limits.fields) {
      schema.incomplete = true;
      return undefined;
    }
    const own = copyText(key);
    this.#fields++;
    if (field) field.keys.push(own);
    else {
      const { scalar, list, objects } = type();
      field = { name, keys: [own], scalar, list };
      if (objects) field.nested = noFields();
      fields.byName.set(name, field);
    }
    fields.byKey.set(own, field);
    return field;
  }
}

function noFields(): Fields {
  return { byKey: new Map(), byName: new Map() };
}

function sorted({ byName }: Fields): Field[] {
  return [...byName.values()].sort((a, b) => compareText(a.name, b.name));
}
