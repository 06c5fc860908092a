import { getErrorMessage } from "../errors/errors.ts";
import type { Logger } from "../telemetry/log.ts";

/**
 * Delay until the next reconcile; undefined if only a change triggers it. `isPending`: work outside of the reconcile
 * has not ended yet.
 */
export type StepResult = { requeueAfterMs?: number; isPending?: boolean } | undefined;

/** Context of a step, in addition to its phase. */
export interface StepContext {
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * A named step of a reconcile. Gets the phase that it requires, and returns the next phase or ends the reconcile.
 * Its name is used in logs and metrics.
 * @typeParam P all phases of the program; a step can end the reconcile in any of them.
 */
export interface Step<In extends P, Out extends P, P> {
  readonly name: string;
  /** @throws the error with which the reconcile fails in phase `In`. */
  run(phase: In, context: StepContext): Promise<Out | Ended<P>>;
}

type End =
  | { readonly kind: "stopped"; readonly result: StepResult; readonly writesStatus: boolean }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Returned by a step to end the reconcile: the phase that was reached and how the reconcile ended. Created by `stop`,
 * `stopWithoutStatus` and `fail`.
 */
export class Ended<P> {
  readonly phase: P;
  readonly end: End;

  constructor(phase: P, end: End) {
    this.phase = phase;
    this.end = end;
  }
}

/** Ends the reconcile without an error and writes the status. */
export function stop<P>(phase: P, result: StepResult = {}): Ended<P> {
  return new Ended(phase, { kind: "stopped", result, writesStatus: true });
}

/**
 * Ends the reconcile without an error and without writing the status, because the object was deleted or changed, or
 * another reconcile follows soon.
 */
export function stopWithoutStatus<P>(phase: P, result: StepResult = {}): Ended<P> {
  return new Ended(phase, { kind: "stopped", result, writesStatus: false });
}

/** Ends the reconcile with an error in a phase other than the phase at the start of the step. */
export function fail<P>(phase: P, error: unknown): Ended<P> {
  return new Ended(phase, { kind: "failed", error });
}

/**
 * An error that a step threw. `cause` is the original error, which conditions report. The message also contains the
 * name of the step, for logs.
 */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly step: string;

  constructor(step: string, cause: unknown) {
    super(`${step}: ${getErrorMessage(cause)}`, { cause });
    this.step = step;
  }
}

/** The phase that a reconcile reached and how it ended: after the last step, by a step, or with an error. */
export type SequenceOutcome<P> =
  | { readonly kind: "done"; readonly phase: P }
  | { readonly kind: "stopped"; readonly phase: P; readonly result: StepResult; readonly writesStatus: boolean }
  | { readonly kind: "failed"; readonly phase: P; readonly error: StepError };

/** Called with the duration of a step in seconds and whether the step failed. */
export type StepTimer = (step: string, seconds: number, hasFailed: boolean) => void;

/** Marks the end of a reconcile, to distinguish it from a phase for the next step. */
class StepsEnded<P> {
  readonly outcome: Exclude<SequenceOutcome<P>, { kind: "done" }>;

  constructor(outcome: StepsEnded<P>["outcome"]) {
    this.outcome = outcome;
  }
}

type Run<First, Last, P> = (first: First, context: StepContext, timer: StepTimer) => Promise<Last | StepsEnded<P>>;

/**
 * The steps of a reconcile in order. Each step gets the phase that the previous step returns; the compiler checks
 * that the phases match.
 */
export class StepSequence<First extends P, Last extends P, P> {
  /** The names of the steps. */
  readonly steps: readonly string[];
  readonly #run: Run<First, Last, P>;

  private constructor(steps: readonly string[], run: Run<First, Last, P>) {
    this.steps = steps;
    this.#run = run;
  }

  /** Returns a sequence without steps, whose first step will get phase `First`. */
  static from<First extends P, P>(): StepSequence<First, First, P> {
    return new StepSequence<First, First, P>([], (first) => Promise.resolve(first));
  }

  /** Returns the sequence with one more step. */
  step<Next extends P>(step: Step<Last, Next, P>): StepSequence<First, Next, P> {
    return new StepSequence<First, Next, P>([...this.steps, step.name], async (first, context, timer) => {
      const phase = await this.#run(first, context, timer);
      return phase instanceof StepsEnded ? phase : runStep<Last, Next, P>(step, phase, context, timer);
    });
  }

  /**
   * Runs the steps in order until one ends the reconcile or throws.
   * @param timer called after every step.
   * @throws the signal's reason if it aborts between steps, and nothing else.
   */
  async run(first: First, context: StepContext, timer: StepTimer = () => undefined): Promise<SequenceOutcome<P>> {
    const last = await this.#run(first, context, timer);
    return last instanceof StepsEnded ? last.outcome : { kind: "done", phase: last };
  }
}

async function runStep<In extends P, Out extends P, P>(
  step: Step<In, Out, P>,
  phase: In,
  context: StepContext,
  timer: StepTimer,
): Promise<Out | StepsEnded<P>> {
  context.signal.throwIfAborted();
  const started = performance.now();
  let next: Out | Ended<P>;
  try {
    next = await step.run(phase, { ...context, log: context.log.child({ step: step.name }) });
  } catch (err) {
    next = fail<P>(phase, err);
  }
  const reached = next instanceof Ended ? overFrom(step.name, next) : next;
  timer(step.name, (performance.now() - started) / 1_000, reached instanceof StepsEnded && reached.outcome.kind === "failed");
  return reached;
}

function overFrom<P>(step: string, { phase, end }: Ended<P>): StepsEnded<P> {
  return new StepsEnded(end.kind === "failed" ? { kind: "failed", phase, error: new StepError(step, end.error) } : { ...end, phase });
}
