import { GoTypeError } from "./goErrors.ts";
import { specialType } from "./goSpecial.ts";
import table from "./goTypes.json" with { type: "json" };
import {
  ANY_CASE_JSON,
  bool,
  bytes,
  CONVERTER,
  float64,
  type GoMode,
  type GoType,
  integer,
  kindOf,
  STRICT_CASE_JSON,
  setMember,
  string,
} from "./goValues.ts";

/**
 * The Go struct types that bundles and configuration pass through, read in one of two ways (see GoMode).
 * Converting decodes and encodes in one go: the result is what Go prints, in Go's order of members. Members that are
 * unknown or null vanish, members without `omitempty` appear with their zero value, quantities become canonical.
 * The input is never changed; parts of it may be shared with the result.
 */
export class GoTypes {
  readonly mode: GoMode;
  readonly #structs = new Map<string, StructType>();

  readonly #schema: () => GoType;

  /** @param schemas how the schemas below `items` and the like are read, which is by code of their own; absent: as all else. */
  constructor(mode: GoMode, schemas?: GoTypes) {
    this.mode = mode;
    this.#schema = () => (schemas ?? this).type("apiextensions/v1.JSONSchemaProps");
    const definitions: Readonly<Record<string, readonly string[] | null>> = table.types;
    for (const name of Object.keys(definitions)) this.#structs.set(name, new StructType(name, mode));
    for (const [name, members] of Object.entries(definitions)) {
      this.#struct(name).define((members ?? []).map((text, index) => this.#member(text, index)));
    }
  }

  /**
   * `value` as Go's struct `name` holds it, such as "apiextensions/v1.CustomResourceDefinition".
   * @throws GoTypeError in Go's words when a member has the wrong type.
   */
  convert(name: string, value: unknown): unknown {
    const type = this.type(name);
    return value === null || value === undefined ? type.zero() : type.convert(value);
  }

  /** The struct type `name`. @throws Error when the table has none. */
  type(name: string): GoType {
    return this.#struct(name);
  }

  #struct(name: string): StructType {
    const type = this.#structs.get(name);
    if (!type) throw new Error(`there is no Go type ${name} in the table`);
    return type;
  }

  #member(text: string, index: number): Member {
    const [name = "", type = "", ...options] = text.split(" ");
    return { name, index, type: this.#type(type), omitEmpty: options.includes("omitempty"), omitZero: options.includes("omitzero") };
  }

  #type(text: string): GoType {
    if (text.startsWith("[]")) return new ListType(this.#type(text.slice(2)), this.mode);
    if (text.startsWith("{}")) return new MapType(this.#type(text.slice(2)), this.mode);
    if (text.startsWith("*")) return new PointerType(this.#type(text.slice(1)));
    if (text.startsWith("!")) return specialType(text.slice(1), this.#schema);
    const [kind = "", name = kind] = text.split("=");
    switch (kind) {
      case "string":
        return string(name, this.mode);
      case "bool":
        return bool(this.mode);
      case "int32":
      case "int64":
        return integer(kind, this.mode);
      case "int":
        return integer("int64", this.mode);
      case "float64":
        return float64(this.mode);
      case "bytes":
        return bytes(this.mode);
      default:
        return this.#struct(text);
    }
  }
}

interface Member {
  readonly name: string;
  readonly index: number;
  readonly type: GoType;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
}

class StructType implements GoType {
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

  define(members: readonly Member[]): void {
    this.#members = members;
    this.#always = members.filter((member) => !isOmitted(member, member.type.zero()));
    for (const member of members) {
      this.#byKey.set(member.name, member);
      if (this.#mode.anyCase) this.#byKey.set(`\0${member.name.toLowerCase()}`, member);
    }
  }

  convert(value: unknown): unknown {
    if (kindOf(value) !== "map") throw this.#mode.mismatch(value, "struct", this.goName);
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

  /** The members to print: those present and those that always appear, in Go's order. */
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

/** Whether Go leaves the member out of what it prints. */
function isOmitted(member: Member, converted: unknown): boolean {
  return (member.omitEmpty && member.type.isEmpty(converted)) || (member.omitZero && (converted === null || converted === ""));
}

class ListType implements GoType {
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

class MapType implements GoType {
  readonly goName: string;
  readonly #element: GoType;
  readonly #mode: GoMode;

  constructor(element: GoType, mode: GoMode) {
    this.goName = `map[string]${element.goName}`;
    this.#element = element;
    this.#mode = mode;
  }

  convert(value: unknown): unknown {
    if (kindOf(value) !== "map") throw this.#mode.mismatch(value, "map", this.goName);
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

/** A pointer: null is the only empty value, what it points to is kept even when zero. */
class PointerType implements GoType {
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

const STRICT_TYPES = new GoTypes(STRICT_CASE_JSON);

/** Types as manifests become them, through apimachinery's unstructured converter. */
export const MANIFEST_TYPES = new GoTypes(CONVERTER, STRICT_TYPES);

/** Types as encoding/json fills them from a user's configuration. */
export const CONFIG_TYPES = new GoTypes(ANY_CASE_JSON, STRICT_TYPES);

/**
 * Checks `kind`, `apiVersion` and `metadata` of any object, as Kubernetes does before it looks at the rest.
 * @throws GoTypeError in Go's words when one has the wrong type.
 */
export function checkMetadata(object: Readonly<Record<string, unknown>>): void {
  STRICT_TYPES.convert("metadataOnlyObject", object);
}
