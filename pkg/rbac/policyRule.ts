import { compareText } from "../text/compare.ts";

/** rbac.authorization.k8s.io/v1 PolicyRule. */
export interface PolicyRule {
  apiGroups?: string[];
  /** "resource" or "resource/subresource". */
  resources?: string[];
  /** If absent, the rule applies to objects of any name. */
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

/** Verbs in display order; others come after, by name. */
const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "impersonate"];

/** Returns `verbs` without duplicates, in display order. */
function sortVerbs(verbs: Iterable<string>): string[] {
  const rank = (verb: string): number => (VERBS.includes(verb) ? VERBS.indexOf(verb) : VERBS.length);
  return [...new Set(verbs)].sort((a, b) => rank(a) - rank(b) || compareText(a, b));
}

/** Returns `rule` with sorted lists and without empty ones, so that equal rules have equal JSON. */
export function normalizeRule(rule: PolicyRule): PolicyRule {
  const list = (member: "apiGroups" | "resources" | "resourceNames" | "nonResourceURLs"): Partial<PolicyRule> =>
    rule[member] && rule[member].length > 0 ? { [member]: [...new Set(rule[member])].sort() } : {};
  return { ...list("apiGroups"), ...list("resources"), ...list("resourceNames"), ...list("nonResourceURLs"), verbs: sortVerbs(rule.verbs) };
}

/** Reports whether `holder` grants everything that `rule` grants. */
export function covers(holder: PolicyRule, rule: PolicyRule): boolean {
  if (!includesAll(holder.verbs, rule.verbs)) return false;
  if ((rule.nonResourceURLs?.length ?? 0) > 0) return coversUrls(holder.nonResourceURLs ?? [], rule.nonResourceURLs ?? []);
  const names = holder.resourceNames ?? [];
  const desired = rule.resourceNames ?? [];
  const coversNames = names.length === 0 || (desired.length > 0 && desired.every((name) => names.includes(name)));
  return (
    coversNames &&
    includesAll(holder.apiGroups ?? [], rule.apiGroups ?? []) &&
    coversResources(holder.resources ?? [], rule.resources ?? [])
  );
}

/** Reports whether some permission is in both rules. A rule without names includes every name. */
export function intersects(a: PolicyRule, b: PolicyRule): boolean {
  if (!overlap(a.verbs, b.verbs)) return false;
  const [urls, others] = [a.nonResourceURLs ?? [], b.nonResourceURLs ?? []];
  if (urls.length > 0 || others.length > 0) return urls.some((url) => others.some((other) => overlapUrls(url, other)));
  const [names, otherNames] = [a.resourceNames ?? [], b.resourceNames ?? []];
  const sharesName = names.length === 0 || otherNames.length === 0 || names.some((name) => otherNames.includes(name));
  return sharesName && overlap(a.apiGroups ?? [], b.apiGroups ?? []) && overlapResources(a.resources ?? [], b.resources ?? []);
}

function overlap(a: readonly string[], b: readonly string[]): boolean {
  return (a.includes("*") && b.length > 0) || (b.includes("*") && a.length > 0) || a.some((entry) => b.includes(entry));
}

// "*" includes all resources and subresources, "*/status" includes subresource status of all resources.
function overlapResources(a: readonly string[], b: readonly string[]): boolean {
  return overlap(a, b) || a.some((resource) => includesSubresource(b, resource)) || b.some((resource) => includesSubresource(a, resource));
}

function includesSubresource(holder: readonly string[], resource: string): boolean {
  const slash = resource.indexOf("/");
  return slash > 0 && holder.includes(`*${resource.slice(slash)}`);
}

function overlapUrls(a: string, b: string): boolean {
  const [isOpen, isOtherOpen] = [a.endsWith("*"), b.endsWith("*")];
  const [prefix, other] = [isOpen ? a.slice(0, -1) : a, isOtherOpen ? b.slice(0, -1) : b];
  if (isOpen && isOtherOpen) return prefix.startsWith(other) || other.startsWith(prefix);
  return isOpen ? b.startsWith(prefix) : isOtherOpen ? a.startsWith(other) : a === b;
}

/** Maximum number of rules to compare: each is compared with every other, so the time is quadratic. */
const COMPARED_MAX = 1_000;

