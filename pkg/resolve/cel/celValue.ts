import { type CelList, type CelMap, celList, celMap } from "@bufbuild/cel";
import { numberToken } from "../../golang/json.ts";
import type { Property } from "../../fbc/types.ts";

/** A value of CEL as JSON has them. */
type Value = null | boolean | number | string | CelList | CelMap;

/** Values inside the properties of one bundle; the largest real bundles have some thousands. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/**
 * Properties as the variable `properties` holds them: a list of maps with `type` and `value`. Numbers are doubles, as cel-go has those of
 * JSON; large whole ones and those that keep their text (see `numberToken`) too.
 * @throws Error for more than 100,000 values, or values inside values deeper than 100.
 */
export function inputFrom(properties: readonly Property[]): CelList {
  let count = 0;
  const convert = (value: unknown, depth: number): Value => {
    if (++count > MAX_VALUES || depth > MAX_DEPTH) throw new Error("the properties of the bundle are too large for a rule");
    if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string") return value;
    if (typeof value === "bigint") return Number(value);
    if (typeof value !== "object") return null;
    if (Array.isArray(value)) return celList(value.map((item) => convert(item, depth + 1)));
    const token = numberToken(value);
    if (token !== undefined) return Number(token);
    return celMap(new Map(Object.entries(value).map(([key, member]) => [key, convert(member, depth + 1)])));
  };
  const items = properties.map(({ type, value }) => {
    const property = new Map<string, Value>([["type", type]]);
    return celMap(value === undefined ? property : property.set("value", convert(value, 1)));
  });
  return celList(items);
}
