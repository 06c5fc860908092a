import { messageOf } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/** When to reconcile again; undefined if nothing but a change asks for it. `isPending`: work outside of the reconcile has not ended yet. */
export type StepResult = { requeueAfterMs?: number; isPending?: boolean } | undefined;

/** What every step gets besides its phase. */
export interface StepContext {
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * One named stage of a reconcile: it takes the phase that it needs and returns the next one, or ends the reconcile. The name appears in logs and
 * metrics.
 * @typeParam P every phase of the program; a step can end the reconcile in any of them.
 */
export interface Step<In extends P, Out extends P, P> {
  readonly name: string;
  /** @throws what keeps the step from its phase: the reconcile fails in phase `In`. */
  run(phase: In, context: StepContext): Promise<Out | Ended<P>>;
}

type End =
  | { readonly kind: "stopped"; readonly result: StepResult; readonly writesStatus: boolean }
  | { readonly kind: "failed"; readonly error: unknown };

/** What a step returns to end the reconcile: the phase that was reached, and how it ended. Made by `stop`, `leave` and `fail`. */
export class Ended<P> {
  readonly phase: P;
  readonly end: End;

  constructor(phase: P, end: End) {
    this.phase = phase;
    this.end = end;
  }
}

/** Ends the reconcile without an error; its status is written. */
export function stop<P>(phase: P, result: StepResult = {}): Ended<P> {
  return new Ended(phase, { kind: "stopped", result, writesStatus: true });
}

/** Ends the reconcile without an error and without a status: the object is gone or was changed, or the next reconcile knows more very soon. */
export function leave<P>(phase: P, result: StepResult = {}): Ended<P> {
  return new Ended(phase, { kind: "stopped", result, writesStatus: false });
}

/** Ends the reconcile with an error in a phase that says more than the one that the step began with. */
export function fail<P>(phase: P, error: unknown): Ended<P> {
  return new Ended(phase, { kind: "failed", error });
}

/** A step's failure; `cause` is what it threw, which conditions show. This text with the step's name is for logs. */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super(`${step}: ${messageOf(cause)}`, { cause });
    this.step = step;
  }
}

/** The phase that a reconcile reached, and how it ended: after the last step, by a step, or with an error. */
export type StoryOutcome<P> =
  | { readonly kind: "done"; readonly phase: P }
  | { readonly kind: "stopped"; readonly phase: P; readonly result: StepResult; readonly writesStatus: boolean }
  | { readonly kind: "failed"; readonly phase: P; readonly error: StepError };

/** Gets how long a step took, in seconds, and whether it failed. */
export type StepTimer = (step: string, seconds: number, hasFailed: boolean) => void;

/** Tells the end of a reconcile from a phase that the next step takes. */
class Over<P> {
  readonly outcome: Exclude<StoryOutcome<P>, { kind: "done" }>;

  constructor(outcome: Over<P>["outcome"]) {
    this.outcome = outcome;
  }
}

type Run<First, Last, P> = (first: First, context: StepContext, timer: StepTimer) => Promise<Last | Over<P>>;

/** The steps of a reconcile in their order: each takes the phase that the one before returns, which the compiler checks. */
export class Story<First extends P, Last extends P, P> {
  /** The names of the steps. */
  readonly steps: readonly string[];
  readonly #run: Run<First, Last, P>;

  private constructor(steps: readonly string[], run: Run<First, Last, P>) {
    this.steps = steps;
    this.#run = run;
  }

  /** Returns a story without steps that begins with phase `First`. */
  static from<First extends P, P>(): Story<First, First, P> {
    return new Story<First, First, P>([], (first) => Promise.resolve(first));
  }

  /** Returns the story with one more step at its end. */
  step<Next extends P>(step: Step<Last, Next, P>): Story<First, Next, P> {
    return new Story<First, Next, P>([...this.steps, step.name], async (first, context, timer) => {
      const phase = await this.#run(first, context, timer);
      return phase instanceof Over ? phase : runStep<Last, Next, P>(step, phase, context, timer);
    });
  }

  /**
   * Runs the steps in order until one ends the reconcile or throws.
   * @param timer called after every step.
   * @throws the signal's reason when it aborts between steps, and nothing else.
   */
  async run(first: First, context: StepContext, timer: StepTimer = () => undefined): Promise<StoryOutcome<P>> {
    const last = await this.#run(first, context, timer);
    return last instanceof Over ? last.outcome : { kind: "done", phase: last };
  }
}

async function runStep<In extends P, Out extends P, P>(
  step: Step<In, Out, P>,
  phase: In,
  context: StepContext,
  timer: StepTimer,
): Promise<Out | Over<P>> {
  context.signal.throwIfAborted();
  const started = performance.now();
  let next: Out | Ended<P>;
  try {
    next = await step.run(phase, { ...context, log: context.log.child({ step: step.name }) });
  } catch (err) {
    next = fail<P>(phase, err);
  }
  const reached = next instanceof Ended ? overFrom(step.name, next) : next;
  timer(step.name, (performance.now() - started) / 1_000, reached instanceof Over && reached.outcome.kind === "failed");
  return reached;
}

function overFrom<P>(step: string, { phase, end }: Ended<P>): Over<P> {
  return new Over(end.kind === "failed" ? { kind: "failed", phase, error: new StepError(step, end.error) } : { ...end, phase });
}
