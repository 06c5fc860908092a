import { compareText } from "../text/compare.ts";
import { boundMessage } from "./conditions.ts";
import { getGroup, type ObjectRef } from "./k8s.ts";
import type { ProblemData, ReportedProblem } from "./problemSchema.ts";
import {
  PROBLEM_LIMITS,
  PROBLEM_SEVERITIES,
  PROBLEM_TYPES,
  type ProblemDetail,
  type ProblemSeverity,
  type ProblemType,
} from "./problemTypes.ts";

/** A problem of a ClusterExtension or ClusterCatalog. */
export type Problem = ReportedProblem & { type: ProblemType };

/** Returns the problems of a type that a status reports. */
export function filterProblems(status: { problems?: ReportedProblem[] | undefined } | undefined, type: ProblemType): Problem[] {
  return (status?.problems ?? []).filter((one): one is Problem => one.type === type);
}

/** Returns the first problem of a type that a status reports. */
export function findProblem(status: { problems?: ReportedProblem[] | undefined } | undefined, type: ProblemType): Problem | undefined {
  return filterProblems(status, type)[0];
}

/** A reference to an object in the details of a problem. */
export type ProblemObject = NonNullable<ProblemData["objects"]>[number];

/** Converts a reference for the details of a problem. */
export function toProblemObject({ apiVersion, kind, namespace, name }: ObjectRef): ProblemObject {
  const group = getGroup(apiVersion);
  return { ...(group === "" ? {} : { group }), kind, ...(namespace ? { namespace } : {}), name };
}

type DetailsOf<T extends ProblemType> = (typeof PROBLEM_TYPES)[T] extends { details: infer D extends ProblemDetail }
  ? { details?: NonNullable<ProblemData[D]> | undefined }
  : { details?: never };

/** Returns a problem of a type, with `details` in the member for the type. Texts are not truncated here, but by `boundProblems`. */
export function newProblem<T extends ProblemType>(
  type: T,
  { message, next, severity, details: data }: { message: string; next?: string | undefined; severity?: ProblemSeverity } & DetailsOf<T>,
): Problem {
  const description: { severity: ProblemSeverity; details?: ProblemDetail } = PROBLEM_TYPES[type];
  const isEmpty = data === undefined || description.details === undefined || (Array.isArray(data) && data.length === 0);
  return {
    type,
    severity: severity ?? description.severity,
    message,
    ...(next === undefined ? {} : { next }),
    ...(isEmpty ? {} : { details: { [description.details as string]: data } }),
  };
}

/** Members of a status. */
export interface ProblemStatus {
  problems?: Problem[];
  omittedProblems?: number;
}

/**
 * Returns the problems for a status: without duplicates, errors first, then by type and message, with truncated texts and lists. If they exceed
 * PROBLEM_LIMITS.bytes, problems lose their details before any are omitted.
 * @param hide removes secret values from every text.
 */
export function boundProblems(problems: readonly Problem[], hide: (text: string) => string = (plain) => plain): ProblemStatus {
  const cut = problems.map((one) => cutProblem(one, hide));
  const unique = [...new Map(cut.map((one) => [JSON.stringify(one), one])).values()].sort(compareProblems);
  if (unique.length === 0) return {};
  const kept: Problem[] = [];
  let bytes = 0;
  for (const one of unique.slice(0, PROBLEM_LIMITS.problems)) {
    const { details: data, ...brief } = one;
    const fitting = (data === undefined ? [one] : [one, brief]).find((form) => bytes + measureProblem(form) <= PROBLEM_LIMITS.bytes);
    if (!fitting) break;
    kept.push(fitting);
    bytes += measureProblem(fitting);
  }
  return { problems: kept, ...(kept.length === unique.length ? {} : { omittedProblems: unique.length - kept.length }) };
}

function compareProblems(a: Problem, b: Problem): number {
  return (
    PROBLEM_SEVERITIES.indexOf(a.severity) - PROBLEM_SEVERITIES.indexOf(b.severity) ||
    compareText(a.type, b.type) ||
    compareText(a.message, b.message) ||
    compareText(JSON.stringify(a), JSON.stringify(b))
  );
}

function measureProblem(one: Problem): number {
  return Buffer.byteLength(JSON.stringify(one)) + 1;
}

function cutProblem({ type, severity, message, next, details: data }: Problem, hide: (text: string) => string): Problem {
  return {
    type,
    severity,
    message: cutText(hide(message), PROBLEM_LIMITS.message),
    ...(next === undefined ? {} : { next: cutText(hide(next), PROBLEM_LIMITS.text) }),
    ...(data === undefined ? {} : { details: cutDetails(data, hide) as ProblemData }),
  };
}

/** Truncates names, texts and lists to their limits. */
function cutDetails(value: unknown, hide: (text: string) => string, limit: number = PROBLEM_LIMITS.name): unknown {
  if (typeof value === "string") return cutText(hide(value), limit);
  if (Array.isArray(value)) return value.slice(0, PROBLEM_LIMITS.entries).map((entry) => cutDetails(entry, hide, limit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [[key, cutDetails(member, hide, getLimit(key))]])),
  );
}

function getLimit(key: string): number {
  return ["message", "owner", "remedy", "requirements"].includes(key) ? PROBLEM_LIMITS.text : PROBLEM_LIMITS.name;
}

/** Truncates by UTF-16 units. The API server counts code points, of which there are never more. */
function cutText(plain: string, limit: number): string {
  const stable = boundMessage(plain);
  return stable.length <= limit ? stable : `${stable.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
