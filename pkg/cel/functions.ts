import { celEnv, isCelError } from "@bufbuild/cel";
import { formatDouble, parseBool, parseDouble, parseSigned, parseUnsigned } from "./goNumbers.ts";
import type { StepMeter } from "./meter.ts";
import {
  Failure,
  getTypeName,
  isList,
  MapValue,
  OpaqueValue,
  type Result,
  TimeValue,
  TypeValue,
  Uint,
  UnorderedList,
  UnsupportedFailure,
  type Value,
} from "./values.ts";

/** Number of characters or bytes that one step compares or copies. */
const TEXT_STEP = 64;
/** Number of values that one step copies. */
const COPY_STEP = 32;
/** Maximum length of a string that is parsed as a number. */
const MAX_NUMBER = 64;
const MAX_PATTERN = 256;
const MAX_EXPANDED = 2_000;
/** Assumed size of a Unicode class such as `\pL`, which has hundreds of ranges. */
const CLASS_SIZE = 50;
const INT_BITS = 64;
/** 2^63 and 2^64. */
const INT_END = 9_223_372_036_854_775_808;
const UINT_END = 18_446_744_073_709_551_616;

/** A function of rules. It charges the steps that depend on the size of its arguments before it runs. The target of a method comes first. */
export type RuleFunction = (args: readonly Value[], meter: StepMeter) => Result;

/**
 * Creates the functions and operators that rules may call, by name, except `&&`, `||` and `?:`: CEL's standard library without the functions of times
 * and durations. The results are those of cel-go.
 * @see https://github.com/google/cel-go/blob/v0.26.0/common/stdlib/standard.go
 */
export function createFunctions(): ReadonlyMap<string, RuleFunction> {
  return new Map<string, RuleFunction>([
    ["!_", ([value]) => (typeof value === "boolean" ? !value : noOverload("!_", value))],
    ["_==_", ([left = null, right = null], meter) => areEqual(left, right, meter)],
    ["_!=_", ([left = null, right = null], meter) => !areEqual(left, right, meter)],
    ["_<_", createComparison("_<_", (order) => order < 0)],
    ["_<=_", createComparison("_<=_", (order) => order <= 0)],
    ["_>_", createComparison("_>_", (order) => order > 0)],
    ["_>=_", createComparison("_>=_", (order) => order >= 0)],
    ["_+_", add],
    ["_-_", subtract],
    ["_*_", createArithmetic("_*_", { int: (a, b) => a * b, double: (a, b) => a * b })],
    ["_/_", createArithmetic("_/_", { int: (a, b) => (b === 0n ? undefined : a / b), double: (a, b) => a / b })],
    ["_%_", createArithmetic("_%_", { int: computeRemainder })],
    ["-_", negate],
    ["_[_]", getElement],
    ["@in", isMember],
    ["size", getSize],
    [
      "contains",
      createTextTest(
        "contains",
        (text, part) => text.includes(part),
        (text, part) => text.length * part.length,
      ),
    ],
    [
      "startsWith",
      createTextTest(
        "startsWith",
        (text, part) => text.startsWith(part),
        (_text, part) => part.length,
      ),
    ],
    [
      "endsWith",
      createTextTest(
        "endsWith",
        (text, part) => text.endsWith(part),
        (_text, part) => part.length,
      ),
    ],
    ["matches", createMatch()],
    ["type", ([value = null]) => new TypeValue(getTypeName(value))],
    ["dyn", ([value = null]) => value],
    ["bool", ([value]) => (typeof value === "boolean" ? value : convertText("bool", value, parseBool))],
    ["bytes", convertToBytes],
    ["double", convertToDouble],
    ["int", convertToInt],
    ["string", convertToString],
    ["uint", convertToUint],
  ]);
}

/** Returns the failure of a function that does not accept the types of its arguments. */
export function noOverload(name: string, ...values: readonly (Value | undefined)[]): Failure {
  const types = values.map((value) => (value === undefined ? "nothing" : getTypeName(value)));
  return new UnsupportedFailure(`found no matching overload for '${name}' applied to '(${types.join(", ")})'`);
}

/** Returns an `int`, or a failure if it is out of range. */
function toInt(value: bigint): Result {
  return BigInt.asIntN(INT_BITS, value) === value ? value : new Failure("integer overflow");
}

