/**
 * A Go type as far as the schema of a CRD needs it. Findings show Go values, so checks work on values as Go has them: absent members are
 * zero, a nil list is not an empty one.
 */
export type GoType = GoScalar | GoPointer | GoSlice | GoMap | GoStruct;

export interface GoScalar {
  readonly kind: "string" | "bool" | "int" | "float" | "byte";
}

export interface GoPointer {
  readonly kind: "pointer";
  readonly to: GoType;
}

/** `label` is the type as Go prints it. */
export interface GoSlice {
  readonly kind: "slice";
  readonly label: string;
  readonly of: GoType;
}

/** Keys are strings. */
export interface GoMap {
  readonly kind: "map";
  readonly label: string;
  readonly of: GoType;
}

export interface GoStruct {
  readonly kind: "struct";
  readonly label: string;
  /** In the order of the declaration, which is the order they are printed in. */
  readonly fields: readonly GoField[];
}

export interface GoField {
  readonly name: string;
  /** The member that holds it in JSON; absent for a type with a JSON form of its own. */
  readonly json?: string;
  readonly type: GoType;
}

/** Integers beyond 2^53 are bigint. A list of bytes is the text that they are the UTF-8 of. A nil pointer, list or map is null. */
export type GoValue = string | boolean | number | bigint | null | readonly GoValue[] | ReadonlyMap<string, GoValue> | GoObject;

/** A struct: the fields that are not zero, by name. */
export interface GoObject {
  readonly [field: string]: GoValue;
}

const NO_FIELDS: GoObject = {};

/** The zero value of a type. */
export function zeroOf(type: GoType): GoValue {
  switch (type.kind) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int":
    case "float":
    case "byte":
      return 0;
    case "struct":
      return NO_FIELDS;
    case "pointer":
    case "slice":
    case "map":
    default:
      return null;
  }
}

/** A string, number or boolean as text; empty for what is nil or absent. */
export function scalarText(value: GoValue | undefined): string {
  return typeof value === "object" || value === undefined ? "" : String(value);
}

/** A field of a struct value. */
export function fieldOf(value: GoValue, { name, type }: GoField): GoValue {
  return (value as GoObject)[name] ?? zeroOf(type);
}

/** Whether `value` is the zero value; an empty list or map is not, unless it is nil. */
export function isZero(type: GoType, value: GoValue): boolean {
  if (type.kind === "struct") return type.fields.every((field) => isZero(field.type, fieldOf(value, field)));
  return value === zeroOf(type);
}

/** The elements of a list value that is not nil. */
export function elementsOf({ of }: GoSlice, value: GoValue): readonly GoValue[] {
  if (of.kind === "byte") return [...Buffer.from(scalarText(value))];
  return value as readonly GoValue[];
}

/**
 * Whether two values mean the same: a nil list or map equals an empty one.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/api/equality Semantic.DeepEqual
 */
export function sameMeaning(type: GoType, a: GoValue, b: GoValue): boolean {
  switch (type.kind) {
    case "pointer":
      return a === null || b === null ? a === b : sameMeaning(type.to, a, b);
    case "slice": {
      if (type.of.kind === "byte") return (a ?? "") === (b ?? "");
      const [one, other] = [(a ?? []) as readonly GoValue[], (b ?? []) as readonly GoValue[]];
      return one.length === other.length && one.every((value, index) => sameMeaning(type.of, value, other[index] ?? null));
    }
    case "map": {
      const [one, other] = [mapOf(a), mapOf(b)];
      return (
        one.size === other.size && [...one].every(([key, value]) => other.has(key) && sameMeaning(type.of, value, other.get(key) ?? null))
      );
    }
    case "struct":
      return a === b || type.fields.every((field) => sameMeaning(field.type, fieldOf(a, field), fieldOf(b, field)));
    case "string":
    case "bool":
    case "int":
    case "float":
    case "byte":
    default:
      return a === b;
  }
}

function mapOf(value: GoValue): ReadonlyMap<string, GoValue> {
  return (value ?? new Map()) as ReadonlyMap<string, GoValue>;
}
