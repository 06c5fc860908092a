import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { PermissionPolicySpec } from "../api/permissionPolicy.ts";
import { Wildmatch } from "../fbc/wildmatch.ts";
import { goQuote } from "../golang/quote.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { compileSelector } from "../resolve/labelSelector.ts";
import { countRules } from "./grantPlan.ts";

/** The policy of extensions that name none. */
export const DEFAULT_POLICY = "default";

/** Returns the name of the policy of an extension. */
export function getPolicyName({ spec }: Pick<ClusterExtension, "spec">): string {
  return spec.install?.permissionPolicy ?? DEFAULT_POLICY;
}

/** What an extension installs, and from where. */
export interface PolicyTarget {
  readonly packageName: string;
  readonly namespace: string;
  /** Name and labels of the ClusterCatalog; undefined to skip the check. */
  readonly catalog?: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
}

const MAX_RULES = 1_000;
const MAX_NAMESPACES = 100;

/** Returns the target of an extension with this namespace. @param catalog undefined to skip the check of the catalog */
export function buildPolicyTarget(packageName: string, namespace: string, catalog: Readonly<ClusterCatalog> | undefined): PolicyTarget {
  if (!catalog) return { packageName, namespace };
  return { packageName, namespace, catalog: { name: catalog.metadata.name, labels: catalog.metadata.labels ?? {} } };
}

/** Returns why a policy denies a bundle as a whole: it does not cover the extension, or the rules exceed a limit; undefined if it does not. */
export function findPolicyProblem(policy: PermissionPolicySpec, target: PolicyTarget, required: RequiredRules): string | undefined {
  return findUncovered(policy, target) ?? findExceededLimit(policy, required);
}

/** Returns why a policy does not cover an extension; undefined if it does. */
export function findUncovered({ covers = {} }: Pick<PermissionPolicySpec, "covers">, target: PolicyTarget): string | undefined {
  const { packages, namespaces, catalogs } = covers;
  if (!matchesAny(packages, target.packageName)) return `covers.packages does not contain ${goQuote(target.packageName)}`;
  if (!matchesAny(namespaces, target.namespace)) return `covers.namespaces does not contain ${goQuote(target.namespace)}`;
  if (!target.catalog || catalogs === undefined) return undefined;
  const { error, matches } = compileSelector(catalogs);
  if (error !== undefined) return `covers.catalogs is invalid: ${error}`;
  return matches(target.catalog.labels) ? undefined : `covers.catalogs does not select ClusterCatalog ${goQuote(target.catalog.name)}`;
}

/** Returns the limits of a policy. */
export function getLimits({ limits = {} }: Pick<PermissionPolicySpec, "limits">): { rules: number; namespaces: number } {
  return { rules: limits.rules ?? MAX_RULES, namespaces: limits.namespaces ?? MAX_NAMESPACES };
}

/** Returns the limit that the rules exceed, with the numbers; undefined if they exceed none. */
export function findExceededLimit(policy: Pick<PermissionPolicySpec, "limits">, required: RequiredRules): string | undefined {
  const { rules, namespaces } = getLimits(policy);
  const count = countRules(required);
  if (count > rules) return `limits.rules is ${rules}, but the bundle needs ${count} rules`;
  if (required.namespaceRules.size > namespaces)
    return `limits.namespaces is ${namespaces}, but the bundle needs permissions in ${required.namespaceRules.size} namespaces`;
  return undefined;
}

function matchesAny(patterns: readonly string[] | undefined, name: string): boolean {
  return patterns === undefined || patterns.some((pattern) => new Wildmatch(pattern).reach(name) === "itself");
}
