import { computeKeyCost } from "../../cel/functions.ts";
import type { StepMeter } from "../../cel/meter.ts";
import { MapValue, type Value } from "../../cel/values.ts";
import type { Property } from "../../fbc/types.ts";
import { getNumberToken } from "../../golang/json.ts";

/** Number of values of a property that one step converts to values of CEL. */
const CONVERSION_STEP = 8;

/** Converts the properties of a bundle to the value of the variable `properties`. Converts the value of a property only when it is read. */
export function convertProperties(properties: readonly Property[], meter: StepMeter): Value {
  meter.spend(properties.length);
  const convert = (json: unknown): Value => convertJson(json, (key) => meter.spend(1 / CONVERSION_STEP + computeKeyCost(key)));
  return properties.map(
    ({ type, value }) =>
      new MapValue(
        value === undefined
          ? [["type", type]]
          : [
              ["type", type],
              ["value", () => convert(value)],
            ],
      ),
  );
}

/** Maximum number of values in a property; the largest real properties have several thousand. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/**
 * Converts a property's value. All numbers are doubles, as cel-go decodes JSON, including large integers and numbers that keep their text (see
 * `getNumberToken`).
 * @param onValue called for each value before it is converted, with its key if it is the value of a map, otherwise with an empty string
 * @throws Error for more than 100,000 values, or more than 100 levels
 */
function convertJson(json: unknown, onValue: (key: string) => void): Value {
  let count = 0;
  const convert = (part: unknown, depth: number, key = ""): Value => {
    if (++count > MAX_VALUES || depth > MAX_DEPTH)
      throw new Error(`a property exceeds the limits for CEL rules: ${MAX_VALUES} values, ${MAX_DEPTH} levels`);
    onValue(key);
    if (part === null || typeof part === "boolean" || typeof part === "number" || typeof part === "string") return part;
    if (typeof part === "bigint") return Number(part);
    if (typeof part !== "object") return null;
    if (Array.isArray(part)) return part.map((item) => convert(item, depth + 1));
    const token = getNumberToken(part);
    if (token !== undefined) return Number(token);
    return new MapValue(Object.entries(part).map(([name, member]) => [name, convert(member, depth + 1, name)]));
  };
  return convert(json, 0);
}
