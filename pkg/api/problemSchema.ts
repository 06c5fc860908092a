import * as z from "zod";
import { PROBLEM_LIMITS, PROBLEM_SEVERITIES, type ProblemDetail } from "./problemTypes.ts";

// Apart from problems.ts: worker threads and the command line make and read problems without a schema.

const { problems: PROBLEMS_MAX, bytes: PROBLEMS_MAX_BYTES, entries: PROBLEM_DETAILS_MAX, message: PROBLEM_MESSAGE_MAX } = PROBLEM_LIMITS;
const { text: TEXT_MAX, name: NAME_MAX } = PROBLEM_LIMITS;

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

/** A problem as the API server returns it: a newer controller may have written types that are not known here. */
export type ReportedProblem = z.input<typeof problem>;
