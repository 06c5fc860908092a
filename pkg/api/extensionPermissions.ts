import * as z from "zod";
import { conditions, NOT_OBSERVED, observedGeneration, time } from "./fields.ts";
import type { KubeObject } from "./k8s.ts";

/** Maximum number of entries in each list of rules in the status. */
export const PERMISSION_RULES_MAX = 100;
/** Maximum number of entries in status.history. */
export const PERMISSION_HISTORY_MAX = 10;

const name = (what: string) => z.string().min(1).max(253).describe(what);

/** The bundle that needs permissions. */
const requestedBundle = z.object({
  catalog: name("catalog is the name of the ClusterCatalog that contains the bundle."),
  packageName: name("packageName is the package of the bundle."),
  name: name("name is the name of the bundle in the catalog."),
  version: name("version is the version of the bundle."),
  image: z.string().min(1).max(1_000).describe("image is the image of the bundle, by digest."),
  operatorCondition: z.boolean().optional().describe("operatorCondition is true if the bundle gets an OperatorCondition."),
});
export type RequestedBundle = z.input<typeof requestedBundle>;

/** Reports whether both are the same bundle from the same catalog, with the same additions. */
export function isSameBundle(a: RequestedBundle | undefined, b: RequestedBundle | undefined): boolean {
  const members = ["catalog", "packageName", "name", "version", "image", "operatorCondition"] as const;
  return a !== undefined && b !== undefined && members.every((member) => a[member] === b[member]);
}

/** What operator-controller requests. */
const spec = z
  .object({
    bundle: requestedBundle
      .optional()
      .describe("bundle is the bundle that needs permissions. permission-manager verifies it. Absent until a bundle is chosen."),
    isChanging: z
      .boolean()
      .optional()
      .describe(
        "isChanging is true while operator-controller writes or deletes objects of an installed bundle, or has not deleted all objects of an earlier one. It then needs write permissions, and those for the earlier bundle.",
      ),
  })
  .describe("spec is the request of operator-controller.");
export type ExtensionPermissionsSpec = z.input<typeof spec>;

const strings = (what: string) => z.array(z.string()).optional().describe(what);

/** A PolicyRule of RBAC, and its scope. */
const placedRule = z.object({
  namespace: z.string().max(63).optional().describe("namespace is the namespace of the rule. Absent for the cluster scope."),
  apiGroups: strings("apiGroups are the API groups."),
  resources: strings("resources are the resources."),
  resourceNames: strings("resourceNames are the names of objects. Absent for all names."),
  nonResourceURLs: strings("nonResourceURLs are the URL paths."),
  verbs: z.array(z.string()).describe("verbs are the verbs."),
});

const judgedRule = placedRule.extend({
  risk: z.string().max(63).optional().describe("risk is the risk class of the permissions, such as RoleEscalation."),
  reason: z.string().max(1_024).describe("reason explains why the permissions are not granted."),
});
export type JudgedRuleStatus = z.input<typeof judgedRule>;

const rules = <T extends z.ZodType>(rule: T, what: string) =>
  z.array(rule).max(PERMISSION_RULES_MAX).optional().describe(`${what} At most ${PERMISSION_RULES_MAX}.`);

const change = z.object({
  time: time.describe("time is when the permissions changed."),
  reason: z
    .enum(["Granted", "Narrowed", "Approved", "Revoked"])
    .describe("reason is Granted (more permissions), Narrowed (fewer, after an upgrade), Approved or Revoked."),
  bundle: z.string().max(253).optional().describe("bundle is the name of the bundle that needs the permissions."),
  added: z.int().min(0).describe("added is the number of added rules."),
  removed: z.int().min(0).describe("removed is the number of removed rules."),
});
export type PermissionChange = z.input<typeof change>;

/** What permission-manager has granted. */
const status = z
  .object({
    observedGeneration,
    extensionGeneration: z.int().min(0).optional().meta({
      format: "int64",
      description: "extensionGeneration is the metadata.generation of the ClusterExtension that the status is based on.",
    }),
    state: z
      .enum(["Granted", "Pending", "Denied", "Failed"])
      .optional()
      .describe(
        "state is Granted if the requested bundle has its permissions, Pending if they wait for approval, Denied if the policy denies them, Failed if the request cannot be verified.",
      ),
    conditions: conditions(
      "conditions describe the state. Granted and Ready: the requested bundle has its permissions. Stalled, only if the policy denies them.",
    ).optional(),
    policy: z.string().max(253).optional().describe("policy is the name of the PermissionPolicy."),
    namespace: z.string().max(63).optional().describe("namespace is the namespace of the ServiceAccount and the extension."),
    serviceAccount: z.string().max(253).optional().describe("serviceAccount is the name of the ServiceAccount that the extension uses."),
    access: z
      .enum(["Full", "ReadOnly"])
      .optional()
      .describe(
        "access is Full if the ServiceAccount has all granted rules, or ReadOnly if it only has their read permissions, because the policy has standing WhileChanging and nothing is changed.",
      ),
    bundle: requestedBundle.optional().describe("bundle is the bundle that the status is based on."),
    certificateProvider: z
      .string()
      .max(63)
      .optional()
      .describe(
        "certificateProvider is the provider of the certificates for the webhooks and API services of the bundle. It stays the same while the bundle has any.",
      ),
    rules: rules(placedRule, "rules are the granted rules. The roles contain all of them."),
    ruleCount: z.int().min(0).optional().describe("ruleCount is the number of granted rules."),
    broadCount: z.int().min(0).optional().describe("broadCount is the number of granted rules with a risk class."),
    pending: rules(judgedRule, "pending are the rules that wait for approval."),
    denied: rules(judgedRule, "denied are the rules that the policy denies."),
    pendingDigest: z
      .string()
      .max(80)
      .optional()
      .describe(
        "pendingDigest identifies the rules that wait for approval. To approve them, set annotation olm.operatorframework.io/approve to this value.",
      ),
    approvedDigest: z.string().max(80).optional().describe("approvedDigest is the digest of the approved rules."),
    history: z
      .array(change)
      .max(PERMISSION_HISTORY_MAX)
      .optional()
      .describe(`history lists the last changes of the granted rules, newest first. At most ${PERMISSION_HISTORY_MAX}.`),
  })
  .describe("status is the state of the permissions, written by permission-manager.");
export type ExtensionPermissionsStatus = z.input<typeof status>;

/** Schema of the ExtensionPermissions definition. */
export const ExtensionPermissions = z
  .object({ metadata: z.object({ name: z.string().optional() }).optional(), spec: spec.optional(), status: status.default(NOT_OBSERVED) })
  .describe("ExtensionPermissions requests the permissions of a ClusterExtension of the same name, and reports what was granted.");

/** An ExtensionPermissions as the API server returns it. */
export interface ExtensionPermissions extends KubeObject {
  spec?: ExtensionPermissionsSpec;
  status?: ExtensionPermissionsStatus;
}
