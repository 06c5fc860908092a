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
import { compareVersions, operatorVersion, parseVersion, type Version } from "../../version/version.ts";

/**
 * Counts the steps of one evaluation after another and ends what takes more than it may. A step is about what it takes to look at one node
 * of a rule, some tenths of a microsecond to one.
 */
export class Meter {
  readonly #most: number;
  readonly #end = new Error("it takes more than it may");
  #spent = 0;
  /** Steps that evaluations may take together from now on. */
  #allowance = Number.POSITIVE_INFINITY;
  #wasRefused = false;

  /** @param most steps of one evaluation. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Steps since the last `reset`; one more than there may be once they have run out. */
  get spent(): number {
    return this.#spent;
  }

  /** Steps that are left. */
  get left(): number {
    return Math.max(0, this.#most - this.#spent);
  }

  get exhausted(): boolean {
    return this.#spent > this.#most;
  }

  /** True. @throws Error when the steps have run out. */
  get alive(): true {
    if (this.exhausted) throw this.#end;
    return true;
  }

  /** Whether evaluations have been refused since the last grant. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  /** How many steps all evaluations may take together from now on; the last of them may take its own on top. */
  grant(steps: number): void {
    this.#allowance = steps;
    this.#wasRefused = false;
  }

  /** Whether there may be another evaluation. */
  admits(): boolean {
    if (this.#allowance <= 0) this.#wasRefused = true;
    return this.#allowance > 0;
  }

  /** After an evaluation. */
  settle(): void {
    this.#allowance -= this.#spent;
  }

  reset(): void {
    this.#spent = 0;
  }

  /**
   * To be called before the work is done.
   * @throws Error when there is no more to spend, now and ever until `reset`.
   */
  spend(steps: number): void {
    this.#spent = Math.min(this.#spent + steps, this.#most + 1);
    if (this.exhausted) throw this.#end;
  }
}

/** Characters or bytes that one step compares or copies. */
const TEXT_STEP = 64;

/** Length of a text or of bytes, number of the values in a list or map; 0 for everything else. */
function sizeOf(value: CelValue | undefined): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  return isContainer(value) ? value.size : 0;
}

/** Whether other values are inside it. */
function isContainer(value: unknown): value is CelList | CelMap {
  return isCelList(value) || isCelMap(value);
}

/**
 * What looking at `value` and at all that is inside it costs, in steps; where one value is reached in several ways, each counts.
 * @param most where counting ends.
 */
export function deepCost(value: CelValue, most: number): number {
  let cost = 0;
  for (const step of costsOf(value)) if ((cost += step) > most) break;
  return cost;
}

/** What comparing two values costs: the first difference ends it, at the latest when the smaller one has been seen, so counting goes on in both by turns. */
export function comparisonCost(left: CelValue, right: CelValue, most: number): number {
  if (!isContainer(left) || !isContainer(right)) return Math.min(sizeOf(left), sizeOf(right)) / TEXT_STEP;
  if (isCelList(left) !== isCelList(right) || left.size !== right.size) return 1;
  const others = costsOf(right);
  let [cost, otherCost] = [0, 0];
  for (const step of costsOf(left)) {
    const other = others.next();
    cost += step;
    otherCost += other.done ? 0 : other.value;
    if (other.done || Math.min(cost, otherCost) > most) break;
  }
  return Math.min(cost, otherCost);
}

/** The cost of each value inside `root`, one after another, with its own. */
function* costsOf(root: CelValue): Generator<number, void> {
  const open: Iterator<CelValue>[] = [[root].values()];
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { done, value } = last.next();
    if (done === true) open.pop();
    else {
      yield 1 + (isContainer(value) ? 0 : sizeOf(value) / TEXT_STEP);
      if (isContainer(value)) open.push(isCelList(value) ? value[Symbol.iterator]() : value.values());
    }
  }
}

const MAX_PATTERN = 256;
const MAX_EXPANDED = 2_000;
/** What a class of Unicode, such as `\pL`, counts for: hundreds of ranges. */
const CLASS_SIZE = 50;

/**
 * About how many instructions a regular expression (RE2) has, never less: repetitions are written out, and counts inside counts multiply.
 * Matching takes at most that many steps for each character.
 * @throws Error when there are more than 2,000, or the expression is longer than 256 characters.
 */
export function patternSize(pattern: string): number {
  if (pattern.length > MAX_PATTERN) throw new Error(`the regular expression has more than ${MAX_PATTERN} characters`);
  let size = pattern.length;
  for (const [, least = "", most = ""] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) size *= Math.max(1, Number(least), Number(most));
  size *= /\\[pP]/.test(pattern) ? CLASS_SIZE : 1;
  if (size > MAX_EXPANDED) throw new Error("the regular expression repeats too much");
  return size;
}

