import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const STEP = /^export (?:async )?(?:function|const) (\w+)(?:(?!^export )[^])*?^ {2,4}name: "(\w+)",$/gm;

/** Returns the functions that create steps, with the step names in logs and metrics. */
function stepNames(): [step: string, name: string][] {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  return files.flatMap((file) =>
    [...readFileSync(join(import.meta.dirname, file), "utf8").matchAll(STEP)].map(([, step = "", name = ""]): [string, string] => [
      step,
      name,
    ]),
  );
}

test("each step has the name of its function in logs and metrics", () => {
  const names = stepNames();
  expect(names.length).toBeGreaterThan(15);
  for (const [step, name] of names) expect(name).toBe(step.charAt(0).toUpperCase() + step.slice(1));
});

test("each step in the list of steps has a function with its name", () => {
  const list = readFileSync(join(import.meta.dirname, "reconcileSteps.ts"), "utf8");
  const listed = [...list.matchAll(/^ {4}\.step\((\w+)[()]/gm)].map(([, step = ""]) => step);
  expect(listed.toSorted()).toEqual(
    stepNames()
      .map(([step]) => step)
      .toSorted(),
  );
});
