import {
  GraphQLBoolean,
  type GraphQLFieldConfig,
  GraphQLFloat,
  GraphQLInt,
  GraphQLList,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
} from "graphql";
import * as z from "zod";
import {
  DiscoveredSchema,
  type PlannedField,
  type PlannedSchema,
  type PlannedType,
  planSchemas,
  type Scalar,
} from "../../fbc/graphql/catalogSchema.ts";
import { remapFieldName } from "../../fbc/graphql/names.ts";
import { convertToScalar } from "../../fbc/graphql/scalars.ts";
import { isObject } from "../../golang/members.ts";
import { compareText } from "../../text/compare.ts";
import { MAX_PAGE, type QueryContext } from "./queryContext.ts";

const MAX_REMEMBERED_KEYS = 10_000;

/** Caches the GraphQL names of keys. */
class FieldNames {
  readonly #names = new Map<string, string>();

  of(key: string): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_REMEMBERED_KEYS) this.#names.clear();
    const name = remapFieldName(key);
    this.#names.set(key, name);
    return name;
  }
}

/**
 * Returns a resolver for `field` of an object: scalars are converted to the field type, lists stay
 * lists, and an object in place of a scalar becomes JSON text.
 */
function fieldResolver(field: PlannedField, names: FieldNames): (source: unknown, args: unknown, context: QueryContext) => unknown {
  return (source, _args, context) => {
    const value = isObject(source) ? memberFor(source, field, names) : undefined;
    if (value === undefined || value === null) {
      context.spend(field.name.length + 7);
      return null;
    }
    if (!field.list) return spent(field, convertToScalar(value, field.scalar), context);
    // A catalog may contain a single value in place of a list.
    const list = Array.isArray(value) ? value : [value];
    if (!field.nested) return list.map((element) => spent(field, convertToScalar(element, field.scalar), context));
    context.spend(field.name.length + 5 + 3 * list.length);
    return list;
  };
}

/**
 * Returns the value of the field. Because only some list elements were sampled for the schema, also
 * accepts a key with another spelling.
 */
function memberFor(source: Record<string, unknown>, { keys, name }: PlannedField, names: FieldNames): unknown {
  const known = keys.find((key) => Object.hasOwn(source, key)) ?? Object.keys(source).find((key) => names.of(key) === name);
  return known === undefined ? undefined : source[known];
}

function spent<T extends string | number | boolean | null>(field: PlannedField, value: T, context: QueryContext): T {
  context.spend(field.name.length + (typeof value === "string" ? value.length + 6 : 12));
  return value;
}

type FieldConfig = GraphQLFieldConfig<unknown, QueryContext>;

const SCALAR_TYPES: Readonly<Record<Scalar, GraphQLScalarType>> = {
  String: GraphQLString,
  Boolean: GraphQLBoolean,
  Int: GraphQLInt,
  Float: GraphQLFloat,
};

/** The arguments of a query field. */
interface PageArguments {
  limit?: number | null;
  offset?: number | null;
  name?: string | null;
  package?: string | null;
}

/**
 * Builds the GraphQL schema of a catalog: a list field for each FBC schema, and a summary.
 * @param leftOut number of objects whose FBC schema has no list field.
 * @see operator-controller df2c201d internal/catalogd/graphql/graphql.go, BuildDynamicGraphQLSchema
 */
export function buildSchema(planned: readonly PlannedSchema[], leftOut: number): GraphQLSchema {
  const names = new FieldNames();
  const lists = planned.map((schema): [string, FieldConfig] => [schema.queryField, listField(schema, objectType(schema.type, names))]);
  lists.push(["summary", summaryField(planned, leftOut)]);
  const fields = Object.fromEntries(lists.sort(([a], [b]) => compareText(a, b)));
  return new GraphQLSchema({ query: new GraphQLObjectType({ name: "Query", fields }), assumeValid: true });
}

function objectType({ name, description, fields }: PlannedType, names: FieldNames): GraphQLObjectType<unknown, QueryContext> {
  const configs = fields.map((field): [string, FieldConfig] => [
    field.name,
    { type: createOutputType(field, names), description: field.description, resolve: fieldResolver(field, names) },
  ]);
  return new GraphQLObjectType({ name, description, fields: Object.fromEntries(configs) });
}

function createOutputType(field: PlannedField, names: FieldNames): GraphQLOutputType {
  const named = field.nested ? objectType(field.nested, names) : SCALAR_TYPES[field.scalar];
  return field.list ? new GraphQLList(named) : named;
}

function listField({ schema, type: { description } }: PlannedSchema, type: GraphQLOutputType): FieldConfig {
  return {
    type: new GraphQLList(type),
    description: description.replace(/^An object/, "The objects"),
    args: {
      limit: { type: GraphQLInt, default: { value: MAX_PAGE }, description: "Maximum number of items to return" },
      offset: { type: GraphQLInt, default: { value: 0 }, description: "Number of items to skip" },
      name: { type: GraphQLString, description: "Return only items with this name" },
      package: {
        type: GraphQLString,
        description: "Return only items that belong to this package. To find the package itself, use the argument name",
      },
    },
    resolve: (_source, args: PageArguments, context) => {
      const limit = args.limit ?? 0;
      return context.objects({
        schema,
        name: args.name ?? "",
        package: args.package ?? "",
        limit: limit <= 0 || limit > MAX_PAGE ? MAX_PAGE : limit,
        offset: Math.max(0, args.offset ?? 0),
      });
    },
  };
}

function summaryField(planned: readonly PlannedSchema[], leftOut: number): FieldConfig {
  const list = new GraphQLList(GraphQLString);
  const schemaSummary = new GraphQLObjectType({
    name: "SchemaSummary",
    fields: {
      name: { type: GraphQLString },
      queryField: { type: GraphQLString, description: "Query field that returns the objects" },
      remarks: { type: list, description: "Explains where GraphQL names or values differ from the catalog" },
      totalFields: { type: GraphQLInt },
      totalObjects: { type: GraphQLInt },
      typeName: { type: GraphQLString, description: "GraphQL type of the objects" },
    },
  });
  const schemas = planned.map(({ schema, queryField, remarks, totalObjects, type }) => ({
    name: schema,
    queryField,
    remarks,
    totalObjects,
    totalFields: type.fields.length,
    typeName: type.name,
  }));
  const remarks = leftOut > 0 ? [`${leftOut} objects have schemas that cannot be queried with GraphQL.`] : [];
  return {
    type: new GraphQLObjectType({
      name: "CatalogSummary",
      fields: {
        remarks: { type: list, description: "Notes about objects that cannot be queried" },
        schemas: { type: new GraphQLList(schemaSummary) },
        totalSchemas: { type: GraphQLInt },
      },
    }),
    resolve: () => ({ remarks, schemas, totalSchemas: schemas.length }),
  };
}

/** A line of artifact "graphql". */
const Line = z.union([z.strictObject({ leftOut: z.int() }), DiscoveredSchema]);

/** Reads the schema from artifact "graphql". @throws Error if it is invalid. */
export function readStoredSchema(artifact: Uint8Array): GraphQLSchema {
  const lines = Buffer.from(artifact.buffer, artifact.byteOffset, artifact.byteLength)
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Line.parse(JSON.parse(line)));
  const schemas = lines.flatMap((line) => ("leftOut" in line ? [] : [line]));
  const leftOut = lines.reduce((sum, line) => sum + ("leftOut" in line ? line.leftOut : 0), 0);
  return buildSchema(planSchemas(schemas), leftOut);
}
