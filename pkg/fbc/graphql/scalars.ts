import { encodeGoJson, getNumberToken } from "../../golang/json.ts";
import { isObject } from "../../golang/members.ts";
import type { Scalar } from "./catalogSchema.ts";

const INT_BOUND = 2 ** 31;

/**
 * Converts a value to a scalar. Converts objects and lists to JSON text for String. Returns null if the scalar cannot represent the value, such as an
 * Int of more than 32 bits. Never throws, because catalogs are not typed.
 * @see github.com/graphql-go/graphql v0.8.1 scalars.go
 */
export function convertToScalar(value: unknown, scalar: Scalar): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  if (scalar === "String") return typeof value === "string" ? value : encodeGoJson(value);
  if (scalar === "Boolean") return typeof value === "object" ? null : value !== "" && value !== "false" && value !== 0 && value !== false;
  const number = toNumber(value);
  if (number === undefined || scalar === "Float") return number ?? null;
  return number >= -INT_BOUND && number < INT_BOUND ? Math.trunc(number) : null;
}

function toNumber(value: unknown): number | undefined {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string" && value.trim() !== value) return undefined;
  const number = typeof value === "number" ? value : typeof value === "string" && value !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** Number of elements that determine the type of a list. */
const SAMPLED_ELEMENTS = 10;

/** The GraphQL type of a value. `objects` are the sampled elements of a list of objects. */
export interface ValueType {
  scalar: Scalar;
  list: boolean;
  objects?: Record<string, unknown>[];
}

/**
 * Infers the type of a value. The first ten elements determine the type of a list. If one of them is an object, it is a list of objects.
 * @see operator-controller df2c201d internal/catalogd/graphql/graphql.go, analyzeJSONObject
 */
export function inferType(value: unknown): ValueType {
  if (!Array.isArray(value)) return { scalar: toScalar(value), list: false };
  const sample = value.slice(0, SAMPLED_ELEMENTS);
  const objects = sample.filter(isPlainObject);
  if (objects.length > 0) return { scalar: "String", list: true, objects };
  return { scalar: commonScalar(sample), list: true };
}

/** Infers the type of a value in an element of a list. The first element determines the type of a list. Objects become text. */
export function inferNestedType(value: unknown): ValueType {
  return Array.isArray(value) ? { scalar: toScalar(value[0]), list: true } : { scalar: toScalar(value), list: false };
}

/** Reports whether a value or one of its elements is a number that a GraphQL Int cannot represent. */
export function needsFloat(value: unknown): boolean {
  return Array.isArray(value) ? value.some(needsFloat) : toScalar(value) === "Float";
}

function commonScalar(sample: readonly unknown[]): Scalar {
  const scalars = new Set(sample.filter((element) => element !== null).map(toScalar));
  if (scalars.size === 2 && scalars.has("Int") && scalars.has("Float")) return "Float";
  const [only = "String"] = scalars;
  return scalars.size === 1 ? only : "String";
}

function toScalar(value: unknown): Scalar {
  if (typeof value === "boolean") return "Boolean";
  if (typeof value === "number" || typeof value === "bigint") return numberScalar(Number(value));
  const token = isObject(value) ? getNumberToken(value) : undefined;
  return token === undefined ? "String" : numberScalar(Number(token));
}

function numberScalar(value: number): Scalar {
  return Number.isInteger(value) && value >= -INT_BOUND && value < INT_BOUND ? "Int" : "Float";
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && getNumberToken(value) === undefined;
}
