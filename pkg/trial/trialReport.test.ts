import { expect, test } from "vitest";
import { formatJunitReport, StepFailed, StepRecorder, type TrialStep } from "./trialReport.ts";

test("StepRecorder skips steps after a failure, except those that must always run", async () => {
  const reported: TrialStep[] = [];
  const recorder = new StepRecorder(
    (step) => void reported.push(step),
    () => 0,
  );
  await recorder.run("a", () => Promise.resolve("text"));
  await recorder.run("b", () => Promise.reject(new StepFailed("exit code 1", "no")));
  await recorder.run("c", () => Promise.resolve(undefined));
  await recorder.run("d", () => Promise.resolve(undefined), { always: true });
  await recorder.run("e", () => Promise.reject(new Error("left")), { always: true });
  expect(reported).toEqual(recorder.steps);
  expect(reported).toEqual([
    { name: "a", state: "passed", seconds: 0, output: "text" },
    { name: "b", state: "failed", seconds: 0, message: "exit code 1", output: "no" },
    { name: "c", state: "skipped", seconds: 0, message: "an earlier step failed" },
    { name: "d", state: "passed", seconds: 0 },
    { name: "e", state: "failed", seconds: 0, message: "left" },
  ]);
});

test("formatJunitReport prints one test case per step, and escapes texts", () => {
  const steps: TrialStep[] = [
    { name: "install p.v1", state: "passed", seconds: 1.5 },
    { name: "check: a && b", state: "failed", seconds: 0.25, message: 'exit code 1\n<"more">', output: "red \u001b[31m" },
    { name: "upgrade", state: "skipped", seconds: 0, message: "an earlier step failed" },
  ];
  expect(formatJunitReport({ name: "try-1", bundle: "p.v1", passed: false, steps })).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="olmv1" tests="3" failures="1" skipped="1" errors="0" time="1.750">
  <testsuite name="bundle try p.v1" tests="3" failures="1" skipped="1" errors="0" time="1.750">
    <testcase classname="p.v1" name="install p.v1" time="1.500"/>
    <testcase classname="p.v1" name="check: a &amp;&amp; b" time="0.250">
      <failure message="exit code 1">exit code 1
&lt;&quot;more&quot;&gt;</failure>
      <system-out>red \uFFFD[31m</system-out>
    </testcase>
    <testcase classname="p.v1" name="upgrade" time="0.000">
      <skipped message="an earlier step failed"/>
    </testcase>
  </testsuite>
</testsuites>
`);
});
