import type { Property } from "../../pkg/fbc/types.ts";
import { pick, type Random, upTo } from "./random.ts";

/** A constant of a rule, with its type. */
export type CelConstant =
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int" | "uint"; readonly value: bigint }
  | { readonly type: "double"; readonly value: number }
  | { readonly type: "string" | "bytes"; readonly value: string }
  | { readonly type: "null" };

/** A generated rule or a part of one. Operators are calls with the operator as name, such as `&&`, `?:`, `[]`, `in` and `neg`. */
export type CelExpression =
  | { readonly kind: "constant"; readonly constant: CelConstant }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "field"; readonly of: CelExpression; readonly field: string; readonly isTest: boolean }
  | { readonly kind: "call"; readonly name: string; readonly isMethod: boolean; readonly args: readonly CelExpression[] }
  | { readonly kind: "list"; readonly items: readonly CelExpression[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [CelExpression, CelExpression])[] }
  | {
      readonly kind: "macro";
      readonly name: CelMacro;
      readonly of: CelExpression;
      readonly variable: string;
      /** The predicate or result; for `map` also both. */
      readonly body: readonly CelExpression[];
    };

/** The macros that iterate a list or the keys of a map. */
export type CelMacro = "all" | "exists" | "exists_one" | "filter" | "map";

