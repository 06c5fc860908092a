import type { Property } from "../../pkg/fbc/types.ts";
import type { CelConstant, CelExpression } from "./celExpressions.ts";
import { InvalidRule, ReferenceTypes } from "./celReferenceTypes.ts";
import type { CelVerdict } from "./celVerdict.ts";

/** A value with its type at run time. Bytes are an array of numbers. */
type Value =
  | { readonly is: "null" }
  | { readonly is: "bool"; readonly v: boolean }
  | { readonly is: "int" | "uint"; readonly v: bigint }
  | { readonly is: "double"; readonly v: number }
  | { readonly is: "string" | "type"; readonly v: string }
  | { readonly is: "bytes"; readonly v: readonly number[] }
  | { readonly is: "list"; readonly v: readonly Value[] }
  | { readonly is: "map"; readonly v: readonly (readonly [Value, Value])[] };

type Variables = ReadonlyMap<string, Value>;

/** The rule has no result for these properties. */
class EvaluationError extends Error {}

const RANGES = { int: [-(2n ** 63n), 2n ** 63n - 1n], uint: [0n, 2n ** 64n - 1n] } as const;
const TRUTHS: Readonly<Record<string, boolean>> = Object.fromEntries([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

/**
 * Returns the verdict of a rule by the specification of CEL, without any limit. It shares no code with the evaluation of rules.
 * @throws Undecided
 * @see https://github.com/google/cel-spec/blob/v0.24.0/doc/langdef.md
 */
export function judgeByReference(rule: CelExpression, properties: readonly Property[]): CelVerdict {
  try {
    new ReferenceTypes().check(rule);
    const list = properties.map(({ type, value }) => fromJson({ type, value }));
    return asBool(evaluate(rule, new Map([["properties", { is: "list", v: list }]]))) ? "true" : "false";
  } catch (err) {
    if (err instanceof InvalidRule) return "malformed";
    if (err instanceof EvaluationError) return "error";
    throw err;
  }
}

function fail(reason: string): never {
  throw new EvaluationError(reason);
}

function fromJson(json: unknown): Value {
  if (json === null || json === undefined) return { is: "null" };
  if (typeof json === "boolean") return { is: "bool", v: json };
  if (typeof json === "number") return { is: "double", v: json };
  if (typeof json === "string") return { is: "string", v: json };
  if (Array.isArray(json)) return { is: "list", v: json.map(fromJson) };
  return { is: "map", v: Object.entries(json).map(([key, value]) => [{ is: "string", v: key }, fromJson(value)]) };
}

function fromConstant(constant: CelConstant): Value {
  if (constant.type === "null") return { is: "null" };
  if (constant.type === "bytes") return { is: "bytes", v: [...Buffer.from(constant.value, "utf8")] };
  return { is: constant.type, v: constant.value } as Value;
}

function asBool(value: Value): boolean {
  return value.is === "bool" ? value.v : fail("not a bool");
}

function evaluate(expression: CelExpression, variables: Variables): Value {
  switch (expression.kind) {
    case "constant":
      return fromConstant(expression.constant);
    case "name":
      return variables.get(expression.name) ?? { is: "type", v: expression.name };
    case "list":
      return { is: "list", v: expression.items.map((item) => evaluate(item, variables)) };
    case "map":
      return createMap(expression.entries.map(([key, value]) => [evaluate(key, variables), evaluate(value, variables)] as const));
    case "field": {
      const operand = evaluate(expression.of, variables);
      const found = operand.is === "map" ? findEntry(operand.v, { is: "string", v: expression.field }) : undefined;
      if (!expression.isTest) return found ?? fail("no such key");
      return operand.is === "list" ? fail("a list has no fields") : { is: "bool", v: found !== undefined };
    }
    case "macro":
      return iterate(expression, variables);
    case "call":
    default:
      return callFunction(expression, variables);
  }
}

/** Creates a map: keys of different types differ, and of the same keys the last one counts. */
function createMap(entries: readonly (readonly [Value, Value])[]): Value {
  if (entries.some(([key]) => key.is === "bytes")) fail("bytes cannot be keys");
  const isSame = (a: Value, b: Value): boolean => a.is === b.is && a.is !== "list" && a.is !== "map" && areEqual(a, b);
  return { is: "map", v: entries.filter(([key], i) => !entries.slice(i + 1).some(([other]) => isSame(key, other))) };
}

/** Finds the value of a key of the same type, or of an integer of another type that has the same value. */
function findEntry(entries: readonly (readonly [Value, Value])[], key: Value): Value | undefined {
  const exact = entries.find(([other]) => other.is === key.is && areEqual(other, key));
  if (exact) return exact[1];
  if (key.is !== "int" && key.is !== "uint" && key.is !== "double") return undefined;
  if (key.is === "double" && !Number.isInteger(key.v)) return undefined;
  const value = BigInt(key.v);
  for (const is of ["int", "uint"]) {
    const found = entries.find(([other]) => other.is === is && (other.is === "int" || other.is === "uint") && other.v === value);
    if (found) return found[1];
  }
  return undefined;
}

/** Evaluates for each element; errors count only where no other element decides. */
function iterate({ name, of, variable, body }: CelExpression & { kind: "macro" }, variables: Variables): Value {
  const range = evaluate(of, variables);
  const elements = range.is === "list" ? range.v : range.is === "map" ? range.v.map(([key]) => key) : fail("no range");
  const scopes = elements.map((element) => new Map(variables).set(variable, element));
  const [first, last] = [body[0], body.at(-1)];
  if (!first || !last) return fail("no body");
  const test = (scope: Variables): boolean => asBool(evaluate(first, scope));
  switch (name) {
    case "all":
      return { is: "bool", v: !decide(scopes.map((scope) => () => !test(scope))) };
    case "exists":
      return { is: "bool", v: decide(scopes.map((scope) => () => test(scope))) };
    case "exists_one":
      return { is: "bool", v: scopes.filter(test).length === 1 };
    case "filter":
      return { is: "list", v: elements.filter((_, i) => test(scopes[i] ?? variables)) };
    case "map":
    default:
      return { is: "list", v: scopes.filter((scope) => body.length === 1 || test(scope)).map((scope) => evaluate(last, scope)) };
  }
}

/** Returns true if one of the conditions is true, false if all are false. @throws EvaluationError of another one otherwise */
function decide(conditions: readonly (() => boolean)[]): boolean {
  let failed: EvaluationError | undefined;
  for (const condition of conditions) {
    try {
      if (condition()) return true;
    } catch (err) {
      if (!(err instanceof EvaluationError)) throw err;
      failed = err;
    }
  }
  if (failed) throw failed;
  return false;
}

function callFunction({ name, args }: CelExpression & { kind: "call" }, variables: Variables): Value {
  const test = (arg: CelExpression): boolean => asBool(evaluate(arg, variables));
  if (name === "||") return { is: "bool", v: decide(args.map((arg) => () => test(arg))) };
  if (name === "&&") return { is: "bool", v: !decide(args.map((arg) => () => !test(arg))) };
  if (name === "?:") {
    const [condition, then, otherwise] = args;
    return condition && then && otherwise ? evaluate(test(condition) ? then : otherwise, variables) : fail("no branches");
  }
  return applyFunction(
    name,
    args.map((arg) => evaluate(arg, variables)),
  );
}

function applyFunction(name: string, [a = { is: "null" }, b = { is: "null" }]: readonly Value[]): Value {
  switch (name) {
    case "!":
      return { is: "bool", v: !asBool(a) };
    case "==":
      return { is: "bool", v: areEqual(a, b) };
    case "!=":
      return { is: "bool", v: !areEqual(a, b) };
    case "<":
      return { is: "bool", v: compare(a, b) < 0 };
    case "<=":
      return { is: "bool", v: compare(a, b) <= 0 };
    case ">":
      return { is: "bool", v: compare(a, b) > 0 };
    case ">=":
      return { is: "bool", v: compare(a, b) >= 0 };
    case "in":
      if (b.is === "list") return { is: "bool", v: b.v.some((item) => areEqual(item, a)) };
      return b.is === "map" ? { is: "bool", v: findEntry(b.v, a) !== undefined } : fail("not a container");
    case "[]":
      return access(a, b);
    case "neg":
      return a.is === "double" ? { is: "double", v: -a.v } : a.is === "int" ? checkRange("int", -a.v) : fail("no number");
    case "size":
      if (a.is === "string") return { is: "int", v: BigInt(Array.from(a.v).length) };
      return a.is === "list" || a.is === "map" || a.is === "bytes" ? { is: "int", v: BigInt(a.v.length) } : fail("no size");
    case "contains":
    case "startsWith":
    case "endsWith":
    case "matches":
      return a.is === "string" && b.is === "string" ? { is: "bool", v: testText(name, a.v, b.v) } : fail("not strings");
    case "semver_compare":
      return { is: "int", v: BigInt(compareVersions(parseVersion(a), parseVersion(b))) };
    case "type":
      return { is: "type", v: a.is === "null" ? "null_type" : a.is };
    case "dyn":
      return a;
    default:
      return ["+", "-", "*", "/", "%"].includes(name) ? calculate(name, a, b) : convert(name, a);
  }
}

function isNumber(value: Value): value is Value & { is: "int" | "uint" | "double" } {
  return value.is === "int" || value.is === "uint" || value.is === "double";
}

function areEqual(a: Value, b: Value): boolean {
  if (isNumber(a) && isNumber(b)) return a.is === "double" || b.is === "double" ? Number(a.v) === Number(b.v) : a.v === b.v;
  if (a.is === "list" && b.is === "list")
    return a.v.length === b.v.length && a.v.every((item, i) => areEqual(item, b.v[i] ?? fail("no item")));
  if (a.is === "map" && b.is === "map")
    return (
      a.v.length === b.v.length &&
      a.v.every(([key, value]) => {
        const other = findEntry(b.v, key);
        return other !== undefined && areEqual(value, other);
      })
    );
  if (a.is === "null" || b.is === "null") return a.is === b.is;
  if (a.is === "bytes" && b.is === "bytes") return a.v.join() === b.v.join();
  return a.is === b.is && a.v === b.v;
}

/** Compares as the ordering operators do: negative, zero or positive. */
function compare(a: Value, b: Value): number {
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = a.is === "double" || b.is === "double" ? [Number(a.v), Number(b.v)] : [a.v, b.v];
    if (Number.isNaN(x) || Number.isNaN(y)) fail("not a number");
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.is === "string" && b.is === "string") return Buffer.compare(Buffer.from(a.v), Buffer.from(b.v));
  if (a.is === "bytes" && b.is === "bytes") return Buffer.compare(Buffer.from(a.v), Buffer.from(b.v));
  return a.is === "bool" && b.is === "bool" ? Number(a.v) - Number(b.v) : fail("no order");
}

function access(operand: Value, key: Value): Value {
  if (operand.is === "list" && isNumber(key)) return operand.v[Number(key.v)] ?? fail("out of bounds");
  if (operand.is !== "map" || !(isNumber(key) || key.is === "string" || key.is === "bool")) return fail("no index");
  return findEntry(operand.v, key) ?? fail("no such key");
}

function checkRange(is: "int" | "uint", v: bigint): Value {
  return v < RANGES[is][0] || v > RANGES[is][1] ? fail("overflow") : { is, v };
}

function calculate(operator: string, a: Value, b: Value): Value {
  if (operator === "+" && a.is === "string" && b.is === "string") return { is: "string", v: a.v + b.v };
  if (operator === "+" && a.is === "bytes" && b.is === "bytes") return { is: "bytes", v: [...a.v, ...b.v] };
  if (operator === "+" && a.is === "list" && b.is === "list") return { is: "list", v: [...a.v, ...b.v] };
  if (a.is === "double" && b.is === "double" && operator !== "%") {
    const results: Readonly<Record<string, number>> = { "+": a.v + b.v, "-": a.v - b.v, "*": a.v * b.v, "/": a.v / b.v };
    return { is: "double", v: results[operator] ?? fail("no operator") };
  }
  if (!((a.is === "int" && b.is === "int") || (a.is === "uint" && b.is === "uint"))) return fail("no overload");
  if ("/%".includes(operator)) {
    if (b.v === 0n) fail("division by zero");
    checkRange(a.is, a.v / b.v);
  }
  switch (operator) {
    case "+":
      return checkRange(a.is, a.v + b.v);
    case "-":
      return checkRange(a.is, a.v - b.v);
    case "*":
      return checkRange(a.is, a.v * b.v);
    default:
      return checkRange(a.is, operator === "/" ? a.v / b.v : a.v % b.v);
  }
}

function testText(name: string, text: string, part: string): boolean {
  if (name !== "matches")
    return name === "contains" ? text.includes(part) : name === "startsWith" ? text.startsWith(part) : text.endsWith(part);
  // The generated expressions mean the same in RE2 and in JavaScript, or are invalid in both.
  try {
    return new RegExp(part, "u").test(text);
  } catch {
    return fail("no regular expression");
  }
}

function convert(to: string, value: Value): Value {
  if (value.is === to) return value;
  switch (to) {
    case "bool":
      return value.is === "string" ? { is: "bool", v: TRUTHS[value.v] ?? fail("no bool") } : fail("no bool");
    case "bytes":
      return value.is === "string" ? { is: "bytes", v: [...Buffer.from(value.v, "utf8")] } : fail("no bytes");
    case "string":
      return toText(value);
    case "double":
      if (value.is === "string")
        return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(value.v) ? { is: "double", v: Number(value.v) } : fail("no double");
      return isNumber(value) ? { is: "double", v: Number(value.v) } : fail("no double");
    case "int":
    case "uint":
      return toInteger(to, value);
    default:
      return fail(to);
  }
}

function toInteger(to: "int" | "uint", value: Value): Value {
  if (value.is === "string")
    return (to === "int" ? /^[+-]?\d+$/ : /^\d+$/).test(value.v) ? checkRange(to, BigInt(value.v.replace("+", ""))) : fail("no integer");
  if (value.is !== "double") return isNumber(value) ? checkRange(to, value.v) : fail("no integer");
  const { v } = value;
  const isInside = to === "int" ? Math.abs(v) < 2 ** 63 : v >= 0 && v < 2 ** 64;
  return isInside ? { is: to, v: BigInt(Math.trunc(v)) } : fail("overflow");
}

function toText(value: Value): Value {
  if (value.is === "bool" || value.is === "int" || value.is === "uint") return { is: "string", v: String(value.v) };
  if (value.is === "double") return { is: "string", v: formatGoFloat(value.v) };
  if (value.is !== "bytes") return fail("no string");
  const text = Buffer.from(value.v).toString("utf8");
  return Buffer.from(text, "utf8").equals(Buffer.from(value.v)) ? { is: "string", v: text } : fail("no UTF-8");
}

/** Formats with the shortest digits; with an exponent of at least two digits outside of 0.0001 to 1000000. */
function formatGoFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : `${value < 0 ? "-" : "+"}Inf`;
  if (Object.is(value, -0)) return "-0";
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return `${value}`;
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

interface ReferenceVersion {
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];
}

function parseVersion(value: Value): ReferenceVersion {
  const text = value.is === "string" ? value.v : isNumber(value) ? (toText(value) as { v: string }).v : "";
  const [, major = "", minor = "0", patch = "0", prerelease] =
    /^v?(\d+)(?:\.(\d+)(?:\.(\d+)(?:-([\da-z.-]+))?)?)?$/.exec(text) ?? fail("no version");
  const numbers = [major, minor, patch].map(BigInt);
  if (numbers.some((number) => number > RANGES.uint[1])) fail("no version");
  return { numbers, prerelease: prerelease?.split(".") ?? [] };
}

function compareVersions(a: ReferenceVersion, b: ReferenceVersion): number {
  for (const [i, number] of a.numbers.entries()) {
    const other = b.numbers[i] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return Math.sign(b.prerelease.length - a.prerelease.length);
  const [x, y] = [a.prerelease.join("."), b.prerelease.join(".")];
  return x < y ? -1 : Number(x > y);
}
