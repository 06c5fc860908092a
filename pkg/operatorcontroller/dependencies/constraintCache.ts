import { setImmediate } from "node:timers/promises";
import type { Property } from "../../fbc/types.ts";
import { type CelCompiler, usesCel } from "../../resolve/constraint/constraint.ts";
import { type DeclaredConstraints, declaresDependency, parseConstraints } from "../../resolve/constraint/parse.ts";
import { StepBudget } from "../../resolve/constraint/stepBudget.ts";

const NO_CONSTRAINTS: DeclaredConstraints = { constraints: [], faults: [] };
const NO_CEL: Pick<CelCompiler, "compile"> = {
  compile: () => {
    throw new Error("CEL constraints are not supported here");
  },
};

/** Maximum duration of one turn of interruptible work, in milliseconds. */
const TURN_MS = 10;

/**
 * Reads the constraints of bundles. Caches them until the garbage collector frees the bundle's properties. Loads the
 * CEL compiler on first use.
 */
export class ConstraintCache {
  readonly #load: () => Promise<CelCompiler>;
  readonly #known = new WeakMap<readonly Property[], DeclaredConstraints>();
  #cel: CelCompiler | undefined;

  constructor(load: () => Promise<CelCompiler>) {
    this.#load = load;
  }

  /** Loads the CEL compiler if any of these properties needs it. Call it before `read`. */
  async prepare(lists: Iterable<readonly Property[]>): Promise<void> {
    if (this.#cel) return;
    for (const properties of lists) if (usesCel(properties)) return this.prepareCel();
  }

  /** Loads the CEL compiler. */
  async prepareCel(): Promise<void> {
    this.#cel ??= await this.#load();
  }

  /** Returns the constraints of a bundle. Call `prepare` with its properties first. */
  readonly read = (bundle: { readonly name: string; readonly properties: readonly Property[] }): DeclaredConstraints => {
    if (!declaresDependency(bundle.properties)) return NO_CONSTRAINTS;
    const known = this.#known.get(bundle.properties);
    if (known) return known;
    const declared = parseConstraints(bundle, this.#cel ?? NO_CEL);
    this.#known.set(bundle.properties, declared);
    return declared;
  };

  /**
   * Runs work that evaluates CEL rules, without interruption.
   * @param budget the budget of the resolution that the work is part of; by default, the work has its own
   * @throws StepLimitError if the rules take too many steps. Rules come from catalog authors.
   */
  bounded<T>(work: () => T, budget = new StepBudget()): T {
    return this.#cel ? this.#cel.charge(budget, work) : work();
  }

  /**
   * Runs work that evaluates CEL rules, and lets other tasks run whenever it yields.
   * @throws StepLimitError as `bounded`. @throws the reason of the signal if it is aborted.
   */
  async inTurns<T>(work: Generator<void, T>, signal: AbortSignal, budget = new StepBudget()): Promise<T> {
    for (;;) {
      const started = performance.now();
      for (let now = started; now - started < TURN_MS; now = performance.now()) {
        const { done, value } = this.bounded(() => work.next(), budget);
        if (done) return value;
      }
      await setImmediate();
      signal.throwIfAborted();
    }
  }
}

/** Loads the CEL compiler on the first call. Call it only if `usesCel` is true. */
export async function loadCelRules(): Promise<CelCompiler> {
  const { CelRules } = await import("../../resolve/cel/celRules.ts");
  return new CelRules();
}
