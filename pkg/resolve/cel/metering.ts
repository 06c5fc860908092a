import {
  type CelFunc,
  type CelInput,
  type CelList,
  type CelMap,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celList,
  celMethod,
  isCelError,
  isCelList,
  isCelMap,
  listType,
} from "@bufbuild/cel";
import { compareVersions, parseOperatorVersion, parseVersion, type Version } from "../../version/version.ts";

/**
 * Counts the steps of each evaluation, and ends an evaluation that exceeds the limit. A step is about the cost of visiting one node of a rule: 0.1 to
 * 1 microseconds.
 */
export class Meter {
  readonly #most: number;
  readonly #end = new Error("the rule exceeds its step limit");
  #spent = 0;
  /** Steps left for all further evaluations together. */
  #allowance = Number.POSITIVE_INFINITY;
  #wasRefused = false;

  /** @param most maximum number of steps of one evaluation */
  constructor(most: number) {
    this.#most = most;
  }

  /** Steps since the last `reset`. Exceeds the limit by one when the steps have run out. */
  get spent(): number {
    return this.#spent;
  }

  /** Remaining steps. */
  get left(): number {
    return Math.max(0, this.#most - this.#spent);
  }

  get exhausted(): boolean {
    return this.#spent > this.#most;
  }

  /** Always true. @throws Error if the steps have run out */
  get alive(): true {
    if (this.exhausted) throw this.#end;
    return true;
  }

  /** Reports whether an evaluation has been refused since the last grant. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** Sets how many steps all further evaluations may take together; the last of them may exceed this by its own limit. */
  grant(steps: number): void {
    this.#allowance = steps;
    this.#wasRefused = false;
  }

  /** Reports whether another evaluation is allowed. */
  admits(): boolean {
    if (this.#allowance <= 0) this.#wasRefused = true;
    return this.#allowance > 0;
  }

  /** Deducts the steps of a finished evaluation. */
  settle(): void {
    this.#allowance -= this.#spent;
  }

  reset(): void {
    this.#spent = 0;
  }

  /**
   * Charges steps. Call it before doing the work.
   * @throws Error if the steps have run out, then for every call until `reset`
   */
  spend(steps: number): void {
    this.#spent = Math.min(this.#spent + steps, this.#most + 1);
    if (this.exhausted) throw this.#end;
  }
}

/** Number of characters or bytes that one step compares or copies. */
const TEXT_STEP = 64;

/** Returns the length of a string or of bytes, or the number of values in a list or map; 0 for everything else. */
function getSize(value: CelValue | undefined): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  return isContainer(value) ? value.size : 0;
}

/** Reports whether a value contains other values. */
function isContainer(value: unknown): value is CelList | CelMap {
  return isCelList(value) || isCelMap(value);
}

/**
 * Returns the cost, in steps, of visiting `value` and everything in it. A value that occurs several times is counted each time.
 * @param most counting stops at this limit
 */
export function computeDeepCost(value: CelValue, most: number): number {
  let cost = 0;
  for (const step of listCosts(value)) if ((cost += step) > most) break;
  return cost;
}

/**
 * Returns the cost of comparing two values. Counts both alternately, because a comparison ends at the first difference or at the end of the smaller
 * value.
 */
export function computeComparisonCost(left: CelValue, right: CelValue, most: number): number {
  if (!isContainer(left) || !isContainer(right)) return Math.min(getSize(left), getSize(right)) / TEXT_STEP;
  if (isCelList(left) !== isCelList(right) || left.size !== right.size) return 1;
  const others = listCosts(right);
  let [cost, otherCost] = [0, 0];
  for (const step of listCosts(left)) {
    const other = others.next();
    cost += step;
    otherCost += other.done ? 0 : other.value;
    if (other.done || Math.min(cost, otherCost) > most) break;
  }
  return Math.min(cost, otherCost);
}

/** Yields the cost of each value inside `root`, itself included. */
function* listCosts(root: CelValue): Generator<number, void> {
  const open: Iterator<CelValue>[] = [[root].values()];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { done, value } = last.next();
    if (done === true) open.pop();
    else {
      yield 1 + (isContainer(value) ? 0 : getSize(value) / TEXT_STEP);
      if (isContainer(value)) open.push(isCelList(value) ? value[Symbol.iterator]() : value.values());
    }
  }
}

const MAX_PATTERN = 256;
const MAX_EXPANDED = 2_000;
/** Assumed size of a Unicode class such as `\pL`, which has hundreds of ranges. */
const CLASS_SIZE = 50;

/**
 * Returns an upper estimate of the number of instructions of a regular expression (RE2): repetitions are expanded, and nested counts multiply.
 * Matching takes at most that many steps for each character.
 * @throws Error for more than 2,000 instructions, or an expression longer than 256 characters
 */
export function estimatePatternSize(pattern: string): number {
  if (pattern.length > MAX_PATTERN) throw new Error(`the regular expression is longer than ${MAX_PATTERN} characters`);
  let size = pattern.length;
  for (const [, least = "", most = ""] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) size *= Math.max(1, Number(least), Number(most));
  size *= /\\[pP]/.test(pattern) ? CLASS_SIZE : 1;
  if (size > MAX_EXPANDED) throw new Error(`the expanded regular expression exceeds the limit of ${MAX_EXPANDED} instructions`);
  return size;
}

/** Wraps the range of a comprehension, which is charged `weight` steps for each of its values before it begins. */
export const RANGE = "@range";
/** Wraps an indexed operand, because indexing a map may search it. */
export const INDEXED = "@indexed";

