import type { GoField, GoMap, GoPointer, GoScalar, GoSlice, GoStruct, GoType } from "./goType.ts";

const STRING: GoScalar = { kind: "string" };
const BOOL: GoScalar = { kind: "bool" };
const INT: GoPointer = { kind: "pointer", to: { kind: "int" } };
const FLOAT: GoPointer = { kind: "pointer", to: { kind: "float" } };
const STRING_POINTER: GoPointer = { kind: "pointer", to: STRING };
const BOOL_POINTER: GoPointer = { kind: "pointer", to: BOOL };
const STRINGS: GoSlice = { kind: "slice", label: "[]string", of: STRING };
const BYTES: GoSlice = { kind: "slice", label: "[]uint8", of: { kind: "byte" } };

/** Any JSON value, kept as its text: sorted members, no spaces. */
export const ANY_JSON: GoStruct = { kind: "struct", label: "v1.JSON", fields: [{ name: "Raw", type: BYTES }] };
const ANY_JSON_POINTER: GoPointer = { kind: "pointer", to: ANY_JSON };

const EXTERNAL_DOCS: GoStruct = {
  kind: "struct",
  label: "v1.ExternalDocumentation",
  fields: [
    { name: "Description", json: "description", type: STRING },
    { name: "URL", json: "url", type: STRING },
  ],
};

const RULE: GoStruct = {
  kind: "struct",
  label: "v1.ValidationRule",
  fields: [
    { name: "Rule", json: "rule", type: STRING },
    { name: "Message", json: "message", type: STRING },
    { name: "MessageExpression", json: "messageExpression", type: STRING },
    { name: "Reason", json: "reason", type: STRING_POINTER },
    { name: "FieldPath", json: "fieldPath", type: STRING },
    { name: "OptionalOldSelf", json: "optionalOldSelf", type: BOOL_POINTER },
  ],
};

/** The schema of one value. It holds itself. @see https://pkg.go.dev/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1#JSONSchemaProps */
export const SCHEMA: GoStruct = {
  kind: "struct",
  label: "v1.JSONSchemaProps",
  get fields() {
    return SCHEMA_FIELDS;
  },
};

const SCHEMA_POINTER: GoPointer = { kind: "pointer", to: SCHEMA };
const SCHEMAS: GoSlice = { kind: "slice", label: "[]v1.JSONSchemaProps", of: SCHEMA };
const SCHEMA_MAP: GoMap = { kind: "map", label: "map[string]v1.JSONSchemaProps", of: SCHEMA };

/** `items`: one schema, or one for each place of a tuple. */
export const SCHEMA_OR_LIST: GoStruct = {
  kind: "struct",
  label: "v1.JSONSchemaPropsOrArray",
  fields: [
    { name: "Schema", type: SCHEMA_POINTER },
    { name: "JSONSchemas", type: SCHEMAS },
  ],
};

/** `additionalProperties` and `additionalItems`: a schema, or whether there may be any. */
export const SCHEMA_OR_BOOL: GoStruct = {
  kind: "struct",
  label: "v1.JSONSchemaPropsOrBool",
  fields: [
    { name: "Allows", type: BOOL },
    { name: "Schema", type: SCHEMA_POINTER },
  ],
};

/** A member of `dependencies`: a schema, or the names of members. */
export const SCHEMA_OR_STRINGS: GoStruct = {
  kind: "struct",
  label: "v1.JSONSchemaPropsOrStringArray",
  fields: [
    { name: "Schema", type: SCHEMA_POINTER },
    { name: "Property", type: STRINGS },
  ],
};

const pointerTo = (to: GoType): GoPointer => ({ kind: "pointer", to });

const SCHEMA_FIELDS: readonly GoField[] = [
  { name: "ID", json: "id", type: STRING },
  { name: "Schema", json: "$schema", type: STRING },
  { name: "Ref", json: "$ref", type: STRING_POINTER },
  { name: "Description", json: "description", type: STRING },
  { name: "Type", json: "type", type: STRING },
  { name: "Format", json: "format", type: STRING },
  { name: "Title", json: "title", type: STRING },
  { name: "Default", json: "default", type: ANY_JSON_POINTER },
  { name: "Maximum", json: "maximum", type: FLOAT },
  { name: "ExclusiveMaximum", json: "exclusiveMaximum", type: BOOL },
  { name: "Minimum", json: "minimum", type: FLOAT },
  { name: "ExclusiveMinimum", json: "exclusiveMinimum", type: BOOL },
  { name: "MaxLength", json: "maxLength", type: INT },
  { name: "MinLength", json: "minLength", type: INT },
  { name: "Pattern", json: "pattern", type: STRING },
  { name: "MaxItems", json: "maxItems", type: INT },
  { name: "MinItems", json: "minItems", type: INT },
  { name: "UniqueItems", json: "uniqueItems", type: BOOL },
  { name: "MultipleOf", json: "multipleOf", type: FLOAT },
  { name: "Enum", json: "enum", type: { kind: "slice", label: "[]v1.JSON", of: ANY_JSON } },
  { name: "MaxProperties", json: "maxProperties", type: INT },
  { name: "MinProperties", json: "minProperties", type: INT },
  { name: "Required", json: "required", type: STRINGS },
  { name: "Items", json: "items", type: pointerTo(SCHEMA_OR_LIST) },
  { name: "AllOf", json: "allOf", type: SCHEMAS },
  { name: "OneOf", json: "oneOf", type: SCHEMAS },
  { name: "AnyOf", json: "anyOf", type: SCHEMAS },
  { name: "Not", json: "not", type: SCHEMA_POINTER },
  { name: "Properties", json: "properties", type: SCHEMA_MAP },
  { name: "AdditionalProperties", json: "additionalProperties", type: pointerTo(SCHEMA_OR_BOOL) },
  { name: "PatternProperties", json: "patternProperties", type: SCHEMA_MAP },
  { name: "Dependencies", json: "dependencies", type: { kind: "map", label: "v1.JSONSchemaDependencies", of: SCHEMA_OR_STRINGS } },
  { name: "AdditionalItems", json: "additionalItems", type: pointerTo(SCHEMA_OR_BOOL) },
  { name: "Definitions", json: "definitions", type: { kind: "map", label: "v1.JSONSchemaDefinitions", of: SCHEMA } },
  { name: "ExternalDocs", json: "externalDocs", type: pointerTo(EXTERNAL_DOCS) },
  { name: "Example", json: "example", type: ANY_JSON_POINTER },
  { name: "Nullable", json: "nullable", type: BOOL },
  { name: "XPreserveUnknownFields", json: "x-kubernetes-preserve-unknown-fields", type: BOOL_POINTER },
  { name: "XEmbeddedResource", json: "x-kubernetes-embedded-resource", type: BOOL },
  { name: "XIntOrString", json: "x-kubernetes-int-or-string", type: BOOL },
  { name: "XListMapKeys", json: "x-kubernetes-list-map-keys", type: STRINGS },
  { name: "XListType", json: "x-kubernetes-list-type", type: STRING_POINTER },
  { name: "XMapType", json: "x-kubernetes-map-type", type: STRING_POINTER },
  { name: "XValidations", json: "x-kubernetes-validations", type: { kind: "slice", label: "v1.ValidationRules", of: RULE } },
];
