import * as z from "zod";
import { PROBLEM_LIMITS, PROBLEM_SEVERITIES, type ProblemDetail } from "./problemTypes.ts";

// Separate from problems.ts: worker threads and the command line use problems without a schema.

const { problems: PROBLEMS_MAX, bytes: PROBLEMS_MAX_BYTES, entries: PROBLEM_DETAILS_MAX, message: PROBLEM_MESSAGE_MAX } = PROBLEM_LIMITS;
const { text: TEXT_MAX, name: NAME_MAX } = PROBLEM_LIMITS;

const name = (description: string) => z.string().max(NAME_MAX).describe(description);
const text = (description: string) => z.string().max(TEXT_MAX).describe(description);
const list = <T extends z.ZodType>(entry: T, description: string) => z.array(entry).max(PROBLEM_DETAILS_MAX).describe(description);
const names = (description: string) => list(z.string().max(NAME_MAX), description);

const object = z
  .object({
    group: name("group is the API group of the object, absent for the core group.").optional(),
    kind: name("kind is the kind of the object."),
    namespace: name("namespace is the namespace of the object, absent for cluster-scoped objects.").optional(),
    name: name("name is the name of the object, absent if the problem concerns all objects of the kind.").optional(),
    owner: text("owner is the current owner of the object.").optional(),
    fields: names("fields are the paths of the fields that the problem concerns.").optional(),
    message: text("message describes the problem with this object.").optional(),
  })
  .describe("One object.");

const details = z
  .object({
    permissions: list(
      z
        .object({
          namespace: name("namespace is the namespace of the missing permission, absent for the whole cluster.").optional(),
          apiGroups: names("apiGroups are the API groups of the rule.").optional(),
          resources: names("resources are the resources of the rule.").optional(),
          resourceNames: names("resourceNames are the names of the objects, absent for all objects.").optional(),
          nonResourceURLs: names("nonResourceURLs are the non-resource URLs of the rule.").optional(),
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
          check: name("check is the failed check, as in spec.install.preflight.crdUpgradeSafety.ignore.").optional(),
          message: text("message describes the finding."),
        })
        .describe("One finding."),
      "crds are the findings in CustomResourceDefinitions.",
    ).optional(),
    catalogs: list(
      z
        .object({
          name: name("name is the name of the ClusterCatalog."),
          message: text("message describes the problem with this catalog.").optional(),
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
          message: text("message contains the resource that exceeds the quota, and the quantities."),
        })
        .describe("One quota."),
      "quotas are the exceeded ResourceQuotas.",
    ).optional(),
    dependencies: list(
      z
        .object({
          bundle: name("bundle is the bundle with the dependency.").optional(),
          message: text("message describes the dependency."),
        })
        .describe("One dependency."),
      "dependencies are the unsatisfied dependencies.",
    ).optional(),
    dependents: names("dependents are the names of the ClusterExtensions that depend on this one.").optional(),
    requirements: list(z.string().max(TEXT_MAX), "requirements are the unmet requirements.").optional(),
    configuration: list(
      z
        .object({
          path: name("path is the path in spec.config; empty for the whole configuration."),
          message: text("message describes the mistake in the field."),
        })
        .describe("One mistake."),
      "configuration are the mistakes in spec.config.",
    ).optional(),
    namespaces: names("namespaces are the names of the namespaces.").optional(),
    finalizers: names("finalizers are the remaining finalizers.").optional(),
    clusterUpgrade: z
      .object({
        bundles: names("bundles are the names of the bundles that limit the version of the cluster."),
        target: name("target is the blocked minor version, absent if unknown.").optional(),
        remedy: text("remedy is the action that allows the upgrade, absent if unknown.").optional(),
      })
      .optional()
      .describe("clusterUpgrade is the blocked upgrade of the cluster."),
    signatures: list(
      z
        .object({
          reason: name("reason is the failed step of the verification, such as CertificateExpired."),
          message: text("message describes the failed step."),
        })
        .describe("One reason."),
      "signatures are the different reasons why signatures of the image are not accepted.",
    ).optional(),
    locations: list(
      z
        .object({
          reference: name("reference is the image reference at this location."),
          from: name("from are the objects that configure the location, absent for files and the registry of the image.").optional(),
          message: text("message is the reason of the failure."),
        })
        .describe("One location."),
      "locations are the mirrors and the registry from which the image could not be pulled, in order.",
    ).optional(),
  } satisfies Record<ProblemDetail, z.ZodType>)
  .describe("details contains structured data about the problem, in one member that depends on the type.");
/** The structured data of a problem: one member, which depends on the type. */
export type ProblemData = z.input<typeof details>;

const problem = z
  .object({
    type: z.string().max(64).describe("type is the stable type in CamelCase; see docs/reference/problems.md."),
    severity: z
      .enum(PROBLEM_SEVERITIES)
      .describe(
        "severity is Error if the problem keeps the object from its desired state, Warning if it does not, Info if no action is needed.",
      ),
    message: z.string().max(PROBLEM_MESSAGE_MAX).describe("message explains the problem in one or two sentences."),
    next: text("next is the next step: a command of olmv1 or kubectl, a clause, or a clause with a command after a colon.").optional(),
    details: details.optional(),
  })
  .describe("One problem.");

/** Schema of `status.problems`. */
export const Problems = z
  .array(problem)
  .max(PROBLEMS_MAX)
  .describe(
    `problems keep the object from its desired state or need attention; errors first, at most ${PROBLEMS_MAX} and ${PROBLEMS_MAX_BYTES / 1_024} KiB. Absent if there are no problems.`,
  );
/** Schema of `status.omittedProblems`. */
export const OmittedProblems = z.int().min(1).describe("omittedProblems is the number of problems that are not listed. Absent if zero.");

/** A problem as the API server returns it. A newer controller may have written types that this version does not know. */
export type ReportedProblem = z.input<typeof problem>;
