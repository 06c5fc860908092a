import { GoTypeError } from "./goErrors.ts";
import { type GoMode, type GoType, kindOf, setMember } from "./goValues.ts";

/** One member of a struct. */
export interface Member {
  readonly name: string;
  readonly index: number;
  readonly type: GoType;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
}

/** A struct: reads the members it knows and prints them in its own order. */
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

  /** Completes the type; apart from the constructor because structs may hold themselves. */
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

/** A map from text; printed in the order of its keys. */
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
