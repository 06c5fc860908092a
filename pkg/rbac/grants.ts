import { compareRules, normalRule, type PolicyRule } from "./policyRule.ts";

/** One verb on one resource; with a name on that object only. */
export interface Grant {
  group: string;
  resource: string;
  name?: string;
  verb: string;
}

/** A rule on its way to being one: `names` undefined means every name. */
interface Entry {
  group: string;
  resources: string[];
  names: string[] | undefined;
  verbs: string[];
}

/**
 * Few rules that give exactly `grants` and nothing else, sorted: what names the same objects shares its verbs, what then has the
 * same verbs on the same resource shares its names, what then has the same names and verbs shares its resources.
 * Rules of different groups are never put together, as that would give more.
 */
export function rulesFrom(grants: readonly Grant[]): PolicyRule[] {
  const everyName = new Set(
    grants.filter(({ name }) => name === undefined).map(({ group, resource, verb }) => JSON.stringify([group, resource, verb])),
  );
  const needed = grants.filter(
    ({ group, resource, name, verb }) => name === undefined || !everyName.has(JSON.stringify([group, resource, verb])),
  );
  const entries = needed.map(
    ({ group, resource, name, verb }): Entry => ({
      group,
      resources: [resource],
      names: name === undefined ? undefined : [name],
      verbs: [verb],
    }),
  );
  const byObject = merge(
    entries,
    ({ group, resources, names }) => [group, resources, names],
    (a, b) => ({ ...a, verbs: union(a.verbs, b.verbs) }),
  );
  const byVerbs = merge(
    byObject,
    ({ group, resources, names, verbs }) => [group, resources, verbs, names === undefined],
    (a, b) => ({ ...a, names: a.names && union(a.names, b.names ?? []) }),
  );
  const byNames = merge(
    byVerbs,
    ({ group, names, verbs }) => [group, names, verbs],
    (a, b) => ({ ...a, resources: union(a.resources, b.resources) }),
  );
  return byNames
    .map(({ group, resources, names, verbs }) => normalRule({ apiGroups: [group], resources, resourceNames: names ?? [], verbs }))
    .sort(compareRules);
}

/** Every single right that a rule on resources gives; rules on URLs give none. */
export function grantsOf({ apiGroups = [], resources = [], resourceNames = [], verbs }: PolicyRule): Grant[] {
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      names.flatMap((name) =>
        verbs.map((verb): Grant => (name === undefined ? { group, resource, verb } : { group, resource, name, verb })),
      ),
    ),
  );
}

/** Joins entries for which `same` gives equal values. */
function merge(entries: readonly Entry[], same: (entry: Entry) => unknown[], join: (a: Entry, b: Entry) => Entry): Entry[] {
  const joined = new Map<string, Entry>();
  for (const entry of entries) {
    const key = JSON.stringify(same(entry));
    const other = joined.get(key);
    joined.set(key, other ? join(other, entry) : entry);
  }
  return [...joined.values()];
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])].sort();
}
