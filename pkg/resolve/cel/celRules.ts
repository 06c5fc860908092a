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
import { messageOf } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { numberToken } from "../../golang/json.ts";
import type { CelCompiler, CelRule } from "../constraint/constraint.ts";
import { Meter, meteredFunctions } from "./metering.ts";
import { ALIVE, RuleTree } from "./ruleTree.ts";

/** A value of CEL as JSON has them. */
type Value = null | boolean | number | string | CelList | CelMap;

/** Values inside the properties of one bundle; the largest real bundles have some thousands. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/**
 * Properties as the variable `properties` holds them: a list of maps with `type` and `value`. Numbers are doubles, as cel-go has those of
 * JSON; large whole ones and those that keep their text (see `numberToken`) too.
 * @throws Error for more than 100,000 values, or values inside values deeper than 100.
 */
function inputFrom(properties: readonly Property[]): CelList {
  let count = 0;
  const convert = (value: unknown, depth: number): Value => {
    if (++count > MAX_VALUES || depth > MAX_DEPTH) throw new Error("the properties of the bundle are too large for a rule");
    if (value === null || typeof value === "boolean" || typeof value === "number" || typeof value === "string") return value;
    if (typeof value === "bigint") return Number(value);
    if (typeof value !== "object") return null;
    if (Array.isArray(value)) return celList(value.map((item) => convert(item, depth + 1)));
    const token = numberToken(value);
    if (token !== undefined) return Number(token);
    return celMap(new Map(Object.entries(value).map(([key, member]) => [key, convert(member, depth + 1)])));
  };
  const items = properties.map(({ type, value }) => {
    const property = new Map<string, Value>([["type", type]]);
    return celMap(value === undefined ? property : property.set("value", convert(value, 1)));
  });
  return celList(items);
}

/** What came of a rule for the properties of one bundle. */
interface Evaluation {
  readonly holds: boolean;
  /** One more than there may be where they ran out. */
  readonly steps: number;
  /** Why there is no result: the rule fails for these properties, gives no bool, or takes more than it may. */
  readonly failure?: string;
}

/** A rule ready to be evaluated any number of times. */
class CompiledRule {
  readonly #run: (variables: Record<string, CelInput>) => CelResult;
  readonly #meter: Meter;
  readonly #weight: number;
  /** What came of it for lists of properties that are still in use. */
  readonly #known = new WeakMap<readonly Property[], boolean>();

  /** @param weight the steps that the rule takes outside its loops. */
  constructor(env: CelEnv, expr: ReturnType<typeof parse>, weight: number, meter: Meter) {
    this.#run = plan(env, expr) as (variables: Record<string, CelInput>) => CelResult;
    this.#weight = weight;
    this.#meter = meter;
  }

  /** Whether the rule is true of `properties`, which are taken not to change. False where there is no result, or the meter admits no evaluation. */
  holds(properties: readonly Property[]): boolean {
    const known = this.#known.get(properties);
    if (known !== undefined) return known;
    if (!this.#meter.admits()) return false;
    const { holds } = this.evaluate(properties);
    this.#meter.settle();
    this.#known.set(properties, holds);
    return holds;
  }

  /** The same anew, and what it took. */
  evaluate(properties: readonly Property[]): Evaluation {
    const meter = this.#meter;
    meter.reset();
    const failed = (failure: string): Evaluation => ({ holds: false, steps: Math.ceil(meter.spent), failure });
    try {
      meter.spend(this.#weight);
      const result = this.#run(variablesFrom(properties, meter));
      if (meter.exhausted) return failed("it takes more than it may");
      if (isCelError(result)) return failed(result.message);
      return typeof result === "boolean" ? { holds: result, steps: Math.ceil(meter.spent) } : failed("it gives no bool");
    } catch (err) {
      return failed(messageOf(err));
    }
  }
}

/** The variables of a rule. What a function throws is a value to the library, which goes on with it; what `ALIVE` throws ends the evaluation. */
function variablesFrom(properties: readonly Property[], meter: Meter): Record<string, CelInput> {
  const variables = { properties: inputFrom(properties) };
  Object.defineProperty(variables, ALIVE, { get: () => meter.alive });
  // Without a prototype there is no variable "constructor".
  return Object.setPrototypeOf(variables, null) as Record<string, CelInput>;
}

/** Longest rule; those that are written by hand have some hundred characters. */
const MAX_RULE = 1_024;
/** Brackets inside brackets, those in texts among them. */
const MAX_BRACKETS = 64;
/** For each bundle: a thousand properties gone through three times, or fifty for each of fifty others; some ten milliseconds. */
const MAX_STEPS = 50_000;
/** Rules that are kept ready. */
const MAX_KEPT = 256;

/** A rule that was compiled before, or why it is none. */
type Kept = { readonly rule: CompiledRule } | { readonly fault: string };

/**
 * Compiles rules of CEL and keeps them. Rules come from catalogs, which may be anybody's: their length, size and nesting have bounds, and
 * each evaluation has a number of steps. A loop is paid for before it begins, functions by the size of what they are given.
 * The variable `properties` is the list of a bundle's properties, maps with `type` and `value`.
 * @see https://github.com/operator-framework/api/blob/v0.34.0/pkg/constraints/cel.go
 */
export class CelRules implements CelCompiler {
  readonly #meter: Meter;
  readonly #env: CelEnv;
  readonly #kept = new LRUCache<string, Kept>({ max: MAX_KEPT });

  /** @param most steps of one evaluation. */
  constructor(most = MAX_STEPS) {
    this.#meter = new Meter(most);
    this.#env = celEnv({ funcs: meteredFunctions(this.#meter) });
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

  /** The same as an object. @throws Error as `compile` does. */
  compiled(text: string): CompiledRule {
    if (text.length > MAX_RULE) throw new Error(`the rule has ${text.length} characters, more than ${MAX_RULE}`);
    const kept = this.#kept.get(text) ?? this.#compiledAnew(text);
    this.#kept.set(text, kept);
    if ("fault" in kept) throw new Error(kept.fault);
    return kept.rule;
  }

  #compiledAnew(text: string): Kept {
    try {
      checkBrackets(text);
      const parsed = parse(text);
      this.#meter.reset();
      const weight = new RuleTree(this.#env.funcs).prepare(parsed.expr);
      return { rule: new CompiledRule(this.#env, parsed, weight, this.#meter) };
    } catch (err) {
      return { fault: `the rule cannot be compiled: ${messageOf(err).replace(/^<input>:(\d+):(\d+): /, "line $1, column $2: ")}` };
    }
  }
}

/** @throws Error for what the parser would take long, or a deep stack, to read. */
function checkBrackets(text: string): void {
  let depth = 0;
  for (const char of text) {
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if (depth > MAX_BRACKETS) throw new Error(`it has brackets nested deeper than ${MAX_BRACKETS}`);
  }
}
