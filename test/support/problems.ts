import { expect } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { Problems, type ReportedProblem } from "../../pkg/api/problemSchema.ts";
import { filterProblems, type Problem } from "../../pkg/api/problems.ts";
import { PROBLEM_TYPES, type ProblemDescription, type ProblemSeverity, type ProblemType } from "../../pkg/api/problemTypes.ts";

/** The part of a ClusterExtension's or ClusterCatalog's status that lists problems. */
interface ReportingStatus {
  readonly problems?: readonly ReportedProblem[] | undefined;
}

/** Formats the problems of a status, one line each: severity, type, message and next step. */
export function problemText(status: ReportingStatus | undefined): string {
  return (status?.problems ?? [])
    .map(({ severity, type, message, next }) => `${severity} ${type}: ${message}${next === undefined ? "" : `; next: ${next}`}`)
    .join("\n");
}

/** Expected members of a problem. */
export interface WantedProblem {
  /** Default: the severity of the type. */
  readonly severity?: ProblemSeverity;
  /** A part of the message, or a pattern for it. */
  readonly message?: string | RegExp;
  /** A part of the next step, or a pattern for it. */
  readonly next?: string | RegExp;
  /** The member of `details` that the type determines; objects in it can have more members. */
  readonly details?: unknown;
}

/**
 * Expects that an object from the API server reports a problem: valid by the schema, of a type for objects of this kind, with details of
 * its type only. `test/arch/problemTypes.test.ts` reads which types the tests on an API server expect, so `type` must be a literal.
 * @returns the problem.
 */
export function expectProblem(object: KubeObject, type: ProblemType, want: WantedProblem = {}): Problem {
  const status = object["status"] as { problems?: ReportedProblem[] } | undefined;
  const shown = `${object.kind} ${object.metadata.name} reports: ${problemText(status) || "no problem"}`;
  expect(Problems.parse(status?.problems ?? []), shown).toEqual(status?.problems ?? []);
  const { on, severity, details: member }: ProblemDescription = PROBLEM_TYPES[type];
  expect(on, type).toContain(object.kind);
  const found = filterProblems(status, type);
  for (const { details = {} } of found) expect([[], [member]], shown).toContainEqual(Object.keys(details));
  const expected = {
    severity: want.severity ?? severity,
    ...(want.message === undefined ? {} : { message: textLike(want.message) }),
    ...(want.next === undefined ? {} : { next: textLike(want.next) }),
    ...(want.details === undefined ? {} : { details: { [String(member)]: withMore(want.details) } }),
  };
  const matches = found.filter((one) => expect.objectContaining(expected).asymmetricMatch(one));
  if (matches.length === 0) expect(found, shown).toContainEqual(expect.objectContaining({ type, ...expected }));
  return matches[0] as Problem;
}

function textLike(part: string | RegExp): unknown {
  return typeof part === "string" ? expect.stringContaining(part) : expect.stringMatching(part);
}

/** Compares like `expect.objectContaining`, at all levels. */
function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== "object" || value === null || "asymmetricMatch" in value || value instanceof RegExp) return value;
  return expect.objectContaining(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withMore(member)])));
}
