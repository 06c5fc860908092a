import { setImmediate } from "node:timers/promises";
import { Reason } from "../../api/constants.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { type CelCompiler, usesCel } from "../../resolve/constraint/constraint.ts";
import { type DeclaredConstraints, isDependency, parseConstraints } from "../../resolve/constraint/parse.ts";

const NO_CONSTRAINTS: DeclaredConstraints = { constraints: [], faults: [] };
const NO_CEL: Pick<CelCompiler, "compile"> = {
  compile: () => {
    throw new Error("CEL constraints are not supported here");
  },
};

/**
 * Maximum number of steps for evaluating rules without interruption: about two seconds. Realistic rules take a quarter
 * of a millisecond per bundle.
 */
const STEPS_AT_ONCE = 2_000_000;
/** Maximum duration of one turn of interruptible work, in milliseconds. */
const TURN_MS = 10;
/** Maximum total duration of interruptible work in one reconcile, in milliseconds. */
const WORK_MS = 30_000;
const TOO_MUCH = "evaluating dependency constraints takes too long; the next reconcile continues from the results so far";

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
    if (!bundle.properties.some(({ type }) => isDependency(type))) return NO_CONSTRAINTS;
    const known = this.#known.get(bundle.properties);
    if (known) return known;
    const declared = parseConstraints(bundle, this.#cel ?? NO_CEL);
    this.#known.set(bundle.properties, declared);
    return declared;
  };

  /**
   * Runs work that evaluates CEL rules, without interruption.
   * @throws RetryableError if the rules take too long. The next attempt continues with the results so far. Rules come
   * from catalog authors.
   */
  bounded<T>(work: () => T): T {
    this.#cel?.grant(STEPS_AT_ONCE);
    const result = work();
    if (this.#cel?.wasRefused) throw new RetryableError(Reason.Retrying, TOO_MUCH);
    return result;
  }

  /**
   * Runs work that evaluates CEL rules, and lets other tasks run whenever it yields. @throws RetryableError as
   * `bounded`.
   */
  async inTurns<T>(work: Generator<void, T>, signal: AbortSignal): Promise<T> {
    for (let worked = 0; worked < WORK_MS; ) {
      const started = performance.now();
      this.#cel?.grant(Number.POSITIVE_INFINITY);
      for (let now = started; now - started < TURN_MS; now = performance.now()) {
        const { done, value } = work.next();
        if (done) return value;
      }
      worked += performance.now() - started;
      await setImmediate();
      signal.throwIfAborted();
    }
    throw new RetryableError(Reason.Retrying, TOO_MUCH);
  }
}

/** Loads the CEL compiler on the first call. Call it only if `usesCel` is true. */
export async function loadCelRules(): Promise<CelCompiler> {
  const { CelRules } = await import("../../resolve/cel/celRules.ts");
  return new CelRules();
}
