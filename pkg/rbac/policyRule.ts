/** rbac.authorization.k8s.io/v1 PolicyRule. */
export interface PolicyRule {
  apiGroups?: string[];
  /** "resource" or "resource/subresource". */
  resources?: string[];
  /** Absent: objects of every name. */
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
}

/** Verbs in the order in which people read them; others come after, by name. */
const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "impersonate"];

/** `verbs` without repeats, in reading order. */
function sortVerbs(verbs: Iterable<string>): string[] {
  const rank = (verb: string): number => (VERBS.includes(verb) ? VERBS.indexOf(verb) : VERBS.length);
  return [...new Set(verbs)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** `rule` with sorted lists and without empty ones, so that equal rules are equal as JSON. */
export function normalRule(rule: PolicyRule): PolicyRule {
  const list = (member: "apiGroups" | "resources" | "resourceNames" | "nonResourceURLs"): Partial<PolicyRule> =>
    rule[member] && rule[member].length > 0 ? { [member]: [...new Set(rule[member])].sort() } : {};
  return { ...list("apiGroups"), ...list("resources"), ...list("resourceNames"), ...list("nonResourceURLs"), verbs: sortVerbs(rule.verbs) };
}

/** True when whoever holds `holder` holds everything that `rule` gives. */
export function covers(holder: PolicyRule, rule: PolicyRule): boolean {
  if (!includesAll(holder.verbs, rule.verbs)) return false;
  if ((rule.nonResourceURLs?.length ?? 0) > 0) return coversUrls(holder.nonResourceURLs ?? [], rule.nonResourceURLs ?? []);
  const names = holder.resourceNames ?? [];
  const wanted = rule.resourceNames ?? [];
  const coversNames = names.length === 0 || (wanted.length > 0 && wanted.every((name) => names.includes(name)));
  return (
    coversNames &&
    includesAll(holder.apiGroups ?? [], rule.apiGroups ?? []) &&
    coversResources(holder.resources ?? [], rule.resources ?? [])
  );
}

/** Every rule is compared with every other one, so the time grows with the square of their number. */
const COMPARED_MAX = 1_000;

/** Returns `rules` in normal form, sorted, without those that another one covers; of more than 1,000 only without equal ones. */
export function withoutCovered(rules: readonly PolicyRule[]): PolicyRule[] {
  const sorted = [...new Map(rules.map(normalRule).map((rule) => [JSON.stringify(rule), rule])).values()].sort(compareRules);
  if (sorted.length > COMPARED_MAX) return sorted;
  return sorted.filter((rule, i) => !sorted.some((other, j) => i !== j && covers(other, rule) && (j < i || !covers(rule, other))));
}

/** By group, resources, names and verbs. */
export function compareRules(a: PolicyRule, b: PolicyRule): number {
  const key = ({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }: PolicyRule): string =>
    JSON.stringify([apiGroups ?? ["\uffff"], resources ?? [], resourceNames ?? [], nonResourceURLs ?? [], verbs]);
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
}

function includesAll(holder: readonly string[], wanted: readonly string[]): boolean {
  return holder.includes("*") || wanted.every((entry) => holder.includes(entry));
}

function coversResources(holder: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((resource) => {
    const slash = resource.indexOf("/");
    return holder.includes("*") || holder.includes(resource) || (slash > 0 && holder.includes(`*${resource.slice(slash)}`));
  });
}

function coversUrls(holder: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((url) => holder.some((held) => held === url || (held.endsWith("*") && url.startsWith(held.slice(0, -1)))));
}
