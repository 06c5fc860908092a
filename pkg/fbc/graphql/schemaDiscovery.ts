import type { JsonObject } from "../../api/k8s.ts";
import { compareText } from "../../text/compare.ts";
import { ownText } from "../intern.ts";
import type { DiscoveredField, DiscoveredSchema } from "./catalogSchema.ts";
import { remapFieldName } from "./names.ts";
import { needsFloat, typeOfNestedValue, typeOfValue, type ValueType } from "./scalars.ts";

/** What bounds the memory that a discovery takes, and the schema that is built of it. */
export interface DiscoveryLimits {
  schemas: number;
  /** Fields of one object type. */
  fields: number;
  /** Fields, and further keys of theirs, of all types. */
  totalFields: number;
  /** Letters of a schema's name, and of a key. */
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
 * Finds out which fields the metas of each schema have: the first value of a field decides its type, in the order of the catalog. Only an Int becomes
 * a Float when a later number is none that Int holds, as it would be lost otherwise. Nothing of the metas is kept but keys.
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

  /** Metas without a schema tell nothing. */
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
      const field = this.#fieldOf(known.fields, key, known, () => typeOfValue(value));
      if (field) this.#see(field, value, known);
    }
  }

  /** How many metas are of schemas that were left out, because there are too many or their names are too long. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** By schema. */
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
    const made: Schema = { fields: noFields(), totalObjects: 0, incomplete: false };
    this.#schemas.set(ownText(schema), made);
    return made;
  }

  /** What `value` adds to what is known of its field. */
  #see(field: Field, value: unknown, schema: Schema): void {
    if (field.scalar === "Int") {
      if (needsFloat(value)) field.scalar = "Float";
    } else if (field.nested && Array.isArray(value)) {
      for (const object of typeOfValue(value).objects ?? []) this.#seeElement(field.nested, object, schema);
    }
  }

  #seeElement(fields: Fields, object: Record<string, unknown>, schema: Schema): void {
    for (const key of Object.keys(object)) {
      const value = object[key];
      const field = this.#fieldOf(fields, key, schema, () => typeOfNestedValue(value));
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
    const own = ownText(key);
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
