import { Reason } from "../../api/constants.ts";
import { TerminalError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { truncateExcerpt } from "../../text/truncate.ts";

/** A CEL rule, and the bundle that declares it. */
export interface DeclaredRule {
  readonly rule: string;
  readonly bundle: string;
}

/**
 * Maximum number of steps of all evaluations in one resolution. A million steps take 20 to 60 milliseconds, at most 300 on a 2-core machine, so that
 * a resolution spends at most three seconds on rules. A realistic rule takes 150 steps for a bundle of a public catalog.
 */
export const MAX_RESOLUTION_STEPS = 10_000_000;

/** The CEL rules of the bundles in a resolution take too many steps. */
export class StepLimitError extends TerminalError {
  readonly limit: number;
  /** The rule with the most steps. */
  readonly costliest: DeclaredRule;

  constructor(limit: number, costliest: DeclaredRule) {
    const rule = goQuote(truncateExcerpt(costliest.rule));
    super(
      Reason.Blocked,
      `evaluating the CEL rules of the bundles takes more than ${limit.toLocaleString("en-US")} steps; the rule with the most steps: ${rule} of bundle ${goQuote(costliest.bundle)}`,
    );
    this.limit = limit;
    this.costliest = costliest;
  }
}

/** The evaluations of one rule in a resolution. */
interface RuleCosts {
  steps: number;
  /** The first bundle in the resolution that declares the rule. */
  readonly bundle: string;
  readonly evaluated: WeakSet<readonly Property[]>;
}

/**
 * Counts the steps of the CEL rules in one resolution. Each rule counts once for each list of properties, also if its result was already known, so
 * that the limit does not depend on earlier resolutions.
 */
export class StepBudget {
  readonly #limit: number;
  readonly #rules = new Map<string, RuleCosts>();
  #spent = 0;

  constructor(limit = MAX_RESOLUTION_STEPS) {
    this.#limit = limit;
  }

  /** Number of steps until now. */
  get spent(): number {
    return this.#spent;
  }

  /**
   * Charges the steps of evaluating a rule for a list of properties.
   * @throws StepLimitError if the budget is spent
   */
  charge({ rule, bundle }: DeclaredRule, properties: readonly Property[], steps: number): void {
    const costs = this.#rules.get(rule) ?? { steps: 0, bundle, evaluated: new WeakSet() };
    this.#rules.set(rule, costs);
    if (!costs.evaluated.has(properties)) {
      costs.evaluated.add(properties);
      costs.steps += steps;
      this.#spent += steps;
    }
    if (this.#spent > this.#limit) throw new StepLimitError(this.#limit, this.#findCostliest());
  }

  #findCostliest(): DeclaredRule {
    const [first, ...rest] = [...this.#rules].map(([rule, { steps, bundle }]) => ({ rule, steps, bundle }));
    return rest.reduce((most, one) => (one.steps > most.steps ? one : most), first ?? { rule: "", steps: 0, bundle: "" });
  }
}
