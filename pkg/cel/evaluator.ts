import { computeKeyCost, type RuleFunction } from "./functions.ts";
import type { StepMeter } from "./meter.ts";
import type { Call, Comprehension, Expr } from "./ruleText.ts";
import { Failure, getTypeName, isList, MapValue, type Result, TypeValue, Uint, UnsupportedFailure, type Value } from "./values.ts";

/**
 * The type of the value that a conversion accepts, by the id of its call; missing if it accepts every type. Where the type of a value is not known,
 * such as that of `p.value["a"]`, cel-go binds it to that of the first conversion that is possible: `int(p.value["a"])` accepts an int only, while
 * `int(p.value.a)` accepts a double.
 */
export type Conversions = ReadonlyMap<bigint, string>;

type Constant = Extract<Expr["exprKind"], { case: "constExpr" }>["value"];
type MapExpr = Extract<Expr["exprKind"], { case: "structExpr" }>["value"];
/** The variables of one evaluation, by the slot that the compiler assigns to each. */
type Variables = Result[];
/** Computes the value of an expression. */
type Evaluation = (variables: Variables) => Result;
/** The slots of the variables that an expression can use. */
type Slots = ReadonlyMap<string, number>;

const MAX_NODES = 500;
const MAX_DEPTH = 64;
/** Maximum nesting of macros that iterate a list for each value of another. */
const MAX_LOOPS = 3;
/** The names of types, which are values themselves. */
const TYPE_NAMES: ReadonlySet<string> = new Set(["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"]);

/** A rule uses a variable that does not exist. */
export class UndeclaredReference extends Error {
  readonly reference: string;

  constructor(reference: string) {
    super(`undeclared reference to '${reference}'`);
    this.name = "UndeclaredReference";
    this.reference = reference;
  }
}

/**
 * Compiles checked rules to functions that charge a step for each expression that they evaluate. In contrast to the library's evaluator, its results
 * are those of cel-go, it cannot run longer than its meter allows, and it converts only the properties that a rule reads.
 * @see https://github.com/google/cel-spec/blob/v0.24.0/doc/langdef.md
 */
export class RuleCompiler {
  readonly #functions: ReadonlyMap<string, RuleFunction>;
  readonly #meter: StepMeter;
  readonly #variables: readonly string[];
  #conversions: Conversions = new Map();
  #nodes = 0;
  #slots = 0;

  /** @param variables the names of the variables that rules can use */
  constructor(meter: StepMeter, functions: ReadonlyMap<string, RuleFunction>, variables: readonly string[]) {
    this.#meter = meter;
    this.#functions = functions;
    this.#variables = variables;
  }

  /**
   * Compiles a rule whose types were checked. The function takes the values of the variables, and returns a bool or a failure.
   * @param conversions which value each conversion accepts. Default: every value
   * @throws UndeclaredReference; Error if the rule is too large, or calls a function that is not available
   */
  compile(root: Expr, conversions: Conversions = new Map()): (...values: Value[]) => Result {
    this.#nodes = 0;
    this.#conversions = conversions;
    this.#slots = this.#variables.length;
    const evaluate = this.#compile(root, new Map(this.#variables.map((name, slot) => [name, slot])), 0, 0);
    return (...values) => evaluate(values);
  }

  #compile(expr: Expr | undefined, slots: Slots, depth: number, loops: number): Evaluation {
    if (!expr) throw new Error("the rule is incomplete");
    if (++this.#nodes > MAX_NODES) throw new Error(`the rule consists of more than ${MAX_NODES} expressions`);
    if (depth > MAX_DEPTH) throw new Error(`expressions are nested deeper than ${MAX_DEPTH} levels`);
    const inner = (part: Expr | undefined): Evaluation => this.#compile(part, slots, depth + 1, loops);
    const evaluate = this.#compileKind(expr, inner, slots, depth, loops);
    const meter = this.#meter;
    return (variables) => {
      meter.spend(1);
      return evaluate(variables);
    };
  }

