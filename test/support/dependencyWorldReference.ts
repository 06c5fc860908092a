import type { GeneratedWorld, StatedConstraint, WorldBundle } from "./dependencyWorlds.ts";

// An independent implementation of dependency resolution that tries all sets of bundles of a generated world.

/** A bundle of a world. */
export interface PlacedBundle extends WorldBundle {
  readonly packageName: string;
  /** Undefined for an installed bundle. */
  readonly catalog: string | undefined;
}

/** Bundles and the kinds that the cluster serves. */
interface Installed {
  readonly bundles: readonly PlacedBundle[];
  readonly served: readonly string[];
}

/** Returns the catalogs' bundles of a package. */
export function bundlesOf({ catalogs }: GeneratedWorld, packageName: string): PlacedBundle[] {
  return Object.entries(catalogs).flatMap(([catalog, { packages }]) =>
    (packages[packageName]?.bundles ?? []).map((bundle) => ({ ...bundle, packageName, catalog })),
  );
}

/** Returns the installed bundle of each extension. */
function listInstalled({ installed }: GeneratedWorld): { extension: string; bundle: PlacedBundle }[] {
  return Object.entries(installed).map(([extension, { bundle: name, catalog: _catalog, ...rest }]) => ({
    extension,
    bundle: { ...rest, name, packageName: name.slice(0, name.indexOf(".v")), catalog: undefined },
  }));
}

/** Returns all sets of bundles that can be installed together with the candidate, see `canInstall`. */
export function listAdditions(world: GeneratedWorld, candidate: PlacedBundle): PlacedBundle[][] {
  const fixed = new Set([candidate.packageName, ...listInstalled(world).map(({ bundle }) => bundle.packageName)]);
  const names = new Set(Object.values(world.catalogs).flatMap(({ packages }) => Object.keys(packages)));
  let sets: PlacedBundle[][] = [[]];
  for (const name of names) {
    if (fixed.has(name)) continue;
    const options = bundlesOf(world, name);
    sets = sets.flatMap((set) => [set, ...options.map((option) => [...set, option])]);
  }
  return sets.filter((added) => canInstall(world, [candidate, ...added]));
}

/**
 * Reports whether the bundles can be installed in place of the installed bundles of their packages: every constraint of a new bundle is met, nothing that
 * the other installed bundles require now is lost, and each API has one provider.
 */
export function canInstall(world: GeneratedWorld, added: readonly PlacedBundle[]): boolean {
  const installed = listInstalled(world).map(({ bundle }) => bundle);
  const replaced = new Set(added.map(({ packageName }) => packageName));
  const peers = installed.filter(({ packageName }) => !replaced.has(packageName));
  const promises = peers.flatMap(({ requires }) =>
    requires.flatMap(splitConstraint).filter((part) => isTrue(part, { bundles: installed, served: world.served })),
  );
  const after = { bundles: [...peers, ...added], served: world.served };
  const provided = after.bundles.flatMap(({ provides }) => provides);
  return (
    new Set(provided).size === provided.length &&
    added.every(({ requires }) => requires.every((one) => isTrue(one, after))) &&
    promises.every((one) => isTrue(one, after))
  );
}

/** Returns the world in which the bundles are installed, by extensions with the names of their packages. */
export function install(world: GeneratedWorld, added: readonly PlacedBundle[]): GeneratedWorld {
  const entries = added.map(({ name, packageName, provides, requires, properties }) => {
    const catalog = world.installed[packageName]?.catalog ?? {};
    return [packageName, { bundle: name, provides, requires, properties, catalog }] as const;
  });
  return { ...world, installed: { ...world.installed, ...Object.fromEntries(entries) } };
}

/** Returns the bundles of a higher version to which an extension can be upgraded directly; without `isLimited`, regardless of its version range. */
export function listUpgrades({ catalogs, installed }: GeneratedWorld, extension: string, isLimited: boolean): PlacedBundle[] {
  const { bundle: from = "", catalog: { version: range } = {} } = installed[extension] ?? {};
  const packageName = from.slice(0, from.indexOf(".v"));
  return Object.entries(catalogs).flatMap(([catalog, { packages }]) => {
    const { bundles = [], channels = {} } = packages[packageName] ?? {};
    const entries = Object.values(channels).flat();
    const targets = entries.filter(
      (entry) =>
        typeof entry !== "string" &&
        (entry.replaces === from || (entry.skipRange !== undefined && isIn(toNumber(from), entry.skipRange))) &&
        toNumber(entry.name) > toNumber(from) &&
        (!isLimited || range === undefined || isIn(toNumber(entry.name), range)),
    );
    const names = new Set(targets.map((entry) => (typeof entry === "string" ? entry : entry.name)));
    return bundles.filter(({ name }) => names.has(name)).map((bundle) => ({ ...bundle, packageName, catalog }));
  });
}

/** Splits a constraint into the parts that can be met or unmet on their own. */
function splitConstraint(constraint: StatedConstraint): StatedConstraint[] {
  if (constraint.all) return constraint.all.constraints.flatMap(splitConstraint);
  if (constraint.not) return constraint.not.constraints.flatMap(splitExcluded);
  return [constraint];
}

function splitExcluded(excluded: StatedConstraint): StatedConstraint[] {
  return excluded.any ? excluded.any.constraints.flatMap(splitExcluded) : [{ not: { constraints: [excluded] } }];
}

/** Reports whether the bundles and served kinds make a constraint true. */
function isTrue(constraint: StatedConstraint, installed: Installed): boolean {
  const { all, any, not, package: required, gvk, cel } = constraint;
  if (all) return all.constraints.every((one) => isTrue(one, installed));
  if (any) return any.constraints.some((one) => isTrue(one, installed));
  if (not) return !not.constraints.some((one) => isTrue(one, installed));
  if (gvk) return [...installed.served, ...installed.bundles.flatMap(({ provides }) => provides)].includes(gvk.kind);
  if (cel) return installed.bundles.some(({ properties }) => properties.some(({ type }) => cel.rule.includes(`"${type}"`)));
  if (!required) throw new Error(`no constraint: ${JSON.stringify(constraint)}`);
  return installed.bundles.some(
    ({ packageName, name }) => packageName === required.packageName && isIn(toNumber(name), required.versionRange),
  );
}

/** Returns a number in the order of the versions of a bundle named "PACKAGE.vMAJOR.MINOR.0". */
export function toNumber(name: string): number {
  const [major = "", minor = ""] = name.slice(name.indexOf(".v") + 2).split(".");
  return Number(major) * 100 + Number(minor);
}

function isIn(version: number, range: string): boolean {
  return range.split(" ").every((text) => {
    const [, operator = "", major = "", minor = ""] = /^(\D*)(\d+)\.(\d+)\.0$/.exec(text) ?? [];
    const limit = Number(major) * 100 + Number(minor);
    if (operator === ">=") return version >= limit;
    if (operator === "<") return version < limit;
    return operator === ">" ? version > limit : version === limit;
  });
}
