import * as fc from "fast-check";
import type { PolicyRule } from "../../pkg/rbac/policyRule.ts";

/** A request that RBAC authorizes: for a resource, or for a URL. */
export interface RbacRequest {
  verb: string;
  group?: string;
  resource?: string;
  name?: string;
  url?: string;
}

/** Values of each dimension. "new" is in no rule: it stands for all values that no rule lists. */
const VERBS = ["get", "create", "new"];
const GROUPS = ["", "apps", "new"];
const RESOURCES = ["pods", "pods/exec", "new", "new/exec"];
const NAMES = ["x", "y", "new"];
const URLS = ["/a", "/a/b", "/a/new", "/b", "/new"];

/** All requests for these values: two sets of rules that `arbitraryRules` returns are equal if they allow the same of them. */
export const RBAC_REQUESTS: readonly RbacRequest[] = VERBS.flatMap((verb) => [
  ...URLS.map((url) => ({ verb, url })),
  ...GROUPS.flatMap((group) => RESOURCES.flatMap((resource) => NAMES.map((name): RbacRequest => ({ verb, group, resource, name })))),
]);

/**
 * Reports whether RBAC allows a request by one rule.
 * @see https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/apis/rbac/v1/evaluation_helpers.go
 */
export function allowsRequest(rule: PolicyRule, { verb, group = "", resource = "", name = "", url }: RbacRequest): boolean {
  if (!rule.verbs.some((each) => each === "*" || each === verb)) return false;
  if (url !== undefined) {
    return (rule.nonResourceURLs ?? []).some(
      (each) => each === "*" || each === url || (each.endsWith("*") && url.startsWith(each.replace(/\*+$/, ""))),
    );
  }
  const [, subresource] = resource.split("/");
  const names = rule.resourceNames ?? [];
  return (
    (rule.apiGroups ?? []).some((each) => each === "*" || each === group) &&
    (rule.resources ?? []).some(
      (each) => each === "*" || each === resource || (subresource !== undefined && each === `*/${subresource}`),
    ) &&
    (names.length === 0 || names.includes(name))
  );
}

const some = (...values: string[]): fc.Arbitrary<string[]> => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const resourceRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    apiGroups: some("", "apps", "*"),
    resources: some("pods", "pods/exec", "*/exec", "*"),
    resourceNames: fc.uniqueArray(fc.constantFrom("x", "y"), { maxLength: 2 }),
    verbs: some("get", "create", "*"),
  },
  { requiredKeys: ["apiGroups", "resources", "verbs"] },
);
const urlRule: fc.Arbitrary<PolicyRule> = fc.record({
  nonResourceURLs: some("/a", "/a/b", "/a*", "/a/*", "*"),
  verbs: some("get", "create", "*"),
});

/** A rule on resources or URLs, with and without wildcards. */
export const arbitraryRule: fc.Arbitrary<PolicyRule> = fc.oneof({ weight: 4, arbitrary: resourceRule }, urlRule);