  #compileKind(
    { exprKind, id }: Expr,
    inner: (part: Expr | undefined) => Evaluation,
    slots: Slots,
    depth: number,
    loops: number,
  ): Evaluation {
    switch (exprKind.case) {
      case "constExpr": {
        const value = toValue(exprKind.value);
        return () => value;
      }
      case "identExpr":
        return compileName(exprKind.value.name.replace(/^\./, ""), slots);
      case "selectExpr": {
        const { field, testOnly, operand } = exprKind.value;
        const evaluate = inner(operand);
        return (variables) => {
          const value = evaluate(variables);
          if (value instanceof Failure) return value;
          return testOnly ? hasField(value, field) : getField(value, field);
        };
      }
      case "callExpr":
        return this.#compileCall(exprKind.value, id, inner);
      case "listExpr":
        return compileList(exprKind.value.elements.map(inner));
      case "structExpr":
        return this.#compileMap(exprKind.value, inner);
      case "comprehensionExpr":
        return this.#compileLoop(exprKind.value, slots, depth, loops);
      case undefined:
      default:
        throw new Error("the rule contains an unknown kind of expression");
    }
  }

  #compileCall({ function: name, target, args }: Call, id: bigint, inner: (part: Expr | undefined) => Evaluation): Evaluation {
    const parts = (target ? [target, ...args] : args).map(inner);
    if (name === "_&&_") return compileLogic(parts, false);
    if (name === "_||_") return compileLogic(parts, true);
    if (name === "_?_:_") return compileCondition(parts);
    if (name === "@not_strictly_false") return (variables) => parts[0]?.(variables) !== false;
    const func = this.#functions.get(name);
    if (!func) throw new Error(`function '${name}' is not available`);
    const accepted = this.#conversions.get(id);
    return this.#compileFunction(accepted === undefined ? func : restrict(func, name, accepted), parts);
  }

  #compileFunction(func: RuleFunction, parts: readonly Evaluation[]): Evaluation {
    const meter = this.#meter;
    return (variables) => {
      const args: Value[] = [];
      for (const evaluate of parts) {
        const value = evaluate(variables);
        if (value instanceof Failure) return value;
        args.push(value);
      }
      return func(args, meter);
    };
  }

  #compileMap({ entries }: MapExpr, inner: (part: Expr | undefined) => Evaluation): Evaluation {
    const pairs = entries.map(
      ({ keyKind, value }) => [inner(keyKind.case === "mapKey" ? keyKind.value : undefined), inner(value)] as const,
    );
    const meter = this.#meter;
    return (variables) => {
      const evaluated: [Value, Value][] = [];
      for (const [evaluateKey, evaluateValue] of pairs) {
        const key = evaluateKey(variables);
        if (key instanceof Failure) return key;
        if (key instanceof Uint8Array) return new Failure("bytes cannot be keys of a map");
        meter.spend(computeKeyCost(key));
        const value = evaluateValue(variables);
        if (value instanceof Failure) return value;
        evaluated.push([key, value]);
      }
      return new MapValue(evaluated);
    };
  }

  #compileLoop(loop: Comprehension, slots: Slots, depth: number, loops: number): Evaluation {
    if (loops >= MAX_LOOPS) throw new Error(`loops over lists are nested deeper than ${MAX_LOOPS} levels`);
    const range = this.#compile(loop.iterRange, slots, depth + 1, loops);
    const start = this.#compile(loop.accuInit, slots, depth + 1, loops);
    const [accumulator, item] = [this.#slots++, this.#slots++];
    const outer = new Map(slots).set(loop.accuVar, accumulator);
    const body = new Map(outer).set(loop.iterVar, item);
    const condition = this.#compile(loop.loopCondition, body, depth + 1, loops + 1);
    const step = this.#compileStep(loop, body, depth, loops);
    const result = this.#compile(loop.result, outer, depth + 1, loops);
    return (variables) => {
      const values = range(variables);
      if (values instanceof Failure) return values;
      if (!isList(values) && !(values instanceof MapValue)) return new Failure(`a value of type ${getTypeName(values)} cannot be iterated`);
      variables[accumulator] = start(variables);
      for (const value of isList(values) ? values : values.keys()) {
        variables[item] = value;
        if (condition(variables) !== true) break;
        variables[accumulator] = step(variables);
      }
      return result(variables);
    };
  }

  /** Compiles the step of a loop. Where it adds values to the list that the loop builds, it extends the list in place. */
  #compileStep({ loopStep, accuVar }: Pick<Comprehension, "loopStep" | "accuVar">, slots: Slots, depth: number, loops: number): Evaluation {
    const accumulator = slots.get(accuVar) ?? 0;
    const isAccumulator = (part: Expr | undefined): boolean => part?.exprKind.case === "identExpr" && part.exprKind.value.name === accuVar;
    const compile = (part: Expr | undefined): Evaluation => this.#compile(part, slots, depth + 2, loops + 1);
    const kind = loopStep?.exprKind;
    if (kind?.case === "callExpr" && kind.value.function === "_+_" && isAccumulator(kind.value.args[0])) {
      const evaluate = compile(kind.value.args[1]);
      return (variables) => this.#accumulate(variables[accumulator], evaluate(variables));
    }
    if (kind?.case !== "callExpr" || kind.value.function !== "_?_:_" || !isAccumulator(kind.value.args[2])) return compile(loopStep);
    const then = this.#compileStep({ loopStep: kind.value.args[1], accuVar }, slots, depth + 1, loops);
    return compileCondition([compile(kind.value.args[0]), then, (variables) => variables[accumulator] ?? null]);
  }

  /** Adds to the list or number that a loop computes. Nothing else refers to that list yet. */
  #accumulate(sum: Result = null, added: Result = null): Result {
    if (sum instanceof Failure) return sum;
    if (added instanceof Failure) return added;
    if (!isList(sum) || !isList(added)) return this.#functions.get("_+_")?.([sum, added], this.#meter) ?? null;
    (sum as Value[]).push(...added);
    return sum;
  }
}

