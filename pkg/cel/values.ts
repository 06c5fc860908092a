/**
 * A value while a rule is evaluated. A bigint is an `int`, a number is a `double`. Lists do not change, except while the macro `map` or `filter`
 * builds one.
 */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | MapValue
  | OpaqueValue
  | TimeValue
  | TypeValue
  | readonly Value[];

/** An error is a value too: the other operand of `&&` and `||` can decide instead. */
export type Result = Value | Failure;

/** The reason why an expression has no value. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The evaluator cannot compute a value that the API server may compute: a limit, an overload or a function that it does not have. */
export class UnsupportedFailure extends Failure {}

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

/** A duration, or a time since 1970. */
export class TimeValue {
  readonly kind: "Duration" | "Timestamp";
  readonly nanos: bigint;

  constructor(kind: "Duration" | "Timestamp", nanos: bigint) {
    this.kind = kind;
    this.nanos = nanos;
  }
}

/** A value that only its own functions read, such as a URL. Values of the same type are equal if their keys are. */
export class OpaqueValue<T = unknown> {
  readonly type: string;
  readonly key: string;
  readonly content: T;

  constructor(type: string, key: string, content: T) {
    this.type = type;
    this.key = key;
    this.content = content;
  }
}

/** A list of `x-kubernetes-list-type` set or map: the order of its elements does not count when it is compared. */
export class UnorderedList extends Array<Value> {
  /** Functions such as `map` return plain arrays. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
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
  if (value instanceof TimeValue) return `google.protobuf.${value.kind}`;
  if (value instanceof OpaqueValue) return value.type;
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