const BINARY: ReadonlySet<string> = new Set(["&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "in"]);

/** Prints an expression as the text of a rule. Operands of operators are in parentheses. */
export function printCel(expression: CelExpression): string {
  switch (expression.kind) {
    case "constant":
      return printConstant(expression.constant);
    case "name":
      return expression.name;
    case "field":
      return expression.isTest
        ? `has(${printOperand(expression.of)}.${expression.field})`
        : `${printOperand(expression.of)}.${expression.field}`;
    case "list":
      return `[${expression.items.map(printCel).join(", ")}]`;
    case "map":
      return `{${expression.entries.map(([key, value]) => `${printCel(key)}: ${printCel(value)}`).join(", ")}}`;
    case "macro":
      return `${printOperand(expression.of)}.${expression.name}(${[expression.variable, ...expression.body.map(printCel)].join(", ")})`;
    case "call":
    default:
      return printCall(expression);
  }
}

function printCall({ name, isMethod, args }: CelExpression & { kind: "call" }): string {
  const [first = "", ...rest] = args.map(printOperand);
  if (BINARY.has(name)) return `${first} ${name} ${rest.join("")}`;
  if (name === "?:") return `${first} ? ${rest.join(" : ")}`;
  if (name === "[]") return `${first}[${args.slice(1).map(printCel).join("")}]`;
  if (name === "!") return `!${first}`;
  if (name === "neg") return `-(${args.map(printCel).join("")})`;
  const texts = args.slice(isMethod ? 1 : 0).map(printCel);
  return `${isMethod ? `${first}.` : ""}${name}(${texts.join(", ")})`;
}

function printOperand(expression: CelExpression): string {
  const text = printCel(expression);
  const isNumber = expression.kind === "constant" && /^[-\d]/.test(text);
  const isOperator = expression.kind === "call" && (BINARY.has(expression.name) || ["?:", "!", "neg"].includes(expression.name));
  return isNumber || isOperator ? `(${text})` : text;
}

function printConstant(constant: CelConstant): string {
  switch (constant.type) {
    case "null":
      return "null";
    case "bool":
    case "int":
      return String(constant.value);
    case "uint":
      return `${constant.value}u`;
    case "double":
      return Number.isInteger(constant.value) && Math.abs(constant.value) < 1e21 ? constant.value.toFixed(1) : String(constant.value);
    case "string":
      return JSON.stringify(constant.value);
    case "bytes":
    default:
      return `b${JSON.stringify(constant.value)}`;
  }
}

/** The type that a generated expression usually has; `dyn` is read from a property. */
type Wanted = "bool" | "int" | "uint" | "double" | "string" | "bytes" | "null" | "list" | "map" | "dyn";

/** A rule, and the properties of a bundle. */
export interface CelPair {
  readonly rule: CelExpression;
  readonly properties: readonly Property[];
}

const INTS = [0n, 1n, 2n, 5n, -1n, 9_007_199_254_740_993n, 9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n];
const UINTS = [0n, 1n, 2n, 5n, 18_446_744_073_709_551_615n];
const DOUBLES = [0, 1, 2, 5, 1.5, -1, 0.25, 9_007_199_254_740_992, 1e19, 1e-7, 1_000_000];
const STRINGS = ["", "a", "ab", "b", "1", "1.0", "1.5", "red", "true", "null", "v1.2", "1.0.0-rc.1", "é", "😀", "olm.package", "value"];
const PATTERNS = ["a", "^a", "b$", "^[a-z]+$", "^\\d+$", ".*", "", "a|b", "(", "[", "*a", "a{2,1}", "(ab)+", "re?d"];
const FIELDS = ["a", "b", "value", "type", "missing"];
const TYPES = ["text", "number", "olm.package", "map", "list", "none"];
const JSON_LEAVES = [null, true, false, 0, 1, 2, 5, 1.5, -1, "", "a", "ab", "1", "1.0", "1.5", "red", "v1.2", "true"];
const CONVERSIONS = ["bool", "bytes", "double", "int", "string", "uint", "dyn", "type"];
const MACROS: readonly CelMacro[] = ["all", "exists", "exists_one", "filter", "map"];
const ALL: readonly Wanted[] = ["bool", "int", "uint", "double", "string", "bytes", "null", "list", "map", "dyn"];
const TYPE_NAMES = ["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"];
const MAX_DEPTH = 4;
/** Maximum nesting of loops, as in the rules of bundles. */
const MAX_LOOPS = 3;
/** One in this many parts has another type than its place needs. */
const MISFIT = 60;

/** Generates rules and bundles: most rules have a valid type, and values of all types, null and missing keys are frequent. */
export class CelGenerator {
  readonly #random: Random;
  #variables: string[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  generate(): CelPair {
    this.#variables = [];
    const rule = this.#bool(0);
    return { rule, properties: Array.from({ length: this.#below(5) }, () => this.#property()) };
  }

  #property(): Property {
    const type = this.#pick(TYPES);
    if (type === "olm.package")
      return { type, value: { packageName: this.#pick(["a", "ab", "red"]), version: this.#pick(["1.0.0", "1.2.0", "1.0.0-rc.1"]) } };
    return { type, value: this.#json(0) };
  }

  #json(depth: number): unknown {
    const kind = this.#below(depth > 2 ? 2 : 5);
    if (kind <= 1) return this.#pick(JSON_LEAVES);
    if (kind === 2) return Array.from({ length: this.#below(3) }, () => this.#json(depth + 1));
    const keys = ["a", "b", "value"].filter(() => this.#below(2) === 0);
    return Object.fromEntries(keys.map((key) => [key, this.#json(depth + 1)]));
  }

  #below(count: number): number {
    return upTo(this.#random, count);
  }

  #pick<T>(values: readonly T[]): T {
    return pick(this.#random, values);
  }

  #expression(wanted: Wanted, depth: number): CelExpression {
    const type = this.#below(MISFIT) === 0 ? this.#pick(ALL) : wanted;
    const variable = this.#below(4) === 0 && this.#variables.length > 0 ? this.#pick(this.#variables) : undefined;
    if (variable !== undefined) return { kind: "name", name: variable };
    if (depth < MAX_DEPTH && this.#below(12) === 0)
      return call("?:", this.#bool(depth + 1), this.#expression(type, depth + 1), this.#expression(type, depth + 1));
    return type === "dyn" ? this.#dyn(depth) : this.#typed(type, depth);
  }

  #typed(type: Exclude<Wanted, "dyn">, depth: number): CelExpression {
    switch (type) {
      case "bool":
        return this.#bool(depth);
      case "int":
      case "uint":
      case "double":
        return this.#number(type, depth);
      case "string":
        return this.#string(depth);
      case "bytes":
        return this.#bytes(depth);
      case "null":
        return { kind: "constant", constant: { type: "null" } };
      case "list":
        return this.#list(depth);
      case "map":
      default:
        return this.#map(depth);
    }
  }

  #bool(depth: number): CelExpression {
    const choice = depth >= MAX_DEPTH ? 0 : this.#below(20);
    const part = (type: Wanted): CelExpression => this.#expression(type, depth + 1);
    if (choice === 0) return { kind: "constant", constant: { type: "bool", value: this.#below(2) === 0 } };
    if (choice <= 3) return call(this.#pick(["&&", "||"]), part("bool"), part("bool"));
    if (choice === 4) return createUnary("!", part("bool"));
    if (choice <= 8) return this.#equality(depth);
    if (choice <= 10) return this.#order(depth);
    if (choice === 11) return call("in", part(this.#pick(["int", "string", "dyn", "double"])), part(this.#pick(["list", "map", "dyn"])));
    if (choice === 12)
      return { kind: "field", of: this.#pick([this.#dyn(depth + 1), part("map")]), field: this.#pick(FIELDS), isTest: true };
    if (choice <= 16) return this.#loop(this.#pick(MACROS.slice(0, 3)), depth);
    if (choice === 17) return method(this.#pick(["contains", "startsWith", "endsWith"]), part("string"), part("string"));
    if (choice === 18) {
      const pattern: CelExpression = { kind: "constant", constant: { type: "string", value: this.#pick(PATTERNS) } };
      return this.#below(2) === 0 ? method("matches", part("string"), pattern) : call("matches", part("string"), pattern);
    }
    return call(this.#pick(["==", "<", ">"]), call("semver_compare", this.#version(depth), this.#version(depth)), this.#constant("int"));
  }

  #equality(depth: number): CelExpression {
    const type = this.#pick(ALL);
    const other = this.#below(3) === 0 ? type : "dyn";
    if (this.#below(12) === 0)
      return call("==", call("type", this.#expression(type, depth + 1)), { kind: "name", name: this.#pick(TYPE_NAMES) });
    return call(this.#pick(["==", "!="]), this.#expression(type, depth + 1), this.#expression(other, depth + 1));
  }

  #order(depth: number): CelExpression {
    const type = this.#pick<Wanted>(["int", "uint", "double", "string", "bool", "bytes"]);
    const other = this.#below(2) === 0 ? "dyn" : type;
    return call(this.#pick(["<", "<=", ">", ">="]), this.#expression(type, depth + 1), this.#expression(other, depth + 1));
  }

  #loop(name: CelMacro, depth: number): CelExpression {
    if (this.#variables.length === MAX_LOOPS) return this.#constantOf(name);
    const of = this.#below(3) > 0 ? named("properties") : this.#range(depth + 1);
    const variable = this.#pick(["p", "q", "x"]);
    const outer = this.#variables;
    this.#variables = [...outer, variable];
    const results = name === "map" ? [this.#expression(this.#pick(ALL), depth + 1)] : [this.#bool(depth + 1)];
    if (name === "map" && this.#below(4) === 0) results.unshift(this.#bool(depth + 1));
    this.#variables = outer;
    return { kind: "macro", name, of, variable, body: results };
  }

  #range(depth: number): CelExpression {
    const type = this.#pick<Wanted>(["list", "list", "map", "dyn"]);
    return type === "dyn" ? call("dyn", this.#dyn(depth)) : this.#expression(type, depth);
  }

  #constantOf(name: CelMacro): CelExpression {
    return name === "map" || name === "filter"
      ? { kind: "list", items: [] }
      : { kind: "constant", constant: { type: "bool", value: true } };
  }

  #number(type: "int" | "uint" | "double", depth: number): CelExpression {
    const choice = depth >= MAX_DEPTH ? 0 : this.#below(8);
    if (choice <= 3) return this.#constant(type);
    const operators = type === "double" ? ["+", "-", "*", "/"] : ["+", "-", "*", "/", "%"];
    if (choice <= 5)
      return call(this.#pick(operators), this.#expression(type, depth + 1), this.#expression(this.#pick([type, "dyn"]), depth + 1));
    if (choice === 6) return call(type, this.#expression(this.#pick(["int", "uint", "double", "string", "dyn"]), depth + 1));
    if (type === "uint") return this.#constant(type);
    if (type === "double" || this.#below(2) === 0) return createUnary("neg", this.#expression(type, depth + 1));
    const sized = this.#expression(this.#pick(["list", "map", "string", "bytes", "dyn"]), depth + 1);
    return this.#below(2) === 0 ? call("size", sized) : method("size", sized);
  }

  #string(depth: number): CelExpression {
    const choice = depth >= MAX_DEPTH ? 0 : this.#below(8);
    if (choice <= 3) return this.#constant("string");
    if (choice === 4) return call("+", this.#expression("string", depth + 1), this.#expression(this.#pick(["string", "dyn"]), depth + 1));
    if (choice === 5) return call("string", this.#expression(this.#pick(ALL), depth + 1));
    return this.#dyn(depth);
  }

  #bytes(depth: number): CelExpression {
    const choice = depth >= MAX_DEPTH ? 0 : this.#below(4);
    if (choice <= 1) return this.#constant("bytes");
    if (choice === 2) return call("+", this.#expression("bytes", depth + 1), this.#expression("bytes", depth + 1));
    return call("bytes", this.#expression("string", depth + 1));
  }

  #list(depth: number): CelExpression {
    const choice = depth >= MAX_DEPTH ? 0 : this.#below(8);
    if (choice === 6) return this.#loop(this.#pick(["filter", "map"]), depth);
    if (choice === 7) return call("+", this.#expression("list", depth + 1), this.#expression("list", depth + 1));
    if (choice === 5) return named("properties");
    const type = this.#pick(ALL);
    return { kind: "list", items: Array.from({ length: this.#below(3) }, () => this.#expression(type, depth + 1)) };
  }

  #map(depth: number): CelExpression {
    if (depth < MAX_DEPTH && this.#below(3) === 0) return this.#anyProperty();
    const type = this.#pick(ALL);
    const keyType = this.#pick(["int", "uint", "double"] as const);
    const isText = this.#below(2) === 0;
    const entry = (): [CelExpression, CelExpression] => [
      isText ? text(this.#pick(FIELDS)) : this.#constant(keyType),
      this.#expression(type, depth + 1),
    ];
    return { kind: "map", entries: Array.from({ length: this.#below(3) }, entry) };
  }

  /** Returns a part of a property, or a value whose type the checker does not know. */
  #dyn(depth: number): CelExpression {
    if (this.#below(6) === 0) return call(this.#pick(CONVERSIONS), this.#expression(this.#pick(ALL), Math.max(depth + 1, MAX_DEPTH)));
    const property = this.#below(4) > 0 && this.#variables.length > 0 ? named(this.#pick(this.#variables)) : this.#anyProperty();
    let value: CelExpression = { kind: "field", of: property, field: this.#below(4) === 0 ? "type" : "value", isTest: false };
    for (let steps = this.#below(3); steps > 0; steps--) {
      const field = this.#pick(FIELDS);
      const choice = this.#below(8);
      if (choice <= 4) value = { kind: "field", of: value, field, isTest: false };
      else value = call("[]", value, choice <= 6 ? text(field) : this.#constant(this.#pick(["int", "int", "double", "uint"])));
    }
    return value;
  }

  #anyProperty(): CelExpression {
    return call("[]", named("properties"), {
      kind: "constant",
      constant: { type: "int", value: BigInt(this.#pick([0, 0, 0, 1, 1, 2, 5])) },
    });
  }

  #version(depth: number): CelExpression {
    return this.#below(2) === 0
      ? text(this.#pick(["1", "1.0", "v1.2", "1.0.0", "1.0.0-rc.1", "x", ""]))
      : this.#expression(this.#pick(["dyn", "double", "int"]), depth + 1);
  }

  #constant(type: "int" | "uint" | "double" | "string" | "bytes"): CelExpression {
    const small = this.#below(4) > 0;
    switch (type) {
      case "int":
        return { kind: "constant", constant: { type, value: this.#pick(small ? INTS.slice(0, 4) : INTS) } };
      case "uint":
        return { kind: "constant", constant: { type, value: this.#pick(small ? UINTS.slice(0, 4) : UINTS) } };
      case "double":
        return { kind: "constant", constant: { type, value: this.#pick(small ? DOUBLES.slice(0, 4) : DOUBLES) } };
      case "string":
        return text(this.#pick(STRINGS));
      case "bytes":
      default:
        return { kind: "constant", constant: { type, value: this.#pick(STRINGS.filter((value) => value !== "😀")) } };
    }
  }
}

function call(name: string, ...args: readonly CelExpression[]): CelExpression {
  return { kind: "call", name, isMethod: false, args };
}

/** Negates an operand that is not negated itself: the library's parser removes `!(!x)`, also if x is not a bool. */
function createUnary(name: "!" | "neg", operand: CelExpression): CelExpression {
  return operand.kind === "call" && operand.name === name ? operand : call(name, operand);
}

function method(name: string, ...args: readonly CelExpression[]): CelExpression {
  return { kind: "call", name, isMethod: true, args };
}

function named(name: string): CelExpression {
  return { kind: "name", name };
}

function text(value: string): CelExpression {
  return { kind: "constant", constant: { type: "string", value } };
}
