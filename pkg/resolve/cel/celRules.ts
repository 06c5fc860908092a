import {
  type CelEnv,
  type CelInput,
  type CelList,
  type CelMap,
  type CelResult,
  celEnv,
  celList,
  celMap,
  isCelError,
  parse,
  plan,
} from "@bufbuild/cel";
import { LRUCache } from "lru-cache";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { getNumberToken } from "../../golang/json.ts";
import type { CelCompiler, CelRule } from "../constraint/constraint.ts";
import { createMeteredFunctions, Meter } from "./metering.ts";
import { ALIVE, RuleTree } from "./ruleTree.ts";

/** A CEL value that JSON can represent. */
type Value = null | boolean | number | string | CelList | CelMap;

/** Maximum number of values in the properties of one bundle; the largest real bundles have several thousand. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;
const PROPERTIES_TOO_LARGE = `the bundle's properties exceed the limits for CEL rules: ${MAX_VALUES} values, ${MAX_DEPTH} levels`;

/**
 * Converts properties to the variable `properties`: a list of maps with `type` and `value`. All numbers are doubles, as cel-go decodes JSON,
 * including large integers and numbers that keep their text (see `getNumberToken`).
 * @throws Error for more than 100,000 values, or values nested deeper than 100.
 */
function toCelInput(properties: readonly Property[]): CelList {
  let count = 0;
  const convert = (value: unknown, depth: number): Value => {
    if (++count > MAX_VALUES || depth > MAX_DEPTH) throw new Error(PROPERTIES_TOO_LARGE);
    if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string") return value;
    if (typeof value === "bigint") return Number(value);
    if (typeof value !== "object") return null;
    if (Array.isArray(value)) return celList(value.map((item) => convert(item, depth + 1)));
    const token = getNumberToken(value);
    if (token !== undefined) return Number(token);
    return celMap(new Map(Object.entries(value).map(([key, member]) => [key, convert(member, depth + 1)])));
  };
  const items = properties.map(({ type, value }) => {
    const property = new Map<string, Value>([["type", type]]);
    return celMap(value === undefined ? property : property.set("value", convert(value, 1)));
  });
  return celList(items);
}

/** The result of a rule for the properties of one bundle. */
interface Evaluation {
  readonly holds: boolean;
  /** Exceeds the limit by one if the evaluation ran out of steps. */
  readonly steps: number;
  /** Why there is no result: the rule fails for these properties, does not return a bool, or exceeds its step limit. */
  readonly failure?: string;
}

/** A compiled rule that can be evaluated any number of times. */
class CompiledRule {
  readonly #run: (variables: Record<string, CelInput>) => CelResult;
  readonly #meter: Meter;
  readonly #weight: number;
  /** Results for property lists that are still referenced. */
  readonly #known = new WeakMap<readonly Property[], boolean>();

  /** @param weight steps that the rule takes outside its loops */
  constructor(env: CelEnv, expr: ReturnType<typeof parse>, weight: number, meter: Meter) {
    this.#run = plan(env, expr) as (variables: Record<string, CelInput>) => CelResult;
    this.#weight = weight;
    this.#meter = meter;
  }

