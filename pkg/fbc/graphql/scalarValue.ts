import { goJson } from "../canonical.ts";
import type { Scalar } from "./catalogSchema.ts";

const INT_BOUND = 2 ** 31;

/**
 * A value of an object as a scalar says it: objects and lists as JSON text where text is expected; null for what cannot be told, such as a number beyond
 * 32 bits for an Int. It is never an error: catalogs are not typed.
 * @see github.com/graphql-go/graphql scalars.go
 */
export function scalarValue(value: unknown, scalar: Scalar): string | number | boolean | null {
  if (value === null || value === undefined) return null;
  if (scalar === "String") return typeof value === "string" ? value : goJson(value);
  if (scalar === "Boolean") return typeof value === "object" ? null : value !== "" && value !== "false" && value !== 0 && value !== false;
  const number = numberOf(value);
  if (number === undefined || scalar === "Float") return number ?? null;
  return number >= -INT_BOUND && number < INT_BOUND ? Math.trunc(number) : null;
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string" && value.trim() !== value) return undefined;
  const number = typeof value === "number" ? value : typeof value === "string" && value !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}