/** Put around what a comprehension goes through: it is paid for at once, `weight` steps for each of its values. */
export const RANGE = "@range";
/** Put around what is indexed: a map may be searched through. */
export const INDEXED = "@indexed";

const { DYN, INT } = CelScalar;
const LIST = listType(DYN);
/** Longest text that is read as a number. */
const MAX_NUMBER = 64;
const MAX_VERSION = 256;
/** Of a list or map, how many values one step copies or searches. */
const COPY_STEP = 32;
/** Times and durations are no part of a bundle's properties, and zones of time cost much. */
const LEFT_OUT = /^(timestamp|duration|get[A-Z]\w*)$/;
/** Steps that a call takes besides its node, by the values that it is given: the target of a method first. */
type Cost = (values: readonly CelValue[], meter: Meter) => number;
/** By name; the functions of other names take the same time whatever they are given. */
const COSTS: Readonly<Record<string, Cost>> = {
  "_==_": equalityCost,
  "_!=_": equalityCost,
  "_<_": textCost,
  "_<=_": textCost,
  "_>_": textCost,
  "_>=_": textCost,
  "_+_": textCost,
  size: ([value]) => (typeof value === "string" ? value.length / 8 : 0),
  "@in": membershipCost,
  // A search may come back to each character for every one of what is searched.
  contains: ([text, part]) => (sizeOf(text) * sizeOf(part)) / TEXT_STEP,
  startsWith: ([, part]) => sizeOf(part) / TEXT_STEP,
  endsWith: ([, part]) => sizeOf(part) / TEXT_STEP,
  matches: matchCost,
  int: numberCost,
  uint: numberCost,
  double: numberCost,
  bool: numberCost,
  bytes: textCost,
  string: textCost,
};

/**
 * The functions that rules may call, by name: those of CEL's standard without times and durations, and `semver_compare(a, b)`, which OLM v0
 * adds. Each spends on `meter` before it works.
 */
export function meteredFunctions(meter: Meter): CelFunc[] {
  const standard = [...celEnv().funcs].filter(({ name }) => !LEFT_OUT.test(name));
  const wrapped = standard.filter(({ name }) => Object.hasOwn(COSTS, name)).map((func) => metered(func, COSTS[func.name] as Cost, meter));
  return [
    ...wrapped,
    celFunc("_+_", [LIST, LIST], LIST, concatenation(meter)),
    celFunc(RANGE, [DYN, INT], DYN, (values, weight) => {
      meter.spend(sizeOf(values) * Number(weight));
      return values;
    }),
    celFunc(INDEXED, [DYN], DYN, (values) => {
      meter.spend(sizeOf(values) / COPY_STEP);
      return values;
    }),
    celFunc("semver_compare", [DYN, DYN], INT, (a, b) => {
      meter.spend(20);
      return BigInt(compareVersions(tolerantVersion(a), tolerantVersion(b)));
    }),
  ];
}

/** Whether rules may call the function of this name, which the standard or OLM has. */
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
 * Lists joined into a flat one: the library's own remembers the parts, and walking a list that grew by one at a time takes the square of its
 * length.
 */
function concatenation(meter: Meter): (left: CelList, right: CelList) => CelList {
  const arrays = new WeakMap<CelList, readonly CelValue[]>();
  const arrayOf = (list: CelList): readonly CelValue[] => {
    let array = arrays.get(list);
    if (!array) arrays.set(list, (array = [...list]));
    return array;
  };
  return (left, right) => {
    meter.spend((left.size + right.size) / COPY_STEP);
    const array = arrayOf(left).concat(arrayOf(right));
    const list = celList(array);
    arrays.set(list, array);
    return list;
  };
}

function textCost(values: readonly CelValue[]): number {
  return values.reduce<number>((cost, value) => cost + sizeOf(value), 0) / TEXT_STEP;
}

function equalityCost([left, right]: readonly CelValue[], meter: Meter): number {
  return left === undefined || right === undefined ? 0 : comparisonCost(left, right, meter.left);
}

function membershipCost([value, among]: readonly CelValue[], meter: Meter): number {
  return isContainer(value) && among !== undefined ? deepCost(among, meter.left) : sizeOf(among);
}

function matchCost([text, pattern]: readonly CelValue[]): number {
  const size = typeof pattern === "string" ? patternSize(pattern) : 0;
  return 2 * size + (sizeOf(text) * size) / 8;
}

function numberCost([text]: readonly CelValue[]): number {
  if (typeof text === "string" && text.length > MAX_NUMBER) throw new Error(`a text of ${text.length} characters is not read as a number`);
  return 0;
}

/** As OLM v0's `semver_compare` reads its arguments: texts and numbers, with or without a leading v, of one to three parts. */
function tolerantVersion(value: CelValue): Version {
  const text = typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : "";
  if (text.length > MAX_VERSION) throw new Error(`a text of ${text.length} characters is no version`);
  return parseVersion(operatorVersion(text));
}
