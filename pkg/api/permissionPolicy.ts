import * as z from "zod";
import { labelSelector } from "./fields.ts";
import type { KubeObject } from "./k8s.ts";
import { celString, withRules } from "./rules.ts";

/** Maximum number of entries in `allow` and in `deny`. */
const ENTRIES_MAX = 100;

function texts(name: string, meaning: string) {
  return z.array(z.string().max(253)).max(256).exactOptional().describe(`${name} ${meaning}. At most 256.`);
}

/** A PolicyRule of RBAC, and where it applies. */
const policyEntry = withRules(
  z.object({
    scope: z
      .enum(["Cluster", "Namespace"])
      .exactOptional()
      .describe(
        "scope is Cluster to match only permissions on the whole cluster, or Namespace to match only permissions in single namespaces. Default: both.",
      ),
    apiGroups: texts("apiGroups", 'are API groups, "" for the core group, or *'),
    resources: texts("resources", "are resources such as pods or pods/exec, one subresource of all resources such as */status, or *"),
    resourceNames: texts("resourceNames", "are names of objects. Default: all names"),
    nonResourceURLs: texts("nonResourceURLs", "are URL paths such as /metrics, or prefixes such as /healthz/*"),
    verbs: z.array(z.string().max(63)).min(1).max(64).describe("verbs are verbs, or *. At most 64."),
  }),
  {
    rule: "has(self.nonResourceURLs) ? !has(self.apiGroups) && !has(self.resources) && !has(self.resourceNames) : has(self.apiGroups) && has(self.resources)",
    message: "must set either apiGroups and resources, or nonResourceURLs",
    holds: ({ apiGroups, resources, resourceNames, nonResourceURLs }) =>
      nonResourceURLs === undefined
        ? apiGroups !== undefined && resources !== undefined
        : apiGroups === undefined && resources === undefined && resourceNames === undefined,
  },
);
export type PolicyEntry = z.input<typeof policyEntry>;

function patterns(name: string, what: string) {
  return z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(256)
    .optional()
    .describe(`${name} are names of ${what}, or patterns with * and ?. Default: all. At most 256.`);
}

/** What a policy does with permissions that it does not name. */
export const GRANTS = ["Automatic", "Guarded", "Manual"] as const;
export type PolicyGrant = (typeof GRANTS)[number];

/** Levels of the Pod Security Standards, least strict first. */
export const POD_SECURITY_LEVELS = ["privileged", "baseline", "restricted"] as const;
export type PodSecurityLevel = (typeof POD_SECURITY_LEVELS)[number];

/** Matches keys of labels: an optional prefix, which is a DNS-1123 subdomain, and a name. */
const LABEL_KEY = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const LABEL_VALUE = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";
const LABELS_MAX = 32;

const namespaces = z
  .object({
    create: z
      .boolean()
      .default(true)
      .describe("create is true to create the namespace of an extension if it does not exist. Existing namespaces are never changed."),
    template: z
      .enum(["Use", "Ignore"])
      .default("Use")
      .describe(
        "template is Use to create namespaces with the labels and annotations that the bundle suggests in annotation operatorframework.io/suggested-namespace-template, or Ignore.",
      ),
    labels: withRules(
      z
        .record(z.string().max(317).regex(new RegExp(LABEL_KEY)), z.string().max(63).regex(new RegExp(LABEL_VALUE)))
        .refine((labels) => Object.keys(labels).length <= LABELS_MAX, `must have at most ${LABELS_MAX} entries`)
        .meta({ maxProperties: LABELS_MAX }),
      {
        rule: `self.all(key, key.matches(${celString(LABEL_KEY)}) && self[key].matches(${celString(LABEL_VALUE)}))`,
        message: "labels must be valid labels",
      },
    )
      .optional()
      .describe("labels are labels of created namespaces. They override those that the bundle suggests. At most 32."),
    podSecurity: z
      .enum(POD_SECURITY_LEVELS)
      .optional()
      .describe(
        "podSecurity is the least strict Pod Security level that created namespaces enforce. A bundle may suggest a stricter one. Default: baseline, or privileged if grant is Automatic.",
      ),
    deletion: z
      .enum(["Retain", "Delete"])
      .default("Retain")
      .describe(
        "deletion is Delete to delete a created namespace, with all objects in it, after the extension is uninstalled and if no other extension uses it, or Retain.",
      ),
  })
  .describe("namespaces controls the namespaces that permission-manager creates for extensions.");

/** Which extensions a policy grants which permissions. */
export const PermissionPolicySpec = z
  .object({
    covers: z
      .object({
        catalogs: labelSelector.optional().describe("catalogs selects ClusterCatalogs by their labels. Default: all."),
        packages: patterns("packages", "packages"),
        namespaces: patterns("namespaces", "namespaces of extensions"),
      })
      .optional()
      .describe("covers selects the extensions that the policy applies to. Default: all."),
    grant: z
      .enum(GRANTS)
      .default("Guarded")
      .describe(
        "grant controls permissions that neither allow nor deny contains: Automatic grants them, Guarded grants them except root-equivalent ones, which wait for approval, Manual waits for approval of all of them.",
      ),
    allow: z
      .array(policyEntry)
      .max(ENTRIES_MAX)
      .optional()
      .describe(`allow lists permissions that are granted without approval. At most ${ENTRIES_MAX}.`),
    deny: z
      .array(policyEntry)
      .max(ENTRIES_MAX)
      .optional()
      .describe(`deny lists permissions that are never granted. It overrides allow and approvals. At most ${ENTRIES_MAX}.`),
    limits: z
      .object({
        rules: z.int().min(1).max(10_000).optional().describe("rules is the maximum number of RBAC rules of an extension. Default: 1000."),
        namespaces: z
          .int()
          .min(1)
          .max(100)
          .optional()
          .describe("namespaces is the maximum number of namespaces in which an extension gets permissions. Default: 100."),
      })
      .optional()
      .describe("limits bounds the permissions of one extension. Requests that exceed a limit are denied."),
    namespaces: namespaces.optional(),
    standing: z
      .enum(["Always", "WhileChanging"])
      .default("Always")
      .describe(
        "standing is Always if extensions always have their permissions, or WhileChanging if they only have read permissions while nothing is changed: an installation, an upgrade, the correction of drift and an uninstall restore all permissions.",
      ),
  })
  .describe("spec is the policy.");
export type PermissionPolicySpec = z.input<typeof PermissionPolicySpec>;

/** Schema of the PermissionPolicy definition. */
export const PermissionPolicy = z
  .object({ metadata: z.object({ name: z.string().optional() }).optional(), spec: PermissionPolicySpec })
  .describe("PermissionPolicy controls the permissions that permission-manager grants to extensions without a ServiceAccount.");

/** A PermissionPolicy as the API server returns it. */
export interface PermissionPolicy extends KubeObject {
  spec: PermissionPolicySpec;
}
