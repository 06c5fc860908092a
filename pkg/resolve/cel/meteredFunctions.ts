import { type Version, compareVersions, operatorVersion, parseVersion } from "../../version/version.ts";
import { TEXT_STEP, comparisonCost, deepCost, isContainer, sizeOf } from "./deepCost.ts";
import type { Meter } from "./meter.ts";
import { patternSize } from "./pattern.ts";
import { type CelFunc, type CelInput, type CelList, CelScalar, type CelValue, celEnv, celFunc, celList, celMethod, isCelError, listType } from "@bufbuild/cel";

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
