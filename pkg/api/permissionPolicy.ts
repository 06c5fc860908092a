import * as z from "zod";
import { labelSelector } from "./fields.ts";

const texts = (name: string, meaning: string) =>
  z.array(z.string().max(253)).max(256).exactOptional().describe(`${name} ${meaning}. At most 256.`);

/** A rule of a policy: a PolicyRule of RBAC, and where it applies. */
export const PolicyEntry = z
  .object({
    scope: z
      .enum(["Cluster", "Namespace"])
      .exactOptional()
      .describe(
        "scope limits the rule to permissions on the whole cluster (Cluster), or to permissions in single namespaces (Namespace). Default: both.",
      ),
    apiGroups: texts("apiGroups", 'are API groups, "" for the core group, or *'),
    resources: texts("resources", "are resources such as pods or pods/exec, all subresources of one name such as */status, or *"),
    resourceNames: texts("resourceNames", "are the names of objects. Default: all names"),
    nonResourceURLs: texts(
      "nonResourceURLs",
      "are paths that do not belong to a resource, or their prefixes, such as /metrics or /healthz/*",
    ),
    verbs: z.array(z.string().max(63)).min(1).max(64).describe("verbs are the verbs, or *. At most 64."),
  })
  .refine(({ apiGroups = [], resources = [], nonResourceURLs = [] }) => {
    const isOnResources = apiGroups.length > 0 && resources.length > 0;
    return nonResourceURLs.length > 0 ? apiGroups.length + resources.length === 0 : isOnResources;
  }, "must set either apiGroups and resources, or nonResourceURLs");
export type PolicyEntry = z.input<typeof PolicyEntry>;

const patterns = (name: string, what: string) =>
  z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(256)
    .optional()
    .describe(`${name} are names of ${what}, or patterns with * and ?. Default: all. At most 256.`);

/** The desired state of a PermissionPolicy. */
export const PermissionPolicySpec = z.object({
  covers: z
    .object({
      catalogs: labelSelector.optional().describe("catalogs selects ClusterCatalogs by their labels. Default: all."),
      packages: patterns("packages", "packages"),
      namespaces: patterns("namespaces", "install namespaces"),
    })
    .optional()
    .describe("covers selects the extensions that may use the policy. Default: all."),
  grant: z
    .enum(["Automatic", "Guarded", "Manual"])
    .default("Guarded")
    .describe(
      "grant decides about permissions that allow and deny do not contain: Automatic grants them, Guarded grants them except root-equivalent ones, which wait for an approval, Manual makes all of them wait.",
    ),
  allow: z.array(PolicyEntry).max(100).optional().describe("allow lists permissions that are granted without approval. At most 100."),
  deny: z
    .array(PolicyEntry)
    .max(100)
    .optional()
    .describe("deny lists permissions that are never granted. It takes precedence over allow and approvals. At most 100."),
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
    .describe("limits bounds the permissions of one extension. Larger requests are denied."),
});
export type PermissionPolicySpec = z.input<typeof PermissionPolicySpec>;
