import { parseQuantityNanos } from "../golang/quantity.ts";
import { areEqual, createComparison, createFunctions, noOverload, type RuleFunction } from "./functions.ts";
import type { StepMeter } from "./meter.ts";
import { createTextFunctions, findText } from "./textFunctions.ts";
import { createTimeFunctions } from "./timeFunctions.ts";
import { createUrlFunctions } from "./urls.ts";
import { Failure, isList, OpaqueValue, type Result, UnsupportedFailure, type Value } from "./values.ts";

const QUANTITY = "kubernetes.Quantity";
const NANO = 1_000_000_000n;

/**
 * Creates the functions of rules in CustomResourceDefinitions: CEL's standard library, and of those that Kubernetes adds the functions of strings,
 * lists, URLs and quantities. Not included: `format`, `quote`, `find`, `findAll`, IP addresses, CIDRs, semantic versions, optional values, and
 * functions whose result depends on how a quantity is written (`isInteger`, `asInteger`).
 * @see https://kubernetes.io/docs/reference/using-api/cel/
 */
export function createKubernetesFunctions(): ReadonlyMap<string, RuleFunction> {
  return new Map<string, RuleFunction>([
    ...createFunctions(),
    ...createTextFunctions(),
    ...createTimeFunctions(),
    ...createUrlFunctions(),
    ["indexOf", (args, meter) => findText(args, meter, "first") ?? findElement(args, meter, "indexOf")],
    ["lastIndexOf", (args, meter) => findText(args, meter, "last") ?? findElement(args, meter, "lastIndexOf")],
    ["isSorted", isSorted],
    ["min", createExtreme("min", "_<_")],
    ["max", createExtreme("max", "_>_")],
    ["sum", computeSum],
    ["quantity", ([text]) => toQuantity(text)],
    ["isQuantity", ([text]) => (typeof text === "string" ? readQuantity(text) !== undefined : noOverload("isQuantity", text))],
    ["isGreaterThan", compareQuantities("isGreaterThan", (a, b) => a > b)],
    ["isLessThan", compareQuantities("isLessThan", (a, b) => a < b)],
    ["compareTo", compareQuantities("compareTo", (a, b) => (a < b ? -1n : BigInt(a > b)))],
    ["add", compareQuantities("add", (a, b) => newQuantity(a + b))],
    ["sub", compareQuantities("sub", (a, b) => newQuantity(a - b))],
    ["sign", getSign],
  ]);
}

function findElement([list = null, wanted = null]: readonly Value[], meter: StepMeter, name: "indexOf" | "lastIndexOf"): Result {
  if (!isList(list)) return noOverload(name, list, wanted);
  const isWanted = (item: Value): boolean => {
    meter.spend(1);
    return areEqual(item, wanted, meter);
  };
  return BigInt(name === "indexOf" ? list.findIndex(isWanted) : list.findLastIndex(isWanted));
}

function isSorted([list = null]: readonly Value[], meter: StepMeter): Result {
  if (!isList(list)) return noOverload("isSorted", list);
  const isGreater = createComparison("_>_", (order) => order > 0);
  for (let at = 1; at < list.length; at++) {
    meter.spend(1);
    const greater = isGreater([list[at - 1] ?? null, list[at] ?? null], meter);
    if (greater !== false) return greater === true ? false : greater;
  }
  return true;
}

function createExtreme(name: "min" | "max", operator: "_<_" | "_>_"): RuleFunction {
  const isBetter = createComparison(operator, (order) => (operator === "_<_" ? order < 0 : order > 0));
  return ([list = null], meter) => {
    if (!isList(list)) return noOverload(name, list);
    let best = list[0];
    if (best === undefined) return new Failure(`${name} called on empty list`);
    for (const item of list) {
      meter.spend(1);
      const better = isBetter([item, best], meter);
      if (better instanceof Failure) return better;
      if (better === true) best = item;
    }
    return best;
  };
}

function computeSum([list = null]: readonly Value[], meter: StepMeter): Result {
  if (!isList(list)) return noOverload("sum", list);
  const add = createFunctions().get("_+_");
  const [first, ...others] = list;
  if (first === undefined) return new UnsupportedFailure("the type of the sum of an empty list is not known");
  let sum: Value = first;
  for (const item of others) {
    meter.spend(1);
    const next: Result = add?.([sum, item], meter) ?? null;
    if (next instanceof Failure) return next;
    sum = next;
  }
  return sum;
}

function newQuantity(nanos: bigint): OpaqueValue<bigint> {
  return new OpaqueValue(QUANTITY, String(nanos), nanos);
}

/** @returns undefined if the text is not a quantity */
function readQuantity(text: string): bigint | undefined {
  try {
    return text === text.trim() ? parseQuantityNanos(text) : undefined;
  } catch {
    return undefined;
  }
}

function toQuantity(text: Value | undefined): Result {
  if (typeof text !== "string") return noOverload("quantity", text);
  const nanos = readQuantity(text);
  return nanos === undefined ? new Failure("quantity parse error") : newQuantity(nanos);
}

function isQuantityValue(value: Value | undefined): value is OpaqueValue<bigint> {
  return value instanceof OpaqueValue && value.type === QUANTITY;
}

function compareQuantities(name: string, compute: (left: bigint, right: bigint) => Value): RuleFunction {
  return ([left, right]) => {
    if (!isQuantityValue(left)) return noOverload(name, left, right);
    if (typeof right === "bigint" && (name === "add" || name === "sub")) return compute(left.content, right * NANO);
    return isQuantityValue(right) ? compute(left.content, right.content) : noOverload(name, left, right);
  };
}

function getSign([quantity]: readonly Value[]): Result {
  if (!isQuantityValue(quantity)) return noOverload("sign", quantity);
  return quantity.content < 0n ? -1n : BigInt(quantity.content > 0n);
}
