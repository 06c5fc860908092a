import * as z from "zod";
import { compareText } from "../text/compare.ts";
import { boundedMessage } from "./conditions.ts";
import { groupOf, type ObjectRef } from "./k8s.ts";
import { PROBLEM_SEVERITIES, PROBLEM_TYPES, type ProblemDetail, type ProblemSeverity, type ProblemType } from "./problemTypes.ts";

/** Problems in one status at most. */
export const PROBLEMS_MAX = 20;
/** Longest JSON text of all problems of one status, in bytes. */
export const PROBLEMS_MAX_BYTES = 8_192;
/** Entries of one list in `details` at most. */
const PROBLEM_DETAILS_MAX = 20;
/** Longest message of a problem, in characters. */
const PROBLEM_MESSAGE_MAX = 2_000;
const TEXT_MAX = 512;
const NAME_MAX = 256;

const name = (what: string) => z.string().max(NAME_MAX).describe(what);
const text = (what: string) => z.string().max(TEXT_MAX).describe(what);
const list = <T extends z.ZodType>(entry: T, what: string) => z.array(entry).max(PROBLEM_DETAILS_MAX).describe(what);
const names = (what: string) => list(z.string().max(NAME_MAX), what);

const object = z
  .object({
    group: name("group is the API group of the object, absent for the core group.").optional(),
    kind: name("kind is the kind of the object."),
    namespace: name("namespace is the namespace of the object, absent for cluster-scoped objects.").optional(),
    name: name("name is the name of the object, absent if the problem concerns all objects of the kind.").optional(),
    owner: text("owner is the owner of the object, if it belongs to another one.").optional(),
    fields: names("fields are the paths of the fields that the problem concerns.").optional(),
    message: text("message is what the problem is with this object.").optional(),
  })
  .describe("One object.");

const details = z
  .object({
    permissions: list(
      z
        .object({
          namespace: name("namespace is where the permission is missing, absent for the whole cluster.").optional(),
          apiGroups: names("apiGroups are the API groups of the rule.").optional(),
          resources: names("resources are the resources of the rule.").optional(),
          resourceNames: names("resourceNames are the names of the objects, absent for all.").optional(),
          nonResourceURLs: names("nonResourceURLs are the paths of the rule that are not resources.").optional(),
          verbs: names("verbs are the verbs of the rule."),
        })
        .describe("One rule."),
      "permissions are the missing rules.",
    ).optional(),
    objects: list(object, "objects are the objects that the problem concerns.").optional(),
    crds: list(
      z
        .object({
          name: name("name is the name of the CustomResourceDefinition."),
          check: name("check is the check that failed, as spec.install.preflight.crdUpgradeSafety.ignore names it.").optional(),
          message: text("message is what the check found."),
        })
        .describe("One finding."),
      "crds are the findings in CustomResourceDefinitions.",
    ).optional(),
    catalogs: list(
      z
        .object({
          name: name("name is the name of the ClusterCatalog."),
          message: text("message is what the problem is with this catalog.").optional(),
        })
        .describe("One catalog."),
      "catalogs are the ClusterCatalogs that the problem concerns.",
    ).optional(),
    candidates: list(
      z
        .object({
          catalog: name("catalog is the name of the ClusterCatalog."),
          bundle: name("bundle is the name of the bundle."),
          rule: name("rule is the rule that excluded the bundle, such as Channels, VersionRange or UpgradeEdges."),
        })
        .describe("One bundle."),
      "candidates are the newest bundles of the package and the rule that excluded each.",
    ).optional(),
    quotas: list(
      z
        .object({
          namespace: name("namespace is the namespace of the ResourceQuota."),
          name: name("name is the name of the ResourceQuota."),
          message: text("message is which resource exceeds the quota, with the numbers."),
        })
        .describe("One quota."),
      "quotas are the exceeded ResourceQuotas.",
    ).optional(),
    dependencies: list(
      z
        .object({ bundle: name("bundle has the dependency.").optional(), message: text("message is the dependency.") })
        .describe("One dependency."),
      "dependencies are the dependencies that are not satisfied.",
    ).optional(),
    dependents: names("dependents are the names of the ClusterExtensions that depend on this one.").optional(),
    requirements: list(z.string().max(TEXT_MAX), "requirements are the requirements that are not met.").optional(),
    configuration: list(
      z
        .object({
          path: name("path is the field below spec.config, empty for all of it."),
          message: text("message is what is wrong with the field."),
        })
        .describe("One mistake."),
      "configuration are the mistakes in spec.config.",
    ).optional(),
    namespaces: names("namespaces are the names of the namespaces.").optional(),
    finalizers: names("finalizers are the finalizers that remain.").optional(),
    clusterUpgrade: z
      .object({
        bundles: names("bundles are the names of the bundles that limit the version of the cluster."),
        target: name("target is the minor version that the cluster cannot be upgraded to, absent if it is not known.").optional(),
        remedy: text("remedy is what would allow the upgrade of the cluster, absent if it is not known.").optional(),
      })
      .optional()
      .describe("clusterUpgrade is which upgrade of the cluster is blocked."),
  } satisfies Record<ProblemDetail, z.ZodType>)
  .describe("details are the data of the problem: one member, which the type determines.");
/** The data of a problem; its type determines the one member. */
export type ProblemData = z.input<typeof details>;

