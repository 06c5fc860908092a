import { expect, test } from "vitest";
import { isRetryable, TerminalError } from "../errors/errors.ts";
import { createLogger } from "../telemetry/log.ts";
import { type Ended, fail, type Step, StepError, StepSequence, stop, stopWithoutStatus } from "./stepSequence.ts";

const lines: Record<string, unknown>[] = [];
const log = createLogger({ component: "test", destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) } });
const context = (signal = new AbortController().signal) => ({ log, signal });

type Began = { readonly phase: "began" };
type Read = { readonly phase: "read"; readonly text: string };
type Phase = Began | Read;

const BEGAN: Began = { phase: "began" };
const READ: Read = { phase: "read", text: "a" };

function read(run: Step<Began, Read, Phase>["run"] = () => Promise.resolve(READ)): Step<Began, Read, Phase> {
  return { name: "Read", run: (phase, ctx) => (ctx.log.info("ran"), run(phase, ctx)) };
}

function write(seen: Phase[], end?: Ended<Phase>): Step<Read, Read, Phase> {
  return { name: "Write", run: (phase, ctx) => (ctx.log.info("ran"), seen.push(phase), Promise.resolve(end ?? phase)) };
}

test("StepSequence passes the phase of each step to the next step, and logs the name of the step", async () => {
  const seen: Phase[] = [];
  const sequence = StepSequence.from<Began, Phase>().step(read()).step(write(seen));
  expect(await sequence.run(BEGAN, context())).toEqual({ kind: "done", phase: READ });
  expect([seen, sequence.steps]).toEqual([[READ], ["Read", "Write"]]);
  expect(lines.slice(-2).map((line) => line["step"])).toEqual(["Read", "Write"]);
});

test.for<[what: string, end: Ended<Phase>, want: object]>([
  ["stops", stop(READ, { requeueAfterMs: 5 }), { kind: "stopped", phase: READ, result: { requeueAfterMs: 5 }, writesStatus: true }],
  ["stops without a delay", stop(READ), { kind: "stopped", phase: READ, result: {}, writesStatus: true }],
  ["stops without writing the status", stopWithoutStatus(READ), { kind: "stopped", phase: READ, result: {}, writesStatus: false }],
])("StepSequence returns the phase of the last step, and skips the remaining steps, when a step %s", async ([, end, want]) => {
  const seen: Phase[] = [];
  const sequence = StepSequence.from<Began, Phase>()
    .step(read(() => Promise.resolve(end)))
    .step(write(seen));
  expect(await sequence.run(BEGAN, context())).toEqual(want);
  expect(seen).toEqual([]);
});

test.for<[why: string, run: Step<Began, Read, Phase>["run"], phase: Phase]>([
  ["throws", () => Promise.reject(THROWN), BEGAN],
  [
    "throws synchronously",
    () => {
      throw THROWN;
    },
    BEGAN,
  ],
  ["fails in another phase", () => Promise.resolve(fail<Phase>(READ, THROWN)), READ],
])("StepSequence fails with a StepError when a step %s", async ([, run, phase]) => {
  const seen: Phase[] = [];
  const outcome = await StepSequence.from<Began, Phase>().step(read(run)).step(write(seen)).run(BEGAN, context());
  if (outcome.kind !== "failed") throw new Error(`the sequence ended as ${outcome.kind}`);
  expect([outcome.phase, seen]).toEqual([phase, []]);
  expect(outcome.error).toBeInstanceOf(StepError);
  expect(outcome.error).toMatchObject({ step: "Read", message: "Read: invalid", cause: THROWN });
  expect(isRetryable(outcome.error)).toBe(false);
});

const THROWN = new TerminalError("Blocked", "invalid");

test("StepSequence calls its timer for every step with the result", async () => {
  const timed: unknown[] = [];
  const timer = (step: string, seconds: number, hasFailed: boolean): void => void timed.push([step, seconds >= 0, hasFailed]);
  await StepSequence.from<Began, Phase>()
    .step(read())
    .step(write([], fail<Phase>(READ, THROWN)))
    .run(BEGAN, context(), timer);
  expect(timed).toEqual([
    ["Read", true, false],
    ["Write", true, true],
  ]);
});

test("StepSequence runs no step after its signal aborts", async () => {
  const aborting = new AbortController();
  const seen: Phase[] = [];
  const sequence = StepSequence.from<Began, Phase>()
    .step(read(() => (aborting.abort(new Error("stopping")), Promise.resolve(READ))))
    .step(write(seen));
  await expect(sequence.run(BEGAN, context(aborting.signal))).rejects.toThrow("stopping");
  expect(seen).toEqual([]);
});
