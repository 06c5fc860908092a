import { getErrorMessage } from "../errors/errors.ts";

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

/** Characters that XML 1.0 does not allow. @see https://www.w3.org/TR/xml/#charsets */
// oxlint-disable-next-line no-control-regex -- matches control characters
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeXml(text: string): string {
  return text.replace(NOT_XML, "\uFFFD").replace(/[&<>"]/g, (found) => ENTITIES[found] ?? found);
}

/**
 * Formats a trial as a JUnit report with one test case per step. The name of the test suite does not depend on the random name of the trial, so that
 * CI systems can compare runs.
 * @see https://github.com/testmoapp/junitxml
 */
export function formatJunitReport({ bundle, steps }: TrialReport): string {
  const count = (state: StepState): number => steps.filter((step) => step.state === state).length;
  const time = steps.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3);
  const totals = `tests="${steps.length}" failures="${count("failed")}" skipped="${count("skipped")}" errors="0" time="${time}"`;
  const suite = escapeXml(`bundle try ${bundle}`);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="olmv1" ${totals}>`,
    `  <testsuite name="${suite}" ${totals}>`,
    ...steps.map((step) => formatTestCase(bundle, step)),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function formatTestCase(bundle: string, { name, state, seconds, message = "", output }: TrialStep): string {
  const head = `    <testcase classname="${escapeXml(bundle)}" name="${escapeXml(name)}" time="${seconds.toFixed(3)}"`;
  const [summary = ""] = message.split("\n");
  const body = [
    ...(state === "failed" ? [`      <failure message="${escapeXml(summary)}">${escapeXml(message)}</failure>`] : []),
    ...(state === "skipped" ? [`      <skipped message="${escapeXml(summary)}"/>`] : []),
    ...(output === undefined || output === "" ? [] : [`      <system-out>${escapeXml(output)}</system-out>`]),
  ];
  return body.length === 0 ? `${head}/>` : [`${head}>`, ...body, "    </testcase>"].join("\n");
}