/** Returns a `uint`, or a failure if it is out of range. */
function toUint(value: bigint): Result {
  return BigInt.asUintN(INT_BITS, value) === value ? new Uint(value) : new Failure("unsigned integer overflow");
}

/** Reports whether two values are equal: numbers of different types by value, values of other different types never. */
export function areEqual(left: Value, right: Value, meter: StepMeter): boolean {
  if (left === null || right === null || typeof left === "boolean" || typeof right === "boolean") return left === right;
  if (isNumeric(left)) return isNumeric(right) && compareNumbers(left, right) === 0;
  if (typeof left === "string") {
    if (typeof right === "string") meter.spend(Math.min(left.length, right.length) / TEXT_STEP);
    return left === right;
  }
  if (left instanceof Uint8Array) return right instanceof Uint8Array && compareBytes(left, right, meter) === 0;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof MapValue) return right instanceof MapValue && areMapsEqual(left, right, meter);
  if (left instanceof TimeValue) return right instanceof TimeValue && left.kind === right.kind && left.nanos === right.nanos;
  if (left instanceof OpaqueValue) return right instanceof OpaqueValue && left.type === right.type && left.key === right.key;
  return isList(right) && areListsEqual(left, right, meter);
}

function areListsEqual(left: readonly Value[], right: readonly Value[], meter: StepMeter): boolean {
  if (left.length !== right.length) return false;
  if (left instanceof UnorderedList)
    return right.every((item) =>
      left.some((other) => {
        meter.spend(1);
        return areEqual(other, item, meter);
      }),
    );
  return left.every((item, i) => {
    meter.spend(1);
    return areEqual(item, right[i] ?? null, meter);
  });
}

function areMapsEqual(left: MapValue, right: MapValue, meter: StepMeter): boolean {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    meter.spend(1);
    const [value, other] = [left.get(key), right.get(key)];
    if (value === undefined || other === undefined || !areEqual(value, other, meter)) return false;
  }
  return true;
}