const { DYN, INT } = CelScalar;
const LIST = listType(DYN);
/** Maximum length of a string that is parsed as a number. */
const MAX_NUMBER = 64;
const MAX_VERSION = 256;
/** Number of values of a list or map that one step copies or searches. */
const COPY_STEP = 32;
/** Times and durations do not occur in bundle properties, and time zones are expensive. */
const LEFT_OUT = /^(timestamp|duration|get[A-Z]\w*)$/;
/** Steps that a call takes in addition to its node, by its arguments; the target of a method comes first. */
type Cost = (values: readonly CelValue[], meter: Meter) => number;
/** By name. Functions that are not listed take constant time. */
const COSTS: Readonly<Record<string, Cost>> = {
  "_==_": computeEqualityCost,
  "_!=_": computeEqualityCost,
  "_<_": computeTextCost,
  "_<=_": computeTextCost,
  "_>_": computeTextCost,
  "_>=_": computeTextCost,
  "_+_": computeTextCost,
  size: ([value]) => (typeof value === "string" ? value.length / 8 : 0),
  "@in": computeMembershipCost,
  // A search may compare every position with every character of the search string.
  contains: ([text, part]) => (getSize(text) * getSize(part)) / TEXT_STEP,
  startsWith: ([, part]) => getSize(part) / TEXT_STEP,
  endsWith: ([, part]) => getSize(part) / TEXT_STEP,
  matches: computeMatchCost,
  int: computeNumberCost,
  uint: computeNumberCost,
  double: computeNumberCost,
  bool: computeNumberCost,
  bytes: computeTextCost,
  string: computeTextCost,
};

/**
 * Returns the functions that rules may call, by name: the CEL standard library without times and durations, and `semver_compare(a, b)`, which OLM v0
 * adds. Each function counts its steps in `meter` before it runs.
 */
export function createMeteredFunctions(meter: Meter): CelFunc[] {
  const standard = [...celEnv().funcs].filter(({ name }) => !LEFT_OUT.test(name));
  const wrapped = standard.filter(({ name }) => Object.hasOwn(COSTS, name)).map((func) => metered(func, COSTS[func.name] as Cost, meter));
  return [
    ...wrapped,
    celFunc("_+_", [LIST, LIST], LIST, createConcatenation(meter)),
    celFunc(RANGE, [DYN, INT], DYN, (values, weight) => {
      meter.spend(getSize(values) * Number(weight));
      return values;
    }),
    celFunc(INDEXED, [DYN], DYN, (values) => {
      meter.spend(getSize(values) / COPY_STEP);
      return values;
    }),
    celFunc("semver_compare", [DYN, DYN], INT, (a, b) => {
      meter.spend(20);
      return BigInt(compareVersions(parseTolerantVersion(a), parseTolerantVersion(b)));
    }),
  ];
}

/** Reports whether rules may call the function with this name, from the standard library or OLM. */
export function isAvailable(name: string): boolean {
  return !LEFT_OUT.test(name);
}

function metered(func: CelFunc, cost: Cost, meter: Meter): CelFunc {
  const run = (target: CelValue | undefined, args: CelValue[]): CelInput => {
    meter.spend(cost(target === undefined ? args : [target, ...args], meter));
    const result = func.call(0, target, args);
    if (result === undefined || isCelError(result)) throw result ?? new Error("no overload");
    return result;
  };
  if (func.target === undefined) return celFunc(func.name, func.arguments, func.result, (...args) => run(undefined, args as CelValue[]));
  return celMethod(func.name, func.target, func.arguments, func.result, function (...args) {
    return run(this, args as CelValue[]);
  });
}

/**
 * Returns a function that joins lists into a flat list. The library's own result keeps its parts, so walking a list that grew one by one takes
 * quadratic time.
 */
function createConcatenation(meter: Meter): (left: CelList, right: CelList) => CelList {
  const arrays = new WeakMap<CelList, readonly CelValue[]>();
  const toArray = (list: CelList): readonly CelValue[] => {
    let array = arrays.get(list);
    if (!array) arrays.set(list, (array = [...list]));
    return array;
  };
  return (left, right) => {
    meter.spend((left.size + right.size) / COPY_STEP);
    const array = toArray(left).concat(toArray(right));
    const list = celList(array);
    arrays.set(list, array);
    return list;
  };
}

function computeTextCost(values: readonly CelValue[]): number {
  return values.reduce<number>((cost, value) => cost + getSize(value), 0) / TEXT_STEP;
}

function computeEqualityCost([left, right]: readonly CelValue[], meter: Meter): number {
  return left === undefined || right === undefined ? 0 : computeComparisonCost(left, right, meter.left);
}

function computeMembershipCost([value, among]: readonly CelValue[], meter: Meter): number {
  return isContainer(value) && among !== undefined ? computeDeepCost(among, meter.left) : getSize(among);
}

function computeMatchCost([text, pattern]: readonly CelValue[]): number {
  const size = typeof pattern === "string" ? estimatePatternSize(pattern) : 0;
  return 2 * size + (getSize(text) * size) / 8;
}

function computeNumberCost([text]: readonly CelValue[]): number {
  if (typeof text === "string" && text.length > MAX_NUMBER)
    throw new Error(`cannot convert a string of ${text.length} characters to a number: maximum ${MAX_NUMBER}`);
  return 0;
}

/** Parses an argument as OLM v0's `semver_compare` does: strings and numbers, with or without a leading v, of one to three parts. */
function parseTolerantVersion(value: CelValue): Version {
  const text = typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : "";
  if (text.length > MAX_VERSION) throw new Error(`cannot parse a string of ${text.length} characters as a version: maximum ${MAX_VERSION}`);
  return parseVersion(parseOperatorVersion(text));
}
