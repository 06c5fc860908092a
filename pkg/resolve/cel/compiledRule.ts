import { type CelEnv, type CelInput, type CelResult, isCelError, type parse, plan } from "@bufbuild/cel";
import { messageOf } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { inputFrom } from "./celValue.ts";
import type { Meter } from "./meter.ts";
import { ALIVE } from "./ruleTree.ts";

/** What came of a rule for the properties of one bundle. */
export interface Evaluation {
  readonly holds: boolean;
  /** One more than there may be where they ran out. */
  readonly steps: number;
  /** Why there is no result: the rule fails for these properties, gives no bool, or takes more than it may. */
  readonly failure?: string;
}

/** A rule ready to be evaluated any number of times. */
export class CompiledRule {
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
