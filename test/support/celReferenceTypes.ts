import type { CelExpression } from "./celExpressions.ts";

/**
 * What is known of the type of an expression before evaluation. `free` is the type of the elements of an empty list, and of a key of a property: it
 * becomes the type that its first use requires.
 */
export type KnownType =
  | { readonly is: "bool" | "int" | "uint" | "double" | "string" | "bytes" | "null" | "duration" | "timestamp" | "dyn" | "any" | "free" }
  | { readonly is: "type"; readonly of: KnownType }
  | { readonly is: "list"; readonly of: KnownType }
  | { readonly is: "map"; readonly from: KnownType; readonly to: KnownType };

/** The rule is not valid. */
export class InvalidRule extends Error {}
/** The reference cannot decide, because the type of one expression determines a free type in another one. */
export class Undecided extends Error {}

type Scalar = Exclude<KnownType["is"], "type" | "list" | "map">;
type Variables = ReadonlyMap<string, KnownType>;

const of = (is: Scalar): KnownType => ({ is });
const BOOL = of("bool");
const INT = of("int");
const STRING = of("string");
const DYN = of("dyn");
const FREE = of("free");
const TIMES = ["duration", "timestamp"] as const;
const NUMBERS = ["int", "uint", "double"] as const;
const TYPE_NAMES: Readonly<Record<string, KnownType>> = {
  bool: BOOL,
  bytes: of("bytes"),
  double: of("double"),
  int: INT,
  list: { is: "list", of: DYN },
  map: { is: "map", from: DYN, to: DYN },
  null_type: of("null"),
  string: STRING,
  type: { is: "type", of: DYN },
  uint: of("uint"),
};
const CONVERSIONS: Readonly<Record<string, readonly Scalar[]>> = {
  bool: ["bool", "string"],
  bytes: ["bytes", "string"],
  double: ["double", "int", "string", "uint"],
  int: ["int", "double", "string", "uint", ...TIMES],
  string: ["string", "bool", "bytes", "double", "int", "uint", ...TIMES],
  uint: ["uint", "double", "int", "string"],
};
const ARITHMETIC: Readonly<Record<string, readonly (readonly [Scalar, Scalar, Scalar])[]>> = {
  "+": [
    ...same("bytes", "double", "duration", "int", "string", "uint"),
    ["duration", "timestamp", "timestamp"],
    ["timestamp", "duration", "timestamp"],
  ],
  "-": [...same("double", "duration", "int", "uint"), ["timestamp", "duration", "timestamp"], ["timestamp", "timestamp", "duration"]],
  "*": same(...NUMBERS),
  "/": same(...NUMBERS),
  "%": same("int", "uint"),
};

function same(...types: readonly Scalar[]): (readonly [Scalar, Scalar, Scalar])[] {
  return types.map((type) => [type, type, type]);
}

/**
 * Checks the types of a rule, from the rules for type checking of the specification and the overloads of the standard definitions, with two
 * properties of OLM v0: a property is a `map(string, any)`, and comparisons of numbers of different types are valid only in and after the first loop.
 * @see https://github.com/google/cel-spec/blob/v0.24.0/doc/langdef.md#gradual-type-checking
 */
export class ReferenceTypes {
  #hasLoop = false;

