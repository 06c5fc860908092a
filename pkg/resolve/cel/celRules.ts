import { type CelEnv, celEnv, parse } from "@bufbuild/cel";
import { messageOf } from "../../errors/errors.ts";
import type { CelCompiler, CelRule } from "../constraint/celCompiler.ts";
import { CompiledRule } from "./compiledRule.ts";
import { Meter } from "./meter.ts";
import { meteredFunctions } from "./meteredFunctions.ts";
import { RuleTree } from "./ruleTree.ts";

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
  readonly #kept = new Map<string, Kept>();

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
    this.#kept.delete(text);
    this.#kept.set(text, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
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
