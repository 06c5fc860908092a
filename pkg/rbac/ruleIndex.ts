import { covers, type Grant, type PolicyRule, splitRule, toRule } from "./policyRule.ts";

/** Maximum number of permissions of a rule in the index. Rules with more are compared one by one, so that memory stays bounded. */
const INDEXED_MAX = 10_000;
/** "*" in a list stands for every value. */
const ANY = "*";

/** URLs and prefixes of URLs for one verb. */
interface Urls {
  readonly exact: Set<string>;
  readonly prefixes: string[];
}

/** Finds whether rules grant single permissions, in a time that does not grow with the number of rules. */
export class RuleIndex {
  readonly #grants = new Set<string>();
  readonly #urls = new Map<string, Urls>();
  readonly #large: PolicyRule[] = [];

  constructor(rules: readonly PolicyRule[]) {
    for (const rule of rules) this.#add(rule);
    for (const urls of this.#urls.values()) urls.prefixes.splice(0, Number.POSITIVE_INFINITY, ...listShortest(urls.prefixes));
  }

  /** Reports whether one of the rules grants a permission on a resource. */
  hasGrant(grant: Grant): boolean {
    const { group, resource, name, verb } = grant;
    const slash = resource.indexOf("/");
    const resources = [resource, ANY, ...(slash > 0 ? [`*${resource.slice(slash)}`] : [])];
    const names = name === undefined ? [undefined] : [name, undefined];
    for (const heldGroup of [group, ANY])
      for (const heldResource of resources)
        for (const heldName of names)
          for (const heldVerb of [verb, ANY])
            if (this.#grants.has(formatKey({ group: heldGroup, resource: heldResource, name: heldName, verb: heldVerb }))) return true;
    return this.#large.length > 0 && this.#large.some((rule) => covers(rule, toRule(grant)));
  }

  /** Reports whether one of the rules grants a verb on a URL. A URL that ends with "*" is a prefix. */
  hasUrl(url: string, verb: string): boolean {
    const found = [this.#urls.get(verb), this.#urls.get(ANY)].some(
      (urls) => urls && (urls.exact.has(url) || hasPrefix(urls.prefixes, url)),
    );
    return found || this.#large.some((rule) => covers(rule, { nonResourceURLs: [url], verbs: [verb] }));
  }

  /** Reports whether the rules together grant everything in `rules`. */
  hasAll(rules: readonly PolicyRule[]): boolean {
    return rules.every(
      (rule) =>
        splitRule(rule).every((grant) => this.hasGrant(grant)) &&
        (rule.nonResourceURLs ?? []).every((url) => rule.verbs.every((verb) => this.hasUrl(url, verb))),
    );
  }

  #add(rule: PolicyRule): void {
    const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
    const count = verbs.length * (apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length);
    if (count > INDEXED_MAX) {
      this.#large.push(rule);
      return;
    }
    for (const grant of splitRule(rule)) this.#grants.add(formatKey(grant));
    for (const url of nonResourceURLs) for (const verb of verbs) this.#addUrl(url, verb);
  }

  #addUrl(url: string, verb: string): void {
    const urls = this.#urls.get(verb) ?? { exact: new Set(), prefixes: [] };
    this.#urls.set(verb, urls);
    urls.exact.add(url);
    if (url.endsWith("*")) urls.prefixes.push(url.slice(0, -1));
  }
}

/** A permission without a name never has the key of one with a name. */
function formatKey({ group, resource, name, verb }: { [member in keyof Grant]: Grant[member] | undefined }): string {
  return name === undefined ? JSON.stringify([group, resource, verb]) : JSON.stringify([group, resource, verb, name]);
}

/** Returns the prefixes that do not start with another one, sorted. */
function listShortest(prefixes: readonly string[]): string[] {
  const shortest: string[] = [];
  for (const prefix of prefixes.toSorted()) {
    const last = shortest.at(-1);
    if (last === undefined || !prefix.startsWith(last)) shortest.push(prefix);
  }
  return shortest;
}

/** Reports whether `text` starts with one of the prefixes, which only the last one that is not after `text` can be. @param prefixes as `listShortest` returns them */
function hasPrefix(prefixes: readonly string[], text: string): boolean {
  let [from, to] = [0, prefixes.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((prefixes[middle] ?? "") <= text) from = middle + 1;
    else to = middle;
  }
  const last = prefixes[from - 1];
  return last !== undefined && text.startsWith(last);
}