/** Returns a conversion that accepts a value of one type. */
function restrict(convert: RuleFunction, name: string, accepted: string): RuleFunction {
  return (args, meter) => {
    const type = getTypeName(args[0] ?? null);
    return type === accepted ? convert(args, meter) : new Failure(`found no matching overload for '${name}' applied to '(${type})'`);
  };
}

function compileName(name: string, slots: Slots): Evaluation {
  const slot = slots.get(name);
  if (slot !== undefined) return (variables) => variables[slot] ?? null;
  if (!TYPE_NAMES.has(name)) throw new UndeclaredReference(name);
  const value = new TypeValue(name);
  return () => value;
}

function toValue({ constantKind }: Constant): Value {
  switch (constantKind.case) {
    case "boolValue":
    case "bytesValue":
    case "doubleValue":
    case "int64Value":
    case "stringValue":
      return constantKind.value;
    case "uint64Value":
      return new Uint(constantKind.value);
    case "nullValue":
      return null;
    case "durationValue":
    case "timestampValue":
    case undefined:
    default:
      throw new Error("unknown kind of constant");
  }
}

function compileList(elements: readonly Evaluation[]): Evaluation {
  return (variables) => {
    const list: Value[] = [];
    for (const evaluate of elements) {
      const value = evaluate(variables);
      if (value instanceof Failure) return value;
      list.push(value);
    }
    return list;
  };
}

/**
 * Compiles `&&` or `||`. A failure of one operand is ignored if another one decides.
 * @param decisive the value of an operand that decides
 */
function compileLogic(operands: readonly Evaluation[], decisive: boolean): Evaluation {
  return (variables) => {
    let failure: Failure | undefined;
    for (const evaluate of operands) {
      const value = evaluate(variables);
      if (value === decisive) return decisive;
      if (typeof value !== "boolean") failure = chooseFailure(failure, toFailure(value));
    }
    return failure ?? !decisive;
  };
}

/** Returns the failure that decides: one that the API server may not have, otherwise the first. */
function chooseFailure(first: Failure | undefined, second: Failure): Failure {
  return first === undefined || (second instanceof UnsupportedFailure && !(first instanceof UnsupportedFailure)) ? second : first;
}

function compileCondition([decide, then, otherwise]: readonly Evaluation[]): Evaluation {
  return (variables) => {
    const condition = decide?.(variables) ?? null;
    if (typeof condition !== "boolean") return toFailure(condition);
    return (condition ? then : otherwise)?.(variables) ?? null;
  };
}

/** Returns why a value cannot be used as a bool. */
function toFailure(value: Result): Failure {
  return value instanceof Failure ? value : new UnsupportedFailure(`expected a bool, got a value of type ${getTypeName(value)}`);
}

function getField(value: Value, field: string): Result {
  const found = value instanceof MapValue ? value.get(field) : undefined;
  return found === undefined ? new Failure(`no such key: ${field}`) : found;
}

/** Reports whether a value has a field. cel-go fails for a list only. */
function hasField(value: Value, field: string): Result {
  return isList(value) ? new Failure("a list has no fields") : value instanceof MapValue && value.has(field);
}
