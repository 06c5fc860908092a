import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Problems } from "./problemSchema.ts";
import { boundProblems, findProblem, newProblem, type Problem, toProblemObject } from "./problems.ts";
import { PROBLEM_LIMITS, PROBLEM_TYPES, type ProblemType } from "./problemTypes.ts";

const TYPES = Object.keys(PROBLEM_TYPES) as ProblemType[];

test("newProblem stores the details in the field for the problem's type", () => {
  expect(newProblem("NamespaceNotFound", { message: "m", next: "n", details: ["a"] })).toEqual({
    type: "NamespaceNotFound",
    severity: "Error",
    message: "m",
    next: "n",
    details: { namespaces: ["a"] },
  });
});

test.for<[name: string, details: string[] | undefined]>([
  ["absent", undefined],
  ["an empty list", []],
])("newProblem omits details when they are %s", ([, details]) => {
  expect(newProblem("NamespaceNotFound", { message: "m", details })).not.toHaveProperty("details");
});

test("toProblemObject omits the core group and an absent namespace", () => {
  expect(toProblemObject({ apiVersion: "v1", kind: "Namespace", name: "a" })).toEqual({ kind: "Namespace", name: "a" });
  expect(toProblemObject({ apiVersion: "apps/v1", kind: "Deployment", namespace: "n", name: "a" })).toEqual({
    group: "apps",
    kind: "Deployment",
    namespace: "n",
    name: "a",
  });
});

test("boundProblems sorts by severity, type and message, and keeps each problem once", () => {
  const [suspended, drift, b, a] = [
    newProblem("Suspended", { message: "s" }),
    newProblem("DriftDetected", { message: "d" }),
    newProblem("ReconcileFailed", { message: "b" }),
    newProblem("ReconcileFailed", { message: "a" }),
  ];
  expect(boundProblems([suspended, drift, b, a, b])).toEqual({ problems: [a, b, drift, suspended] });
});

test("boundProblems returns nothing when there are no problems", () => {
  expect(boundProblems([])).toEqual({});
});

test("boundProblems returns at most 20 problems and the number of omitted problems", () => {
  const many = Array.from({ length: 25 }, (_, i) => newProblem("ReconcileFailed", { message: `m${String(i).padStart(2, "0")}` }));
  const { problems, omittedProblems } = boundProblems(many);
  expect([problems?.length, omittedProblems]).toEqual([20, 5]);
});

test("boundProblems drops details before it omits a problem", () => {
  const details = Array.from({ length: 20 }, (_, i) => ({ name: `c${i}`, message: "x".repeat(500) }));
  const large = newProblem("CRDUpgradeUnsafe", { message: "m", details });
  const { problems, omittedProblems } = boundProblems([large]);
  expect(problems).toEqual([{ type: "CRDUpgradeUnsafe", severity: "Error", message: "m" }]);
  expect(omittedProblems).toBeUndefined();
});

test("boundProblems hides secret values in messages, advice and details", () => {
  const problem = newProblem("InvalidConfiguration", {
    message: "s3cret",
    next: "no s3cret",
    details: [{ path: "a", message: "is s3cret" }],
  });
  expect(JSON.stringify(boundProblems([problem], (text) => text.replaceAll("s3cret", "…")))).not.toContain("s3cret");
});

test("findProblem returns the first problem of a type, and ignores unknown types", () => {
  const newer = { type: "FromTheFuture", severity: "Error", message: "m" } as const;
  const problem = newProblem("Suspended", { message: "m" });
  expect(findProblem({ problems: [newer, problem] }, "Suspended")).toBe(problem);
  expect(findProblem({ problems: [newer] }, "Suspended")).toBeUndefined();
  expect(findProblem(undefined, "Suspended")).toBeUndefined();
});

const anyProblem = fc
  .record({
    type: fc.constantFrom(...TYPES),
    severity: fc.constantFrom("Error", "Warning", "Info"),
    message: fc.string({ unit: "binary", maxLength: 3_000 }),
    next: fc.option(fc.string({ maxLength: 2_000 }), { nil: undefined }),
    details: fc.option(fc.record({ namespaces: fc.array(fc.string({ unit: "binary", maxLength: 600 }), { maxLength: 40 }) }), {
      nil: undefined,
    }),
  })
  .map((one) => one as Problem);

test("boundProblems returns a valid status within the limits for any order of problems", () => {
  fc.assert(
    fc.property(fc.array(anyProblem, { maxLength: 40 }), (problems) => {
      const bounded = boundProblems(problems);
      expect(boundProblems(problems.toReversed())).toEqual(bounded);
      if (!bounded.problems) return;
      expect(Problems.safeParse(bounded.problems).success).toBe(true);
      expect(bounded.problems.length).toBeLessThanOrEqual(PROBLEM_LIMITS.problems);
      expect(Buffer.byteLength(JSON.stringify(bounded.problems))).toBeLessThanOrEqual(PROBLEM_LIMITS.bytes + 2);
    }),
    { numRuns: 200 },
  );
});
