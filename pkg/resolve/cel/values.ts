import { getNumberToken } from "../../golang/json.ts";

/**
 * A value while a rule is evaluated. A bigint is an `int`, a number is a `double`. Lists do not change, except while the macro `map` or `filter`
 * builds one.
 */
export type Value = null | boolean | bigint | number | string | Uint8Array | Uint | MapValue | TypeValue | readonly Value[];

/** An error is a value too: the other operand of `&&` and `||` can decide instead. */
export type Result = Value | Failure;

/** The reason why an expression has no value. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** A `uint`. */
export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** The type of a value, which is a value itself. */
export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Reports whether a value is a list. */
export function isList(value: Result): value is readonly Value[] {
  return Array.isArray(value);
}

/** Returns the name of a value's type. */
export function getTypeName(value: Value): string {
  if (value === null) return "null_type";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "double";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Uint) return "uint";
  if (value instanceof MapValue) return "map";
  return value instanceof TypeValue ? "type" : "list";
}

/** A key of a JavaScript map, such that equal keys of the same type are the same. */
type MapKey = string | object;

/** An entry of a map. Its value can be a function that computes the value when it is first read. */
interface Entry {
  readonly key: Value;
  value: Value | (() => Value);
}

/**
 * A map. Keys of different types are different, but a number finds a key of another integer type with the same value.
 * @see https://github.com/google/cel-go/blob/v0.26.0/common/types/map.go
 */
export class MapValue {
  readonly #entries = new Map<MapKey, Entry>();

  /** @param entries of equal keys, the last one counts; see `Entry` */
  constructor(entries: Iterable<readonly [Value, Value | (() => Value)]>) {
    for (const [key, value] of entries) this.#entries.set(toMapKey(key), { key, value });
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    const found = this.#find(key);
    if (!found) return undefined;
    if (typeof found.value === "function") found.value = found.value();
    return found.value;
  }

  has(key: Value): boolean {
    return this.#find(key) !== undefined;
  }

  *keys(): Generator<Value, void> {
    for (const { key } of this.#entries.values()) yield key;
  }

  #find(key: Value): Entry | undefined {
    for (const one of [key, ...listEqualIntegers(key)]) {
      const entry = this.#entries.get(toMapKey(one));
      if (entry) return entry;
    }
    return undefined;
  }
}

function toMapKey(key: Value): MapKey {
  if (key instanceof TypeValue) return `type ${key.name}`;
  if (key instanceof Uint) return `uint ${key.value}`;
  // No NaN equals another, while 0 equals -0.
  if (typeof key === "number") return Number.isNaN(key) ? {} : `double ${key === 0 ? 0 : key}`;
  return typeof key === "object" && key !== null ? key : `${getTypeName(key)} ${key}`;
}

/** Returns values of other types that find the same entry of a map: an int for a double or uint, a uint for a double or int. */
function listEqualIntegers(key: Value): Value[] {
  if (key instanceof Uint) return [key.value];
  if (typeof key === "bigint") return [new Uint(key)];
  if (typeof key !== "number" || !Number.isInteger(key)) return [];
  return [BigInt(key), new Uint(BigInt(key))];
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
export function convertJson(json: unknown, onValue: (key: string) => void): Value {
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
