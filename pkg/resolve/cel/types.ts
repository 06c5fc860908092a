import { truncateExcerpt } from "../../text/truncate.ts";

/** A static type of CEL, or a type variable such as the element type of an empty list. */
export interface StaticType {
  readonly kind: TypeKind;
  /** Element type of a list, key and value type of a map, type denoted by a type. */
  readonly parameters: readonly StaticType[];
  /** Name of a type variable. */
  readonly variable?: string;
}

type TypeKind =
  | "any"
  | "bool"
  | "bytes"
  | "double"
  | "duration"
  | "dyn"
  | "int"
  | "list"
  | "map"
  | "null"
  | "string"
  | "timestamp"
  | "type"
  | "uint"
  | "variable";

/** Result and arguments of one overload of a function; the target of a method is its first argument. */
interface Overload {
  readonly isMethod: boolean;
  readonly parameters: readonly StaticType[];
  readonly result: StaticType;
}

const scalar = (kind: TypeKind): StaticType => ({ kind, parameters: [] });
const BOOL = scalar("bool");
const BYTES = scalar("bytes");
const DOUBLE = scalar("double");
const DURATION = scalar("duration");
const DYN = scalar("dyn");
const INT = scalar("int");
const NULL = scalar("null");
const STRING = scalar("string");
const TIMESTAMP = scalar("timestamp");
const UINT = scalar("uint");
/** A value of any type, as `google.protobuf.Any`. In contrast to `dyn`, it cannot be the range of a loop. */
const ANY = scalar("any");

/** Scalar types by name. */
export const SCALARS = { ANY, BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, UINT } as const;

/** Returns the type of lists of `element`. */
export function createListType(element: StaticType): StaticType {
  return { kind: "list", parameters: [element] };
}

/** Returns the type of maps from `key` to `value`. */
export function createMapType(key: StaticType, value: StaticType): StaticType {
  return { kind: "map", parameters: [key, value] };
}

/** Returns the type variable with the name. */
export function createTypeVariable(variable: string): StaticType {
  return { kind: "variable", parameters: [], variable };
}

function createTypeType(denoted: StaticType): StaticType {
  return { kind: "type", parameters: [denoted] };
}

/**
 * The variable `properties`, and the names of types. A property is a `map(string, any)`.
 * @see https://github.com/operator-framework/api/blob/v0.34.0/pkg/constraints/cel.go
 */
export const IDENTIFIERS: ReadonlyMap<string, StaticType> = new Map([
  ["properties", createListType(createMapType(STRING, ANY))],
  ["bool", createTypeType(BOOL)],
  ["bytes", createTypeType(BYTES)],
  ["double", createTypeType(DOUBLE)],
  ["int", createTypeType(INT)],
  ["list", createTypeType(createListType(DYN))],
  ["map", createTypeType(createMapType(DYN, DYN))],
  ["null_type", createTypeType(NULL)],
  ["string", createTypeType(STRING)],
  ["type", createTypeType({ kind: "type", parameters: [] })],
  ["uint", createTypeType(UINT)],
]);

const A = createTypeVariable("A");
const B = createTypeVariable("B");
const LIST = createListType(A);
const MAP = createMapType(A, B);
const SIZED = [BYTES, LIST, MAP, STRING];
const MATCH = [method([STRING, STRING], BOOL)];
const COMPARISON = listComparisons();

/**
 * The functions and operators of CEL's standard library, and `semver_compare`, each with its overloads in the order of cel-go. Times and durations
 * occur only because `null` is accepted for them.
 * @see https://github.com/google/cel-go/blob/v0.26.0/common/stdlib/standard.go
 */
