import { eachGrant, type Grant, HeldRule, type PolicyRule, toRule } from "./policyRule.ts";
import { UrlSet } from "./urlSet.ts";

/** Maximum number of permissions of a rule in the index. Rules with more are compared one by one, so that memory stays bounded. */
const INDEXED_MAX = 10_000;
/** "*" in a list stands for every value. */
const ANY = "*";

/** Finds whether rules grant single permissions, in a time that does not grow with the number of rules. */
export class RuleIndex {
  readonly #grants = new Set<string>();
  /** URLs by verb. */
  readonly #urls = new Map<string, UrlSet>();
  readonly #large: HeldRule[] = [];

  constructor(rules: readonly PolicyRule[]) {
    const urls = new Map<string, string[]>();
    for (const rule of rules) this.#add(rule, urls);
    for (const [verb, ofVerb] of urls) this.#urls.set(verb, new UrlSet(ofVerb));
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
    return this.#large.length > 0 && this.#large.some((rule) => rule.covers(toRule(grant)));
  }

  /** Reports whether one of the rules grants a verb on a URL. A URL that ends with "*" is a prefix. */
  hasUrl(url: string, verb: string): boolean {
    const found = [this.#urls.get(verb), this.#urls.get(ANY)].some((urls) => urls?.has(url));
    return found || this.#large.some((rule) => rule.covers({ nonResourceURLs: [url], verbs: [verb] }));
  }

  /** Reports whether the rules together grant everything in `rules`. */
  hasAll(rules: readonly PolicyRule[]): boolean {
    return rules.every(
      (rule) => this.#hasGrants(rule) && (rule.nonResourceURLs ?? []).every((url) => rule.verbs.every((verb) => this.hasUrl(url, verb))),
    );
  }

  #hasGrants(rule: PolicyRule): boolean {
    for (const grant of eachGrant(rule)) if (!this.hasGrant(grant)) return false;
    return true;
  }

  #add(rule: PolicyRule, urls: Map<string, string[]>): void {
    const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
    const count = verbs.length * (apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length);
    if (count > INDEXED_MAX) {
      this.#large.push(new HeldRule(rule));
      return;
    }
    for (const grant of eachGrant(rule)) this.#grants.add(formatKey(grant));
    if (nonResourceURLs.length === 0) return;
    for (const verb of verbs) {
      const ofVerb = urls.get(verb) ?? [];
      for (const url of nonResourceURLs) ofVerb.push(url);
      urls.set(verb, ofVerb);
    }
  }
}

/** A permission without a name never has the key of one with a name. */
function formatKey({ group, resource, name, verb }: { [member in keyof Grant]: Grant[member] | undefined }): string {
  return name === undefined ? JSON.stringify([group, resource, verb]) : JSON.stringify([group, resource, verb, name]);
}