  /**
   * Reports whether the rule is true for `properties`, which must not change. False if there is no result, or if the meter rejects the evaluation.
   */
  holds(properties: readonly Property[]): boolean {
    const known = this.#known.get(properties);
    if (known !== undefined) return known;
    if (!this.#meter.admits()) return false;
    const { holds } = this.evaluate(properties);
    this.#meter.settle();
    this.#known.set(properties, holds);
    return holds;
  }

  /** Evaluates the rule without the cache, and reports the steps. */
  evaluate(properties: readonly Property[]): Evaluation {
    const meter = this.#meter;
    meter.reset();
    const failed = (failure: string): Evaluation => ({ holds: false, steps: Math.ceil(meter.spent), failure });
    try {
      meter.spend(this.#weight);
      const result = this.#run(createVariables(properties, meter));
      if (meter.exhausted) return failed("the rule exceeds its step limit");
      if (isCelError(result)) return failed(result.message);
      return typeof result === "boolean" ? { holds: result, steps: Math.ceil(meter.spent) } : failed("the rule does not return a bool");
    } catch (err) {
      return failed(getErrorMessage(err));
    }
  }
}

/**
 * Returns the variables of a rule. The library treats an error thrown by a function as a value and continues; an error thrown by `ALIVE` ends
 * the evaluation.
 */
function createVariables(properties: readonly Property[], meter: Meter): Record<string, CelInput> {
  const variables = { properties: toCelInput(properties) };
  Object.defineProperty(variables, ALIVE, { get: () => meter.alive });
  // Without a prototype, the variable "constructor" does not exist.
  return Object.setPrototypeOf(variables, null) as Record<string, CelInput>;
}

/** Maximum length of a rule; handwritten rules have several hundred characters. */
const MAX_RULE = 1_024;
/** Maximum nesting of brackets, including those in string literals. */
const MAX_BRACKETS = 64;
/**
 * Maximum number of steps for one bundle, about ten milliseconds: enough for three loops over a thousand properties, or for two nested loops over
 * fifty.
 */
const MAX_STEPS = 50_000;
/** Maximum number of cached rules. */
const MAX_KEPT = 256;

/** A cached rule, or the reason why its text is not a valid rule. */
type CompiledOrFault = { readonly rule: CompiledRule } | { readonly fault: string };

/**
 * Compiles and caches CEL rules. Rules come from catalogs, which are not trusted: their length, size and nesting are limited, and each evaluation has
 * a step limit. The steps of a loop are counted before it begins, those of a function by the size of its arguments. The variable `properties` is the
 * list of a bundle's properties, maps with `type` and `value`.
 * @see https://github.com/operator-framework/api/blob/v0.34.0/pkg/constraints/cel.go
 */
export class CelRules implements CelCompiler {
  readonly #meter: Meter;
  readonly #env: CelEnv;
  readonly #kept = new LRUCache<string, CompiledOrFault>({ max: MAX_KEPT });

  /** @param most maximum number of steps of one evaluation */
  constructor(most = MAX_STEPS) {
    this.#meter = new Meter(most);
    this.#env = celEnv({ funcs: createMeteredFunctions(this.#meter) });
  }

  grant(steps: number): void {
    this.#meter.grant(steps);
  }

  get wasRefused(): boolean {
    return this.#meter.wasRefused;
  }

  compile(text: string): CelRule {
    const rule = this.compiled(text);
    return (properties) => rule.holds(properties);
  }

  /** Compiles a rule, or returns the cached one. @throws Error as `compile` does */
  compiled(text: string): CompiledRule {
    if (text.length > MAX_RULE) throw new Error(`the CEL rule is too long: ${text.length} characters, maximum ${MAX_RULE}`);
    const kept = this.#kept.get(text) ?? this.#compiledAnew(text);
    this.#kept.set(text, kept);
    if ("fault" in kept) throw new Error(kept.fault);
    return kept.rule;
  }

  #compiledAnew(text: string): CompiledOrFault {
    try {
      checkBrackets(text);
      const parsed = parse(text);
      this.#meter.reset();
      const weight = new RuleTree(this.#env.funcs).prepare(parsed.expr);
      return { rule: new CompiledRule(this.#env, parsed, weight, this.#meter) };
    } catch (err) {
      return { fault: `cannot compile the CEL rule: ${getErrorMessage(err).replace(/^<input>:(\d+):(\d+): /, "line $1, column $2: ")}` };
    }
  }
}

/** @throws Error if parsing the text would take too long or overflow the stack */
function checkBrackets(text: string): void {
  let depth = 0;
  for (const char of text) {
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (depth > MAX_BRACKETS) throw new Error(`brackets are nested deeper than ${MAX_BRACKETS} levels`);
  }
}