export const FUNCTIONS: ReadonlyMap<string, readonly Overload[]> = new Map([
  ["_?_:_", [func([BOOL, A, A], A)]],
  ["_&&_", [func([BOOL, BOOL], BOOL)]],
  ["_||_", [func([BOOL, BOOL], BOOL)]],
  ["!_", [func([BOOL], BOOL)]],
  ["@not_strictly_false", [func([BOOL], BOOL)]],
  ["_==_", [func([A, A], BOOL)]],
  ["_!=_", [func([A, A], BOOL)]],
  ["_<_", COMPARISON],
  ["_<=_", COMPARISON],
  ["_>_", COMPARISON],
  ["_>=_", COMPARISON],
  [
    "_+_",
    [
      ...alike(BYTES, DOUBLE, DURATION),
      func([DURATION, TIMESTAMP], TIMESTAMP),
      func([TIMESTAMP, DURATION], TIMESTAMP),
      ...alike(INT, LIST, STRING, UINT),
    ],
  ],
  [
    "_-_",
    [...alike(DOUBLE, DURATION, INT), func([TIMESTAMP, DURATION], TIMESTAMP), func([TIMESTAMP, TIMESTAMP], DURATION), ...alike(UINT)],
  ],
  ["_*_", alike(DOUBLE, INT, UINT)],
  ["_/_", alike(DOUBLE, INT, UINT)],
  ["_%_", alike(INT, UINT)],
  ["-_", [func([DOUBLE], DOUBLE), func([INT], INT)]],
  ["_[_]", [func([LIST, INT], A), func([MAP, A], B)]],
  ["@in", [func([A, LIST], BOOL), func([A, MAP], BOOL)]],
  ["size", SIZED.flatMap((type) => [func([type], INT), method([type], INT)])],
  ["contains", MATCH],
  ["startsWith", MATCH],
  ["endsWith", MATCH],
  ["matches", [func([STRING, STRING], BOOL), ...MATCH]],
  ["type", [func([A], createTypeType(A))]],
  ["dyn", [func([A], DYN)]],
  ["bool", convert(BOOL, STRING)],
  ["bytes", convert(BYTES, STRING)],
  ["double", convert(DOUBLE, INT, STRING, UINT)],
  ["int", convert(INT, DOUBLE, DURATION, STRING, TIMESTAMP, UINT)],
  ["string", convert(STRING, BOOL, BYTES, DOUBLE, DURATION, INT, TIMESTAMP, UINT)],
  ["uint", convert(UINT, DOUBLE, INT, STRING)],
  ["semver_compare", [func([ANY, ANY], INT)]],
]);

/** Overloads that compare numbers of different types; cel-go accepts them only in and after the first loop of a rule. */
export const MIXED_COMPARISONS: ReadonlySet<Overload> = new Set(COMPARISON.filter(({ parameters: [left, right] }) => left !== right));

function func(parameters: readonly StaticType[], result: StaticType): Overload {
  return { isMethod: false, parameters, result };
}

function method(parameters: readonly StaticType[], result: StaticType): Overload {
  return { isMethod: true, parameters, result };
}

/** Returns overloads for two values of the same type with a result of that type. */
function alike(...types: readonly StaticType[]): Overload[] {
  return types.map((type) => func([type, type], type));
}

function convert(result: StaticType, ...sources: readonly StaticType[]): Overload[] {
  return [result, ...sources].map((source) => func([source], result));
}

function listComparisons(): Overload[] {
  const pairs: [StaticType, StaticType][] = [
    [BOOL, BOOL],
    [INT, INT],
    [INT, DOUBLE],
    [INT, UINT],
    [UINT, UINT],
    [UINT, DOUBLE],
    [UINT, INT],
    [DOUBLE, DOUBLE],
    [DOUBLE, INT],
    [DOUBLE, UINT],
    [STRING, STRING],
    [BYTES, BYTES],
    [TIMESTAMP, TIMESTAMP],
    [DURATION, DURATION],
  ];
  return pairs.map((pair) => func(pair, BOOL));
}

/** Returns a type as cel-go prints it, such as `map(string, any)`; truncated, and with `dyn` for variables. */
export function formatType(type: StaticType): string {
  return truncateExcerpt(formatWhole(type));
}

function formatWhole({ kind, parameters }: StaticType): string {
  if (kind === "variable") return "dyn";
  return parameters.length === 0 ? kind : `${kind}(${parameters.map(formatWhole).join(", ")})`;
}