  /** @throws InvalidRule if the rule is not valid. @throws Undecided */
  check(rule: CelExpression): void {
    const properties: KnownType = { is: "list", of: { is: "map", from: STRING, to: of("any") } };
    require(this.#type(rule, new Map([["properties", properties]])).is === "bool", "no bool");
  }

  #type(expression: CelExpression, variables: Variables): KnownType {
    switch (expression.kind) {
      case "constant":
        return of(expression.constant.type);
      case "name": {
        const denoted = TYPE_NAMES[expression.name];
        // cel-go takes a variable with the type of a type for the name of a type.
        require(expression.name in TYPE_NAMES || variables.get(expression.name)?.is !== "type", "variable is a type");
        return variables.get(expression.name) ?? (denoted ? { is: "type", of: denoted } : invalid("undeclared"));
      }
      case "field": {
        const operand = this.#type(expression.of, variables);
        require(operand.is === "map" || isUnknown(operand), "no fields");
        if (expression.isTest) return BOOL;
        return operand.is === "map" ? operand.to : DYN;
      }
      case "list":
        return { is: "list", of: joinAll(expression.items.map((item) => this.#type(item, variables))) };
      case "map": {
        const [keys, values]: [KnownType[], KnownType[]] = [[], []];
        for (const [key, value] of expression.entries) {
          keys.push(this.#type(key, variables));
          values.push(this.#type(value, variables));
        }
        return { is: "map", from: joinAll(keys), to: joinAll(values) };
      }
      case "macro":
        return this.#macro(expression, variables);
      case "call":
      default:
        return this.#call(expression, variables);
    }
  }

  #macro({ name, of: range, variable, body }: CelExpression & { kind: "macro" }, variables: Variables): KnownType {
    const type = this.#type(range, variables);
    this.#hasLoop = true;
    require(type.is === "list" || type.is === "map" || type.is === "dyn" || type.is === "free", "no range");
    const element = type.is === "list" ? type.of : type.is === "map" ? type.from : DYN;
    requireBound(element);
    const inner = new Map(variables).set(variable, element);
    const results = body.map((part) => this.#type(part, inner));
    const predicate = name === "map" && body.length === 1 ? BOOL : (results[0] ?? FREE);
    require(fits(predicate, BOOL), "no predicate");
    if (name === "filter") return { is: "list", of: element };
    return name === "map" ? { is: "list", of: results.at(-1) ?? FREE } : BOOL;
  }

  #call({ name, isMethod, args }: CelExpression & { kind: "call" }, variables: Variables): KnownType {
    // The arguments of a method are checked before its target.
    const rest = args.slice(isMethod ? 1 : 0).map((arg) => this.#type(arg, variables));
    const types = isMethod && args[0] ? [this.#type(args[0], variables), ...rest] : rest;
    const [first = FREE, second = FREE, third = FREE] = types;
    switch (name) {
      case "&&":
      case "||":
      case "!":
        require(types.every((type) => fits(type, BOOL)), name);
        return BOOL;
      case "?:":
        require(fits(first, BOOL) && fits(second, third), name);
        requireBound(second, third);
        return generalize(third, second);
      case "==":
      case "!=":
        require(fits(first, second), name);
        return BOOL;
      case "<":
      case "<=":
      case ">":
      case ">=":
        require(this.#isOrdered(first, second), name);
        return BOOL;
      case "in":
        require(isUnknown(second) ||
          (second.is === "list" && fits(first, second.of)) ||
          (second.is === "map" && fits(first, second.from)), name);
        return BOOL;
      case "[]":
        require(!isUnusableIndex(args[1], variables), name);
        return index(first, second);
      case "neg":
        requireBound(first);
        return choose([of("double"), INT].filter((type) => fits(first, type)));
      case "size":
        require(["bytes", "list", "map", "string"].includes(first.is) || isUnknown(first), name);
        return INT;
      case "contains":
      case "startsWith":
      case "endsWith":
      case "matches":
        require(fits(first, STRING) && fits(second, STRING), name);
        return BOOL;
      case "semver_compare":
        return INT;
      case "type":
        return { is: "type", of: first };
      case "dyn":
        return DYN;
      default:
        return name in CONVERSIONS ? convert(name as Scalar, first) : arithmetic(name, first, second);
    }
  }

  #isOrdered(left: KnownType, right: KnownType): boolean {
    const ordered: readonly Scalar[] = ["bool", "string", "bytes", ...NUMBERS, ...TIMES];
    if (ordered.some((type) => fits(left, of(type)) && fits(right, of(type)))) return true;
    const isNumber = (type: KnownType): boolean => NUMBERS.some((number) => type.is === number);
    return this.#hasLoop && isNumber(left) && isNumber(right);
  }
}

/** Reports whether a key is a constant for which cel-go cannot plan an access. */
function isUnusableIndex(key: CelExpression | undefined, variables: Variables): boolean {
  if (key?.kind === "constant") return key.constant.type === "null" || key.constant.type === "bytes";
  return key?.kind === "name" && !variables.has(key.name);
}

function invalid(reason: string): never {
  throw new InvalidRule(reason);
}

function require(condition: boolean, reason: string): void {
  if (!condition) invalid(reason);
}

function isUnknown({ is }: KnownType): boolean {
  return is === "dyn" || is === "any" || is === "free";
}

function containsFree(type: KnownType): boolean {
  if (type.is === "list" || type.is === "type") return containsFree(type.of);
  return type.is === "map" ? containsFree(type.from) || containsFree(type.to) : type.is === "free";
}

/** @throws Undecided if one of the types contains a free type */
function requireBound(...types: readonly KnownType[]): void {
  if (types.some(containsFree)) throw new Undecided("free type");
}

/** Reports whether a value of one type can be used for the other: they are the same where both are known. */
function fits(left: KnownType, right: KnownType): boolean {
  if (isUnknown(left) || isUnknown(right)) return true;
  if (left.is === "list" && right.is === "list") return fits(left.of, right.of);
  if (left.is === "map" && right.is === "map") return fits(left.from, right.from) && fits(left.to, right.to);
  if (left.is === "null" || right.is === "null")
    return [left, right].every(({ is }) => is === "null" || is === "duration" || is === "timestamp");
  return left.is === right.is;
}

/** Returns the type of which less is known, of two that fit; the right one if neither is less known. */
function generalize(left: KnownType, right: KnownType): KnownType {
  return isLessKnown(left, right) ? left : right;
}

function isLessKnown(left: KnownType, right: KnownType): boolean {
  if (isUnknown(left)) return true;
  if (isUnknown(right)) return false;
  if (left.is === "list" && right.is === "list") return isLessKnown(left.of, right.of);
  if (left.is === "map" && right.is === "map") return isLessKnown(left.from, right.from) && isLessKnown(left.to, right.to);
  return left.is === right.is;
}

/** Returns the type of elements: `dyn` if they do not fit. */
function joinAll(types: readonly KnownType[]): KnownType {
  const [first = FREE, ...rest] = types;
  if (rest.length > 0) requireBound(...types);
  return rest.reduce((joined, type) => (fits(joined, type) ? generalize(joined, type) : DYN), first);
}

/** Returns the result of a call, from the results of its fitting overloads. */
function choose(results: readonly KnownType[]): KnownType {
  const [first, ...rest] = results;
  if (!first) return invalid("no overload");
  return rest.every((type) => JSON.stringify(type) === JSON.stringify(first)) ? first : DYN;
}

function index(operand: KnownType, key: KnownType): KnownType {
  requireBound(operand);
  const results: KnownType[] = [];
  if ((operand.is === "list" || isUnknown(operand)) && fits(key, INT)) results.push(operand.is === "list" ? operand.of : FREE);
  if (operand.is === "map" ? fits(key, operand.from) : isUnknown(operand)) results.push(operand.is === "map" ? operand.to : FREE);
  return choose(results.length === 2 ? [DYN] : results);
}

function convert(to: Scalar, from: KnownType): KnownType {
  requireBound(from);
  require((CONVERSIONS[to] ?? []).some((source) => fits(from, of(source))), to);
  return of(to);
}

function arithmetic(operator: string, left: KnownType, right: KnownType): KnownType {
  requireBound(left, right);
  const results = (ARITHMETIC[operator] ?? [])
    .filter(([a, b]) => fits(left, of(a)) && fits(right, of(b)))
    .map(([, , result]) => of(result));
  const lists = [left, right].filter((type) => type.is === "list");
  if (operator === "+" && [left, right].every((type) => type.is === "list" || isUnknown(type)) && fits(left, right))
    results.push(lists.length === 2 ? generalize(right, left) : (lists[0] ?? { is: "list", of: FREE }));
  return choose(results);
}
