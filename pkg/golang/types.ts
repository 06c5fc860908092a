import { MAX_INT64 } from "./json.ts";

/** Thrown if a value has the wrong type for a Go struct. `message` is Go's text. */
export class GoTypeError extends Error {
  override readonly name = "GoTypeError";

  /** Returns the error with the context of an outer struct, because some errors contain the path. */
  within(_struct: string, _member: string): GoTypeError {
    return this;
  }
}

/** An error of encoding/json, with the value, its place in a struct, and the expected type. */
class JsonTypeError extends GoTypeError {
  readonly #value: string;
  readonly #type: string;
  readonly #struct: string;
  readonly #path: readonly string[];

  constructor(value: string, type: string, struct = "", path: readonly string[] = []) {
    const place = struct === "" ? "Go value" : `Go struct field ${struct}.${path.join(".")}`;
    super(`json: cannot unmarshal ${value} into ${place} of type ${type}`);
    this.#value = value;
    this.#type = type;
    this.#struct = struct;
    this.#path = path;
  }

  override within(struct: string, member: string): GoTypeError {
    return new JsonTypeError(this.#value, this.#type, this.#struct || struct, [member, ...this.#path]);
  }
}

/** A Go type: decodes a parsed value, and returns the value that Go's encoder prints. */
export interface GoType {
  /** Go's name of the type, as in errors. */
  readonly goName: string;
  /** @throws GoTypeError if `value` has the wrong type @param value not null or undefined */
  convert(value: unknown): unknown;
  /** Returns the value for an absent or null member. */
  zero(): unknown;
  /** Reports whether `omitempty` omits the converted value. */
  isEmpty(converted: unknown): boolean;
  /** A set pointer is never empty, regardless of its target. */
  readonly isPointer?: true;
}

/** Go's kind of a parsed value. */
export type GoKind = "string" | "bool" | "int64" | "float64" | "slice" | "map";

/** The rules of a Go decoder for reading values into structs. */
export interface GoMode {
  /** Whether keys match in any letter case, as in encoding/json. */
  readonly anyCase: boolean;
  /** Whether errors contain the path of the member. */
  readonly tellsPath: boolean;
  /** Returns the error for a value of the wrong type. `want` is the kind of the expected Go type. */
  mismatch(value: unknown, want: string, goName: string): GoTypeError;
  /** Whether a number outside the range of an integer type wraps around. Otherwise it is rejected. */
  readonly wraps: boolean;
}

/** apimachinery's unstructured converter, which converts manifests to typed objects. */
export const CONVERTER: GoMode = {
  anyCase: false,
  tellsPath: false,
  wraps: true,
  mismatch(value, want, goName) {
    const kind = getGoKind(value);
    if (want === "slice" || want === "map") return new GoTypeError(`cannot restore ${want} from ${kind}`);
    if (want === "struct") return new GoTypeError(`cannot restore struct from: ${kind}`);
    const numeric = want === "int32" || want === "int64" || want === "float64";
    const convertible = (kind === "int64" && want === "string") || (kind === "float64" && numeric);
    return new GoTypeError(convertible ? `cannot convert ${kind} to ${goName}` : `unrecognized type: ${want}`);
  },
};

const JSON_WORDS = { string: "string", bool: "bool", int64: "number", float64: "number", slice: "array", map: "object" } as const;

/** Returns encoding/json's error for a value of the wrong type; it contains the number if that is too large for an integer type. */
export function createJsonMismatch(value: unknown, goName: string): GoTypeError {
  const word = JSON_WORDS[getGoKind(value)];
  return new JsonTypeError(word === "number" && goName.startsWith("int") ? `number ${String(value)}` : word, goName);
}

/** sigs.k8s.io/json, which reads the schemas below `items` and `additionalProperties` of a CRD. */
export const STRICT_CASE_JSON: GoMode = {
  anyCase: false,
  tellsPath: true,
  wraps: false,
  mismatch: (value, _want, goName) => createJsonMismatch(value, goName),
};

/** encoding/json, which reads `deploymentConfig`. */
export const ANY_CASE_JSON: GoMode = {
  anyCase: true,
  tellsPath: true,
  wraps: false,
  mismatch: (value, _want, goName) => createJsonMismatch(value, goName),
};

/** Returns Go's kind of a parsed value that is not null. */
export function getGoKind(value: unknown): GoKind {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "int64" : "float64";
  if (typeof value === "bigint") return value <= MAX_INT64 && value >= -MAX_INT64 - 1n ? "int64" : "float64";
  return Array.isArray(value) ? "slice" : "map";
}

/** Sets a member of any name; assignment would treat `__proto__` as the prototype. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
  else object[key] = value;
}

function scalar<T>(goName: string, zero: T, convert: (value: unknown) => T): GoType {
  return { goName, convert, zero: () => zero, isEmpty: (converted) => converted === zero };
}

/** Returns a string type; `goName` is "string" or the name of a derived type, such as "v1.PullPolicy". */
export function string(goName: string, mode: GoMode): GoType {
  return scalar(goName, "", (value) => {
    if (typeof value === "string") return value;
    throw mode.mismatch(value, "string", goName);
  });
}

/** Returns Go's bool. */
export function bool(mode: GoMode): GoType {
  return scalar("bool", false, (value) => {
    if (typeof value === "boolean") return value;
    throw mode.mismatch(value, "bool", "bool");
  });
}

/** Returns a signed integer type; int64 values beyond 2^53 stay bigint. */
export function integer(kind: "int32" | "int64", mode: GoMode): GoType {
  const bits = kind === "int32" ? 32 : 64;
  return scalar<number | bigint>(kind, 0, (value) => {
    const whole = typeof value === "bigint" ? value : typeof value === "number" && Number.isInteger(value) ? BigInt(value) : undefined;
    if (whole === undefined || (getGoKind(value) === "float64" && !mode.wraps)) throw mode.mismatch(value, kind, kind);
    const fitting = BigInt.asIntN(bits, whole);
    if (fitting !== whole && !mode.wraps) throw mode.mismatch(value, kind, kind);
    return Number.isSafeInteger(Number(fitting)) ? Number(fitting) : fitting;
  });
}

/** Returns Go's float64: any number. */
export function float64(mode: GoMode): GoType {
  return scalar("float64", 0, (value) => {
    if (typeof value === "number" || typeof value === "bigint") return Number(value);
    throw mode.mismatch(value, "float64", "float64");
  });
}

/** Returns the byte slice type, which is base64 in JSON. */
export function bytes(mode: GoMode): GoType {
  return {
    goName: "[]uint8",
    convert(value) {
      if (typeof value !== "string") throw mode.mismatch(value, "slice", "[]uint8");
      const text = value.replace(/[\r\n]/g, "");
      const wrong = base64Fault(text);
      if (wrong !== undefined) {
        const found = `illegal base64 data at input byte ${wrong}`;
        throw new GoTypeError(mode.tellsPath ? found : `error decoding from json: ${found}`);
      }
      return Buffer.from(text, "base64").toString("base64");
    },
    zero: () => null,
    isEmpty: (converted) => converted === null || converted === "",
  };
}

/** Returns the offset at which Go's decoder stops if the text is not standard base64 with padding. */
function base64Fault(text: string): number | undefined {
  const legal = /^[A-Za-z0-9+/]*/.exec(text)?.[0].length ?? 0;
  const rest = text.slice(legal);
  if (rest === "") return legal % 4 === 0 ? undefined : legal - (legal % 4);
  if ((legal % 4 === 2 && rest === "==") || (legal % 4 === 3 && rest === "=")) return undefined;
  return legal % 4 === 2 && rest === "=" ? text.length : legal;
}

/** One member of a struct. */
export interface Member {
  readonly name: string;
  readonly index: number;
  readonly type: GoType;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
}

/** A struct type: decodes known members and prints them in its own order. */
export class StructType implements GoType {
  readonly goName: string;
  readonly #mode: GoMode;
  #members: readonly Member[] = [];
  #always: readonly Member[] = [];
  readonly #byKey = new Map<string, Member>();
  readonly #structName: string;