const problem = z
  .object({
    type: z
      .string()
      .max(64)
      .describe("type names the problem in CamelCase. Types are stable; docs/reference/problems.md lists all of them."),
    severity: z
      .enum(PROBLEM_SEVERITIES)
      .describe(
        "severity is Error if the problem keeps the object from its desired state, Warning if it does not, Info if no action is needed.",
      ),
    message: z.string().max(PROBLEM_MESSAGE_MAX).describe("message explains the problem in one or two sentences."),
    next: text("next is what to do, such as a command.").optional(),
    details: details.optional(),
  })
  .describe("One problem.");

/** Schema of `status.problems`. */
export const Problems = z
  .array(problem)
  .max(PROBLEMS_MAX)
  .describe(
    `problems are what keeps the object from its desired state, and what else needs attention: errors first, at most ${PROBLEMS_MAX} and ${PROBLEMS_MAX_BYTES / 1_024} KiB. Absent if there are none.`,
  );
/** Schema of `status.omittedProblems`. */
export const OmittedProblems = z
  .int()
  .min(1)
  .describe("omittedProblems is how many further problems there are. Absent if problems is complete.");

/** One problem of a ClusterExtension or ClusterCatalog. */
export type Problem = z.input<typeof problem> & { type: ProblemType };

/** A problem as the API server returns it: a newer controller may have written types that are not known here. */
export type ReportedProblem = z.input<typeof problem>;

/** Returns the problems of a type that a status reports. */
export function problemsOfType(status: { problems?: ReportedProblem[] | undefined } | undefined, type: ProblemType): Problem[] {
  return (status?.problems ?? []).filter((one): one is Problem => one.type === type);
}

/** Returns the first problem of a type that a status reports. */
export function findProblem(status: { problems?: ReportedProblem[] | undefined } | undefined, type: ProblemType): Problem | undefined {
  return problemsOfType(status, type)[0];
}

/** An object as a problem names it. */
export type ProblemObject = NonNullable<ProblemData["objects"]>[number];

/** Returns an object as a problem names it. */
export function toProblemObject({ apiVersion, kind, namespace, name }: ObjectRef): ProblemObject {
  const group = groupOf(apiVersion);
  return { ...(group === "" ? {} : { group }), kind, ...(namespace ? { namespace } : {}), name };
}

type DetailsOf<T extends ProblemType> = (typeof PROBLEM_TYPES)[T] extends { details: infer D extends ProblemDetail }
  ? { details?: NonNullable<ProblemData[D]> | undefined }
  : { details?: never };

/** Returns a problem of a type, with `details` under the member that the type determines. Texts are cut by `boundProblems` only. */
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
 * Returns the problems as a status contains them: each once, errors first, then by type and message; texts and lists cut to their limits. If all of
 * them exceed PROBLEMS_MAX_BYTES, the first ones lose their details before the last ones are omitted.
 * @param hide removes secret values from every text.
 */
export function boundProblems(problems: readonly Problem[], hide: (text: string) => string = (plain) => plain): ProblemStatus {
  const cut = problems.map((one) => cutProblem(one, hide));
  const unique = [...new Map(cut.map((one) => [JSON.stringify(one), one])).values()].sort(compareProblems);
  if (unique.length === 0) return {};
  const kept: Problem[] = [];
  let bytes = 0;
  for (const one of unique.slice(0, PROBLEMS_MAX)) {
    const { details: data, ...brief } = one;
    const fitting = (data === undefined ? [one] : [one, brief]).find((form) => bytes + sizeOf(form) <= PROBLEMS_MAX_BYTES);
    if (!fitting) break;
    kept.push(fitting);
    bytes += sizeOf(fitting);
  }
  return { problems: kept, ...(kept.length === unique.length ? {} : { omittedProblems: unique.length - kept.length }) };
}

function compareProblems(a: Problem, b: Problem): number {
  return (
    PROBLEM_SEVERITIES.indexOf(a.severity) - PROBLEM_SEVERITIES.indexOf(b.severity) ||
    compareText(a.type, b.type) ||
    compareText(a.message, b.message)
  );
}

function sizeOf(one: Problem): number {
  return Buffer.byteLength(JSON.stringify(one)) + 1;
}

function cutProblem({ type, severity, message, next, details: data }: Problem, hide: (text: string) => string): Problem {
  return {
    type,
    severity,
    message: cutText(hide(message), PROBLEM_MESSAGE_MAX),
    ...(next === undefined ? {} : { next: cutText(hide(next), TEXT_MAX) }),
    ...(data === undefined ? {} : { details: cutDetails(data, hide) as ProblemData }),
  };
}

/** Names are cut like names, all other texts like texts; lists to their first entries. */
function cutDetails(value: unknown, hide: (text: string) => string, limit = NAME_MAX): unknown {
  if (typeof value === "string") return cutText(hide(value), limit);
  if (Array.isArray(value)) return value.slice(0, PROBLEM_DETAILS_MAX).map((entry) => cutDetails(entry, hide, limit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [[key, cutDetails(member, hide, limitOf(key))]])),
  );
}

function limitOf(key: string): number {
  return ["message", "owner", "remedy", "requirements"].includes(key) ? TEXT_MAX : NAME_MAX;
}

/** The API server counts code points, a JavaScript text has at least as many units. */
function cutText(plain: string, limit: number): string {
  const stable = boundedMessage(plain);
  return stable.length <= limit ? stable : `${stable.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