/** Returns `rules` in normal form, sorted, without rules that another rule covers. From more than 1,000 rules, only removes duplicates. */
export function removeCovered(rules: readonly PolicyRule[]): PolicyRule[] {
  const sorted = sortRules([...new Map(rules.map(normalizeRule).map((rule) => [JSON.stringify(rule), rule])).values()]);
  if (sorted.length > COMPARED_MAX) return sorted;
  return sorted.filter((rule, i) => !sorted.some((other, j) => i !== j && covers(other, rule) && (j < i || !covers(rule, other))));
}

/** Sorts by group, resources, names and verbs. */
function sortRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const keyed = rules.map((rule) => {
    const { apiGroups = ["\uffff"], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
    return { rule, key: JSON.stringify([apiGroups, resources, resourceNames, nonResourceURLs, verbs]) };
  });
  return keyed.sort((a, b) => compareText(a.key, b.key)).map(({ rule }) => rule);
}

function includesAll(holder: readonly string[], desired: readonly string[]): boolean {
  return holder.includes("*") || desired.every((entry) => holder.includes(entry));
}

function coversResources(holder: readonly string[], desired: readonly string[]): boolean {
  return desired.every((resource) => holder.includes("*") || holder.includes(resource) || includesSubresource(holder, resource));
}

function coversUrls(holder: readonly string[], desired: readonly string[]): boolean {
  return desired.every((url) => holder.some((held) => held === url || (held.endsWith("*") && url.startsWith(held.slice(0, -1)))));
}

/** Permission for one verb on one resource, or on one object if a name is set. */
export interface Grant {
  group: string;
  resource: string;
  name?: string;
  verb: string;
}

/** An intermediate rule. `names` is undefined if it applies to all names. */
interface IntermediateRule {
  group: string;
  resources: string[];
  names: string[] | undefined;
  verbs: string[];
}

/**
 * Returns as few rules as it finds that grant exactly `grants`, sorted. First merges the verbs on the same objects, then the names with the same
 * verbs on the same resource, then the resources with the same names and verbs. Rules of different groups are never merged, because that would grant
 * more.
 */
export function buildRules(grants: readonly Grant[]): PolicyRule[] {
  const everyName = new Set(
    grants.filter(({ name }) => name === undefined).map(({ group, resource, verb }) => JSON.stringify([group, resource, verb])),
  );
  const needed = grants.filter(
    ({ group, resource, name, verb }) => name === undefined || !everyName.has(JSON.stringify([group, resource, verb])),
  );
  const entries = needed.map(
    ({ group, resource, name, verb }): IntermediateRule => ({
      group,
      resources: [resource],
      names: name === undefined ? undefined : [name],
      verbs: [verb],
    }),
  );
  const byObject = merge(
    entries,
    ({ group, resources, names }) => [group, resources, names],
    (same) => ({ verbs: union(same.map(({ verbs }) => verbs)) }),
  );
  const byVerbs = merge(
    byObject,
    ({ group, resources, names, verbs }) => [group, resources, verbs, names === undefined],
    (same) => ({ names: same[0]?.names && union(same.map(({ names }) => names ?? [])) }),
  );
  const byNames = merge(
    byVerbs,
    ({ group, names, verbs }) => [group, names, verbs],
    (same) => ({ resources: union(same.map(({ resources }) => resources)) }),
  );
  return sortRules(
    byNames.map(({ group, resources, names, verbs }) =>
      normalizeRule({ apiGroups: [group], resources, resourceNames: names ?? [], verbs }),
    ),
  );
}

/** Returns every single permission of a rule on resources; none for rules on URLs. */
export function splitRule({ apiGroups = [], resources = [], resourceNames = [], verbs }: PolicyRule): Grant[] {
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      names.flatMap((name) =>
        verbs.map((verb): Grant => (name === undefined ? { group, resource, verb } : { group, resource, name, verb })),
      ),
    ),
  );
}

/** Returns the rule for one permission. */
export function toRule({ group, resource, name, verb }: Grant): PolicyRule {
  return { apiGroups: [group], resources: [resource], ...(name === undefined ? {} : { resourceNames: [name] }), verbs: [verb] };
}

/** Merges entries for which `keyOf` returns equal values. `join` returns the members in which they differ, once for all of them. */
function merge(
  entries: readonly IntermediateRule[],
  keyOf: (entry: IntermediateRule) => unknown[],
  join: (same: readonly IntermediateRule[]) => Partial<IntermediateRule>,
): IntermediateRule[] {
  const groups = Map.groupBy(entries, (entry) => JSON.stringify(keyOf(entry)));
  return [...groups.values()].flatMap((same) => (same[0] ? [{ ...same[0], ...join(same) }] : []));
}

function union(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())].sort();
}