function isNumeric(value: Value): value is bigint | number | Uint {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** Compares two numbers; NaN if one of them is NaN. A double is compared with the double that is nearest to an integer. */
function compareNumbers(left: bigint | number | Uint, right: bigint | number | Uint): number {
  const [a, b] = [left, right].map((value) => (value instanceof Uint ? value.value : value));
  if (a === undefined || b === undefined) return Number.NaN;
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : Number(a > b);
  const [x, y] = [Number(a), Number(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
  return x < y ? -1 : Number(x > y);
}

function compareBytes(left: Uint8Array, right: Uint8Array, meter: StepMeter): number {
  const length = Math.min(left.length, right.length);
  meter.spend(length / TEXT_STEP);
  for (let i = 0; i < length; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Compares strings by code points, as Go does by their bytes in UTF-8. */
function compareTexts(left: string, right: string, meter: StepMeter): number {
  const length = Math.min(left.length, right.length);
  meter.spend(length / TEXT_STEP);
  for (let i = 0; i < length; i++) {
    if (left.charCodeAt(i) !== right.charCodeAt(i)) return (left.codePointAt(i) ?? 0) - (right.codePointAt(i) ?? 0);
  }
  return left.length - right.length;
}

/** Creates a comparison of two values of the same ordered type, or of two numbers. */
export function createComparison(name: string, decide: (order: number) => boolean): RuleFunction {
  return ([left = null, right = null], meter) => {
    if (isNumeric(left) && isNumeric(right)) {
      const order = compareNumbers(left, right);
      return Number.isNaN(order) ? new Failure("NaN values cannot be ordered") : decide(order);
    }
    if (typeof left === "string" && typeof right === "string") return decide(compareTexts(left, right, meter));
    if (typeof left === "boolean" && typeof right === "boolean") return decide(Number(left) - Number(right));
    if (left instanceof Uint8Array && right instanceof Uint8Array) return decide(compareBytes(left, right, meter));
    if (left instanceof TimeValue && right instanceof TimeValue && left.kind === right.kind)
      return decide(Number(left.nanos - right.nanos));
    return noOverload(name, left, right);
  };
}

/** Operations on numbers; those on int return undefined if the divisor is zero. */
interface Arithmetic {
  readonly int: (left: bigint, right: bigint) => bigint | undefined;
  readonly double?: (left: number, right: number) => number;
}

function createArithmetic(name: string, { int, double }: Arithmetic): RuleFunction {
  return ([left = null, right = null]) => {
    if (typeof left === "bigint" && typeof right === "bigint") {
      const result = int(left, right);
      return result === undefined ? new Failure("division by zero") : toInt(result);
    }
    if (left instanceof Uint && right instanceof Uint) {
      const result = int(left.value, right.value);
      return result === undefined ? new Failure("division by zero") : toUint(result);
    }
    return double && typeof left === "number" && typeof right === "number" ? double(left, right) : noOverload(name, left, right);
  };
}

/** Returns the remainder. The one of the least int and -1 overflows, as in Go. */
function computeRemainder(left: bigint, right: bigint): bigint | undefined {
  if (right === 0n) return undefined;
  return right === -1n && left === BigInt.asIntN(INT_BITS, 1n << BigInt(INT_BITS - 1)) ? -left : left % right;
}

function add([left = null, right = null]: readonly Value[], meter: StepMeter): Result {
  if (typeof left === "string" && typeof right === "string") {
    meter.spend((left.length + right.length) / TEXT_STEP);
    return left + right;
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    meter.spend((left.length + right.length) / TEXT_STEP);
    const sum = new Uint8Array(left.length + right.length);
    sum.set(left);
    sum.set(right, left.length);
    return sum;
  }
  if (left instanceof UnorderedList) return new UnsupportedFailure("lists of type set and map cannot be added");
  if (left instanceof TimeValue && right instanceof TimeValue && [left.kind, right.kind].includes("Duration"))
    return new TimeValue(left.kind === "Duration" ? right.kind : left.kind, left.nanos + right.nanos);
  if (isList(left) && isList(right)) {
    meter.spend((left.length + right.length) / COPY_STEP);
    return [...left, ...right];
  }
  return addNumbers([left, right], meter);
}

const addNumbers = createArithmetic("_+_", { int: (a, b) => a + b, double: (a, b) => a + b });

const subtractNumbers = createArithmetic("_-_", { int: (a, b) => a - b, double: (a, b) => a - b });

function subtract([left = null, right = null]: readonly Value[], meter: StepMeter): Result {
  const areTimes = left instanceof TimeValue && right instanceof TimeValue;
  if (!areTimes || (left.kind === "Duration" && right.kind === "Timestamp")) return subtractNumbers([left, right], meter);
  return new TimeValue(left.kind === right.kind ? "Duration" : left.kind, left.nanos - right.nanos);
}

function negate([value]: readonly Value[]): Result {
  if (typeof value === "bigint") return toInt(-value);
  return typeof value === "number" ? -value : noOverload("-_", value);
}

/** Returns the element of a list, or the value of a map. */
function getElement([operand = null, index = null]: readonly Value[], meter: StepMeter): Result {
  if (operand instanceof MapValue) {
    meter.spend(computeKeyCost(index));
    if (typeof index !== "string" && typeof index !== "boolean" && !isNumeric(index)) return noOverload("_[_]", operand, index);
    const value = operand.get(index);
    return value === undefined ? new Failure(`no such key: ${formatKey(index)}`) : value;
  }
  if (!isList(operand) || !isNumeric(index)) return noOverload("_[_]", operand, index);
  const position = Number(index instanceof Uint ? index.value : index);
  const value = operand[position];
  return value === undefined ? new Failure(`index out of bounds: ${position}`) : value;
}

/** Returns the steps of looking up a key of a map. */
export function computeKeyCost(key: Value): number {
  return typeof key === "string" ? key.length / TEXT_STEP : 0;
}

function formatKey(key: string | boolean | bigint | number | Uint): string {
  return String(key instanceof Uint ? key.value : key);
}

function isMember([value = null, among = null]: readonly Value[], meter: StepMeter): Result {
  if (among instanceof MapValue) {
    meter.spend(computeKeyCost(value));
    return among.has(value);
  }
  if (!isList(among)) return noOverload("@in", value, among);
  return among.some((item) => {
    meter.spend(1);
    return areEqual(item, value, meter);
  });
}

function getSize([value]: readonly Value[], meter: StepMeter): Result {
  if (typeof value === "string") {
    meter.spend(value.length / 8);
    let count = 0;
    for (const _ of value) count++;
    return BigInt(count);
  }
  if (value instanceof MapValue) return BigInt(value.size);
  return value instanceof Uint8Array || (value !== undefined && isList(value)) ? BigInt(value.length) : noOverload("size", value);
}

function createTextTest(
  name: string,
  test: (text: string, part: string) => boolean,
  countComparisons: (text: string, part: string) => number,
): RuleFunction {
  return ([text, part], meter) => {
    if (typeof text !== "string" || typeof part !== "string") return noOverload(name, text, part);
    meter.spend(countComparisons(text, part) / TEXT_STEP);
    return test(text, part);
  };
}

/** Creates `matches`, which uses the library's RE2 engine. An invalid expression is a failure, as in cel-go. */
function createMatch(): RuleFunction {
  const engine = celEnv().funcs.find("matches");
  return ([text, pattern], meter) => {
    if (typeof text !== "string" || typeof pattern !== "string") return noOverload("matches", text, pattern);
    const size = estimatePatternSize(pattern);
    if (size instanceof Failure) return size;
    meter.spend(2 * size + (text.length * size) / 8);
    const result = engine?.call(0, text, [pattern]);
    if (isCelError(result)) return new Failure(result.message);
    return typeof result === "boolean" ? result : noOverload("matches", text, pattern);
  };
}

/**
 * Returns an upper estimate of the number of instructions of a regular expression (RE2): repetitions are expanded, and nested counts multiply.
 * Matching takes at most that many steps for each character.
 * @returns a failure for more than 2,000 instructions, or an expression longer than 256 characters
 */
export function estimatePatternSize(pattern: string): number | Failure {
  if (pattern.length > MAX_PATTERN) return new UnsupportedFailure(`the regular expression is longer than ${MAX_PATTERN} characters`);
  let size = pattern.length;
  for (const [, least = "", most = ""] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) size *= Math.max(1, Number(least), Number(most));
  size *= /\\[pP]/.test(pattern) ? CLASS_SIZE : 1;
  if (size > MAX_EXPANDED)
    return new UnsupportedFailure(`the expanded regular expression exceeds the limit of ${MAX_EXPANDED} instructions`);
  return size;
}

/** Parses a string; `parse` returns undefined if it is not a value of the type. */
function convertText(type: string, value: Value | undefined, parse: (text: string) => Value | undefined): Result {
  if (typeof value !== "string") return noOverload(type, value);
  if (value.length > MAX_NUMBER)
    return new UnsupportedFailure(`cannot convert a string of ${value.length} characters to ${type}: maximum ${MAX_NUMBER}`);
  return parse(value) ?? new Failure(`type conversion error from 'string' to '${type}'`);
}

function convertToBytes([value]: readonly Value[], meter: StepMeter): Result {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== "string") return noOverload("bytes", value);
  meter.spend(value.length / TEXT_STEP);
  return new TextEncoder().encode(value);
}

function convertToDouble([value]: readonly Value[]): Result {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return value instanceof Uint ? Number(value.value) : convertText("double", value, parseDouble);
}

function convertToInt([value]: readonly Value[]): Result {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return toInt(value.value);
  if (typeof value !== "number") return convertText("int", value, parseSigned);
  return value > -INT_END && value < INT_END ? BigInt(Math.trunc(value)) : new Failure("integer overflow");
}

function convertToUint([value]: readonly Value[]): Result {
  if (value instanceof Uint) return value;
  if (typeof value === "bigint") return toUint(value);
  if (typeof value === "number")
    return value >= 0 && value < UINT_END ? new Uint(BigInt(Math.trunc(value))) : new Failure("unsigned integer overflow");
  return convertText("uint", value, (text) => {
    const parsed = parseUnsigned(text);
    return parsed === undefined ? undefined : new Uint(parsed);
  });
}

function convertToString([value]: readonly Value[], meter: StepMeter): Result {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") return formatDouble(value);
  if (value instanceof Uint) return String(value.value);
  if (!(value instanceof Uint8Array)) return noOverload("string", value);
  meter.spend(value.length / TEXT_STEP);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return new Failure("invalid UTF-8 in bytes, cannot convert to string");
  }
}
