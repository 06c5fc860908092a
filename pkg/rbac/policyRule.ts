import { compareText } from "../text/compare.ts";
import { UrlSet } from "./urlSet.ts";

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

/**
 * A rule that is compared with many others. It keeps its lists as sets, so that long lists do not
 * slow the comparison.
 */
export class HeldRule {
  readonly #verbs: ReadonlySet<string>;
  readonly #apiGroups: ReadonlySet<string>;
  readonly #resources: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  readonly #urls: UrlSet;

  constructor({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }: PolicyRule) {
    this.#verbs = new Set(verbs);
    this.#apiGroups = new Set(apiGroups);
    this.#resources = new Set(resources);
    this.#names = new Set(resourceNames);
    this.#urls = new UrlSet(nonResourceURLs);
  }

  /** Reports whether the rule grants everything that another one grants. */
  covers({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }: PolicyRule): boolean {
    if (!includesAll(this.#verbs, verbs)) return false;
    if (nonResourceURLs.length > 0) return nonResourceURLs.every((url) => this.#urls.has(url));
    const coversNames = this.#names.size === 0 || (resourceNames.length > 0 && resourceNames.every((name) => this.#names.has(name)));
    return coversNames && includesAll(this.#apiGroups, apiGroups) && this.#coversResources(resources);
  }

  #coversResources(resources: readonly string[]): boolean {
    const held = this.#resources;
    return held.has("*") || resources.every((resource) => held.has(resource) || held.has(toWildcard(resource)));
  }
}

function includesAll(holder: ReadonlySet<string>, desired: readonly string[]): boolean {
  return holder.has("*") || desired.every((entry) => holder.has(entry));
}

// Returns the entry that includes this subresource of all resources, for example "*/status" for
// "pods/status"; "*" for a resource.
function toWildcard(resource: string): string {
  const slash = resource.indexOf("/");
  return slash > 0 ? `*${resource.slice(slash)}` : "*";
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
  return overlap(a, b) || a.some((resource) => b.includes(toWildcard(resource))) || b.some((resource) => a.includes(toWildcard(resource)));
}

function overlapUrls(a: string, b: string): boolean {
  const [isOpen, isOtherOpen] = [a.endsWith("*"), b.endsWith("*")];
  const [prefix, other] = [isOpen ? a.slice(0, -1) : a, isOtherOpen ? b.slice(0, -1) : b];
  if (isOpen && isOtherOpen) return prefix.startsWith(other) || other.startsWith(prefix);
  return isOpen ? b.startsWith(prefix) : isOtherOpen ? a.startsWith(other) : a === b;
}

/** Maximum number of rules to compare: each is compared with every other, so the time is quadratic. */
const COMPARED_MAX = 1_000;

/**
 * Maximum of the number of rules times their size in characters of JSON: each list is searched once
 * for each other rule. The comparison then takes less than a second.
 */
const COMPARED_SIZE_MAX = 250_000_000;

/**
 * Returns `rules` in normal form, sorted, without rules that another rule covers. Only removes
 * duplicates if there are more than 1,000 rules, or if they are too large to compare.
 */
export function removeCovered(rules: readonly PolicyRule[]): PolicyRule[] {
  const unique = new Map(rules.map(normalizeRule).map((rule) => [JSON.stringify(rule), rule]));
  const sorted = sortRules([...unique.values()]);
  const size = [...unique.keys()].reduce((sum, key) => sum + key.length, 0);
  if (sorted.length > COMPARED_MAX || sorted.length * size > COMPARED_SIZE_MAX) return sorted;
  const compared = sorted.map((rule) => ({ rule, held: new HeldRule(rule) }));
  const isCovered = ({ rule, held }: (typeof compared)[number], i: number): boolean =>
    compared.some((other, j) => i !== j && other.held.covers(rule) && (j < i || !held.covers(other.rule)));
  return compared.filter((one, i) => !isCovered(one, i)).map(({ rule }) => rule);
}

/** Sorts by group, resources, names and verbs. */
function sortRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const keyed = rules.map((rule) => {
    const { apiGroups = ["\uffff"], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
    return { rule, key: JSON.stringify([apiGroups, resources, resourceNames, nonResourceURLs, verbs]) };
  });
  return keyed.sort((a, b) => compareText(a.key, b.key)).map(({ rule }) => rule);
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
export function splitRule(rule: PolicyRule): Grant[] {
  return [...eachGrant(rule)];
}

/**
 * Yields every single permission of a rule on resources. There can be millions, so `splitRule` may
 * need too much memory.
 */
export function* eachGrant({ apiGroups = [], resources = [], resourceNames = [], verbs }: PolicyRule): Generator<Grant, void> {
  // A rule without permissions can have many groups or names.
  if (resources.length === 0 || verbs.length === 0) return;
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  for (const group of apiGroups)
    for (const resource of resources)
      for (const name of names)
        for (const verb of verbs) yield name === undefined ? { group, resource, verb } : { group, resource, name, verb };
}

/** Returns the rule for one permission. */
export function toRule({ group, resource, name, verb }: Grant): PolicyRule {
  return { apiGroups: [group], resources: [resource], ...(name === undefined ? {} : { resourceNames: [name] }), verbs: [verb] };
}

/**
 * Merges entries with equal values of `keyOf`. `join` returns the members in which they
 * differ, once for all of them.
 */
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
