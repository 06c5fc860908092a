import { LRUCache } from "lru-cache";
import { type Conversions, RuleCompiler } from "../../cel/evaluator.ts";
import { createFunctions } from "../../cel/functions.ts";
import { Meter } from "../../cel/meter.ts";
import { type Expr, parseRule } from "../../cel/ruleText.ts";
import { Failure, type Result } from "../../cel/values.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import type { CelCompiler, CelRule } from "../constraint/constraint.ts";
import type { StepBudget } from "../constraint/stepBudget.ts";
import { convertProperties } from "./propertyValues.ts";
import { compareSemver } from "./semverCompare.ts";
import { TypeCheckError, TypeChecker } from "./typeChecker.ts";

/** The result of a rule for the properties of one bundle. */
interface Evaluation {
  readonly holds: boolean;
  /** Exceeds the limit by one if the evaluation ran out of steps. */
  readonly steps: number;
  /** Why there is no result: the rule fails for these properties, or exceeds its step limit. */
  readonly failure?: string;
}

/** A compiled rule that can be evaluated any number of times. */
class CompiledRule {
  readonly #evaluate: (properties: readonly Property[]) => Result;
  readonly #meter: Meter;
  /** Results for property lists that are still referenced. */
  readonly #known = new WeakMap<readonly Property[], Pick<Evaluation, "holds" | "steps">>();

  constructor(evaluate: (properties: readonly Property[]) => Result, meter: Meter) {
    this.#evaluate = evaluate;
    this.#meter = meter;
  }

  /** Evaluates the rule, or returns the cached result. The properties must not change. */
  evaluateOnce(properties: readonly Property[]): Pick<Evaluation, "holds" | "steps"> {
    const known = this.#known.get(properties);
    if (known) return known;
    const { holds, steps } = this.evaluate(properties);
    this.#known.set(properties, { holds, steps });
    return { holds, steps };
  }

  /** Evaluates the rule without the cache, and reports the steps. */
  evaluate(properties: readonly Property[]): Evaluation {
    this.#meter.reset();
    const result = this.#run(properties);
    const steps = Math.ceil(this.#meter.spent);
    return result instanceof Failure ? { holds: false, steps, failure: result.message } : { holds: result === true, steps };
  }

  #run(properties: readonly Property[]): Result {
    try {
      return this.#evaluate(properties);
    } catch (err) {
      return new Failure(getErrorMessage(err));
    }
  }
}

/** Maximum length of a rule; handwritten rules have several hundred characters. */
const MAX_RULE = 1_024;
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
 * Compiles and caches CEL rules, with the verdicts of OLM v0: a rule is invalid, true, or false for a bundle. Rules come from catalogs, which are not
 * trusted: their length, size and nesting are limited, and each evaluation has a step limit. The variable `properties` is the list of a bundle's
 * properties, maps with `type` and `value`.
 * @see https://github.com/operator-framework/api/blob/v0.34.0/pkg/constraints/cel.go
 */
export class CelRules implements CelCompiler {
  readonly #meter: Meter;
  readonly #compiler: RuleCompiler;
  #budget: StepBudget | undefined;
  readonly #kept = new LRUCache<string, CompiledOrFault>({ max: MAX_KEPT });

  /** @param most maximum number of steps of one evaluation */
  constructor(most = MAX_STEPS) {
    this.#meter = new Meter(most);
    this.#compiler = new RuleCompiler(this.#meter, new Map([...createFunctions(), ["semver_compare", compareSemver]]), ["properties"]);
  }

  charge<T>(budget: StepBudget, work: () => T): T {
    const outer = this.#budget;
    this.#budget = budget;
    try {
      return work();
    } finally {
      this.#budget = outer;
    }
  }

  compile(text: string, bundle: string): CelRule {
    const rule = this.compiled(text);
    return (properties) => {
      const { holds, steps } = rule.evaluateOnce(properties);
      this.#budget?.charge({ rule: text, bundle }, properties, steps);
      return holds;
    };
  }

  /** Compiles a rule, or returns the cached one. @throws Error as `compile` does */
  compiled(text: string): CompiledRule {
    if (text.length > MAX_RULE) throw new Error(`the CEL rule is too long: ${text.length} characters, maximum ${MAX_RULE}`);
    const kept = this.#kept.get(text) ?? this.#compileNew(text);
    this.#kept.set(text, kept);
    if ("fault" in kept) throw new Error(kept.fault);
    return kept.rule;
  }

  #compileNew(text: string): CompiledOrFault {
    try {
      const { expr, locate } = parseRule(text);
      const conversions = checkTypes(expr, locate);
      const evaluate = this.#compiler.compile(expr, conversions);
      return { rule: new CompiledRule((properties) => evaluate(convertProperties(properties, this.#meter)), this.#meter) };
    } catch (err) {
      return { fault: `cannot compile the CEL rule: ${getErrorMessage(err).replace(/^<input>:(\d+):(\d+): /, "line $1, column $2: ")}` };
    }
  }
}

/** @throws Error with the position of a type error */
function checkTypes(expr: Expr, locate: (expression: bigint) => string): Conversions {
  try {
    return new TypeChecker().checkRule(expr);
  } catch (err) {
    if (!(err instanceof TypeCheckError)) throw err;
    throw new Error(`${locate(err.expression)}${err.message}`, { cause: err });
  }
}
