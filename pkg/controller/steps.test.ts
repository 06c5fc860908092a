import { expect, test } from "vitest";
import { isRetryable, TerminalError } from "../errors/errors.ts";
import { createLogger } from "../telemetry/log.ts";
import { runSteps, type Step, StepError, withoutStep } from "./reconcile.ts";

const lines: Record<string, unknown>[] = [];
const log = createLogger({ component: "test", destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) } });
const context = (signal = new AbortController().signal) => ({ object: { name: "x" }, log, signal });

type State = string[];
const step = (
  name: string,
  run: Step<{ name: string }, State>["run"] = () => Promise.resolve(undefined),
): Step<{ name: string }, State> => ({
  name,
  run: async (state, ctx) => {
    state.push(name);
    ctx.log.info("ran");
    return run(state, ctx);
  },
});

test("steps run in order, each with its name in the log", async () => {
  const state: State = [];
  expect(await runSteps([step("resolve"), step("apply")], state, context())).toBeUndefined();
  expect(state).toEqual(["resolve", "apply"]);
  expect(lines.slice(-2).map((line) => line["step"])).toEqual(["resolve", "apply"]);
});

test("a step that returns a result ends the run with it", async () => {
  const state: State = [];
  const result = await runSteps([step("wait", () => Promise.resolve({ requeueAfterMs: 5 })), step("apply")], state, context());
  expect([result, state]).toEqual([{ requeueAfterMs: 5 }, ["wait"]]);
});

test("a step's error carries its name for logs, and itself for conditions", async () => {
  const thrown = new TerminalError("Blocked", "invalid");
  const err: unknown = await runSteps([step("validate", () => Promise.reject(thrown)), step("apply")], [], context()).catch(
    (e: unknown) => e,
  );
  expect(err).toBeInstanceOf(StepError);
  expect(err).toMatchObject({ step: "validate", message: "validate: invalid" });
  expect(withoutStep(err)).toBe(thrown);
  expect(withoutStep(thrown)).toBe(thrown);
  expect(isRetryable(err)).toBe(false);
});

test("no step begins after a stop", async () => {
  const stop = new AbortController();
  const state: State = [];
  const run = runSteps(
    [step("first", () => Promise.resolve(stop.abort(new Error("stopping")) as undefined)), step("second")],
    state,
    context(stop.signal),
  );
  await expect(run).rejects.toThrow("stopping");
  expect(state).toEqual(["first"]);
});
