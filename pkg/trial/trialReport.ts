import { getErrorMessage } from "../errors/errors.ts";
import { formatJunit } from "../text/junit.ts";

/** The result of a step of a trial. */
type StepState = "passed" | "failed" | "skipped";

/** A step of a trial, such as "install hello-operator.v1.0.0". */
export interface TrialStep {
  readonly name: string;
  readonly state: StepState;
  readonly seconds: number;
  /** Why the step failed or was skipped. */
  readonly message?: string;
  /** Last part of the output of a check. */
  readonly output?: string;
}

/** The result of a trial. */
export interface TrialReport {
  /** Name of the ClusterExtension, its ClusterCatalog and its namespace. */
  readonly name: string;
  /** Name of the bundle under test. */
  readonly bundle: string;
  readonly passed: boolean;
  readonly steps: readonly TrialStep[];
}

/** A step that failed without an error of the program, such as a check with a non-zero exit code. */
export class StepFailed extends Error {
  readonly output: string | undefined;

  /** @param output of the failed command */
  constructor(message: string, output?: string) {
    super(message);
    this.output = output;
  }
}

/** Runs the steps of a trial in order. After a failed step, skips all steps except those that must always run. */
export class StepRecorder {
  readonly #steps: TrialStep[] = [];
  readonly #now: () => number;
  readonly #report: (step: TrialStep) => void;

  /** @param report called with each step when it ends. @param now milliseconds */
  constructor(report: (step: TrialStep) => void, now: () => number = () => performance.now()) {
    this.#report = report;
    this.#now = now;
  }

  get steps(): readonly TrialStep[] {
    return this.#steps;
  }

  get hasFailed(): boolean {
    return this.#steps.some(({ state }) => state === "failed");
  }

  /**
   * Runs a step, unless an earlier one failed. Never throws: an error of `work` fails the step.
   * @param always runs the step after a failure too
   * @param work returns output to store
   */
  async run(name: string, work: () => Promise<string | undefined>, { always = false }: { readonly always?: boolean } = {}): Promise<void> {
    if (this.hasFailed && !always) return this.#add({ name, state: "skipped", seconds: 0, message: "an earlier step failed" });
    const began = this.#now();
    const seconds = (): number => Math.round(this.#now() - began) / 1_000;
    try {
      const output = await work();
      return this.#add({ name, state: "passed", seconds: seconds(), ...(output === undefined ? {} : { output }) });
    } catch (err) {
      const output = err instanceof StepFailed ? err.output : undefined;
      const message = getErrorMessage(err);
      return this.#add({ name, state: "failed", seconds: seconds(), message, ...(output === undefined ? {} : { output }) });
    }
  }

  #add(step: TrialStep): void {
    this.#steps.push(step);
    this.#report(step);
  }
}

/** Formats a trial as a JUnit report with one test case per step. */
export function formatJunitReport({ bundle, steps }: TrialReport): string {
  return formatJunit(
    `bundle try ${bundle}`,
    steps.map((step) => ({ ...step, className: bundle })),
  );
}