  constructor(name: string, mode: GoMode) {
    this.goName = name.slice(name.lastIndexOf("/") + 1);
    this.#structName = name.slice(name.lastIndexOf(".") + 1);
    this.#mode = mode;
  }

  /** Sets the members. Separate from the constructor, because a struct may contain itself. */
  define(members: readonly Member[]): void {
    this.#members = members;
    this.#always = members.filter((member) => !isOmitted(member, member.type.zero()));
    for (const member of members) {
      this.#byKey.set(member.name, member);
      if (this.#mode.anyCase) this.#byKey.set(`\0${member.name.toLowerCase()}`, member);
    }
  }

  convert(value: unknown): unknown {
    if (getGoKind(value) !== "map") throw this.#mode.mismatch(value, "struct", this.goName);
    const source = value as Readonly<Record<string, unknown>>;
    const present: Member[] = [];
    const values: unknown[] = [];
    let sorted = true;
    for (const key of Object.keys(source)) {
      const member = this.#byKey.get(key) ?? (this.#mode.anyCase ? this.#byKey.get(`\0${key.toLowerCase()}`) : undefined);
      const given = source[key];
      if (!member || given === null || given === undefined) continue;
      if (present.length > 0 && (present.at(-1)?.index ?? 0) >= member.index) sorted = false;
      present.push(member);
      values[member.index] = given;
    }
    const out: Record<string, unknown> = {};
    for (const member of this.#inOrder(present, sorted)) {
      const given = values[member.index];
      const converted = given === undefined ? member.type.zero() : this.#convertMember(member, given);
      const kept = given !== undefined && member.type.isPointer;
      if (kept || !isOmitted(member, converted)) out[member.name] = converted;
    }
    return out;
  }

  zero(): unknown {
    const out: Record<string, unknown> = {};
    for (const member of this.#always) out[member.name] = member.type.zero();
    return out;
  }

  isEmpty(): boolean {
    return false;
  }

  /** Returns the members to print, both present and mandatory ones, in Go's order. */
  #inOrder(present: Member[], sorted: boolean): readonly Member[] {
    if (this.#always.length === 0 && sorted) return present;
    const marked = new Set(present);
    for (const member of this.#always) marked.add(member);
    if (marked.size * 4 > this.#members.length) return this.#members.filter((member) => marked.has(member));
    return [...marked].sort((a, b) => a.index - b.index);
  }

  #convertMember(member: Member, value: unknown): unknown {
    try {
      return member.type.convert(value);
    } catch (err) {
      if (err instanceof GoTypeError && this.#mode.tellsPath) throw err.within(this.#structName, member.name);
      throw err;
    }
  }
}

/** Reports whether Go omits the member from its output. */
function isOmitted(member: Member, converted: unknown): boolean {
  return (member.omitEmpty && member.type.isEmpty(converted)) || (member.omitZero && (converted === null || converted === ""));
}

/** A list of one type. */
export class ListType implements GoType {
  readonly goName: string;
  readonly #element: GoType;
  readonly #mode: GoMode;

  constructor(element: GoType, mode: GoMode) {
    this.goName = `[]${element.goName}`;
    this.#element = element;
    this.#mode = mode;
  }

  convert(value: unknown): unknown {
    if (!Array.isArray(value)) throw this.#mode.mismatch(value, "slice", this.goName);
    return value.map((item) => (item === null || item === undefined ? this.#element.zero() : this.#element.convert(item)));
  }

  zero(): unknown {
    return null;
  }

  isEmpty(converted: unknown): boolean {
    return !Array.isArray(converted) || converted.length === 0;
  }
}

/** A map with string keys, printed in the order of the keys. */
export class MapType implements GoType {
  readonly goName: string;
  readonly #element: GoType;
  readonly #mode: GoMode;

  constructor(element: GoType, mode: GoMode) {
    this.goName = `map[string]${element.goName}`;
    this.#element = element;
    this.#mode = mode;
  }

  convert(value: unknown): unknown {
    if (getGoKind(value) !== "map") throw this.#mode.mismatch(value, "map", this.goName);
    const source = value as Readonly<Record<string, unknown>>;
    const out: Record<string, unknown> = {};
    for (const key of Object.keys(source).sort()) {
      const item = source[key];
      setMember(out, key, item === null || item === undefined ? this.#element.zero() : this.#element.convert(item));
    }
    return out;
  }

  zero(): unknown {
    return null;
  }

  isEmpty(converted: unknown): boolean {
    return converted === null || Object.keys(converted as object).length === 0;
  }
}

/** A pointer: only null is empty; a zero value that it points to is kept. */
export class PointerType implements GoType {
  readonly goName: string;
  readonly isPointer = true;
  readonly #element: GoType;

  constructor(element: GoType) {
    this.#element = element;
    this.goName = element.goName;
  }

  convert(value: unknown): unknown {
    return this.#element.convert(value);
  }

  zero(): unknown {
    return null;
  }

  isEmpty(converted: unknown): boolean {
    return converted === null;
  }
}
