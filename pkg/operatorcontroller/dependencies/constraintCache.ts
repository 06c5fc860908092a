import { setImmediate } from "node:timers/promises";
import { Reason } from "../../api/constants.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { type CelCompiler, mentionsCel } from "../../resolve/constraint/constraint.ts";
import { constraintsOf, type DeclaredConstraints, isDependency } from "../../resolve/constraint/parse.ts";

const NOTHING: DeclaredConstraints = { constraints: [], faults: [] };
const NO_CEL: Pick<CelCompiler, "compile"> = {
  compile: () => {
    throw new Error("rules of CEL are not read here");
  },
};

/** Steps of rules in one piece of work that nothing interrupts: about two seconds, where realistic rules take a quarter of a millisecond a bundle. */
const STEPS_AT_ONCE = 2_000_000;
/** Longest turn of work that can be interrupted. */
const TURN_MS = 10;
/** Most of such work for one pass. */
const WORK_MS = 30_000;
const TOO_MUCH =
  "the rules by which bundles say what they depend on take too long to be tried at once; what was found out is kept, and the rest is tried next time";

/** Reads what bundles ask of others, each once as long as somebody holds its properties. What knows CEL is loaded with the first rule. */
export class ConstraintCache {
  readonly #load: () => Promise<CelCompiler>;
  readonly #known = new WeakMap<readonly Property[], DeclaredConstraints>();
  #cel: CelCompiler | undefined;

  constructor(load: () => Promise<CelCompiler>) {
    this.#load = load;
  }

  /** Makes ready to read bundles with these properties. */
  async prepare(lists: Iterable<readonly Property[]>): Promise<void> {
    if (this.#cel) return;
    for (const properties of lists) if (mentionsCel(properties)) return this.prepareCel();
  }

  /** Makes ready to read rules of CEL. */
  async prepareCel(): Promise<void> {
    this.#cel ??= await this.#load();
  }

  /** What a bundle asks of others. `prepare` must have seen its properties. */
  readonly read = (bundle: { readonly name: string; readonly properties: readonly Property[] }): DeclaredConstraints => {
    if (!bundle.properties.some(({ type }) => isDependency(type))) return NOTHING;
    const known = this.#known.get(bundle.properties);
    if (known) return known;
    const declared = constraintsOf(bundle, this.#cel ?? NO_CEL);
    this.#known.set(bundle.properties, declared);
    return declared;
  };

  /**
   * Does work in which rules of CEL are tried, without interruption.
   * @throws RetryableError when they take too long together. They are the catalog author's; the next try goes on where this one ended.
   */
  bounded<T>(work: () => T): T {
    this.#cel?.grant(STEPS_AT_ONCE);
    const done = work();
    if (this.#cel?.wasRefused) throw new RetryableError(Reason.Retrying, TOO_MUCH);
    return done;
  }

  /** The same for work that may be interrupted where it yields: others have their turn again and again. @throws RetryableError as `bounded`. */
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

/** What compiles rules of CEL, loaded by the first call (see `CelCompiler`). To be called where `mentionsCel` says that there is a rule. */
export async function loadCelRules(): Promise<CelCompiler> {
  const { CelRules } = await import("../../resolve/cel/celRules.ts");
  return new CelRules();
}
