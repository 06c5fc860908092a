import type { PackageContent } from "../../fbc/types.ts";
import type { Gvk } from "../constraint/constraint.ts";
import { holds } from "../constraint/evaluate.ts";
import { gvkKey, providerFrom } from "../constraint/parse.ts";
import { deprecatedBundles } from "../filters.ts";
import type { Problem, ServedApi, SolverBundle, Unit } from "../solver/problem.ts";
import type { Environment, Neighbour } from "./dependencyCheck.ts";
import type { OfferedBundle } from "./offerIndex.ts";
import type { Offering, ReadConstraints } from "./reach.ts";

/** What a catalog says about a package beside its bundles; undefined where that is not known. */
export type PackageOf = (catalog: string, packageName: string) => PackageContent | undefined;

/** The catalogs, and how to read them. */
export interface Market {
  readonly offerings: readonly Offering[];
  readonly packageOf: PackageOf;
  readonly read: ReadConstraints;
}

/** What is wanted: one of these bundles of the package, the first that can be. */
export interface Wanted {
  readonly packageName: string;
  readonly candidates: readonly SolverBundle[];
}

/**
 * The problem of installing one of the candidates in an environment, with the bundles of `packages` to choose from for what is missing.
 * What is installed stays as it is, unless its package is one of `movable`: then what catalogs offer of it may take its place.
 * Of several extensions of one package, the first by name stands for it; the APIs of the others are theirs. What is broken already may stay broken.
 */
export function problemFrom(
  wanted: Wanted,
  environment: Environment,
  packages: Iterable<string>,
  market: Market,
  movable: ReadonlySet<string> = new Set(),
): Problem {
  const claimed = new Set<string>();
  const served: ServedApi[] = [...environment.served];
  const units: Unit[] = [{ kind: "wanted", ...wanted }];
  const taken = new Set([wanted.packageName]);
  for (const neighbour of environment.neighbours) {
    const { packageName } = neighbour.provider;
    const apis = unclaimed(neighbour.provider.apis, claimed);
    if (taken.has(packageName)) {
      served.push(...apis.map((gvk) => ({ gvk, owner: neighbour.extension })));
      continue;
    }
    taken.add(packageName);
    const moves = movable.has(packageName) ? offersOf(packageName, market) : [];
    const candidates = [installedBundle(neighbour, apis, environment), ...moves.filter(({ name }) => name !== neighbour.bundle)];
    units.push({ kind: "installed", packageName, candidates });
  }
  for (const packageName of packages) {
    if (taken.has(packageName)) continue;
    taken.add(packageName);
    const candidates = offersOf(packageName, market);
    if (candidates.length > 0) units.push({ kind: "offered", packageName, candidates });
  }
  return { units, served };
}

/** Bundles of one package of one catalog as the solver sees them, without those that have no version, or constraints that cannot be read. */
export function solverBundles(
  packageName: string,
  bundles: readonly OfferedBundle[],
  { catalog, priority }: Pick<Offering, "catalog" | "priority">,
  { packageOf, read }: Pick<Market, "packageOf" | "read">,
): SolverBundle[] {
  const content = packageOf(catalog, packageName);
  const channelsOf = channelsByBundle(content);
  const deprecated = deprecatedBundles(content?.deprecations[0]);
  const defaultChannel = content?.package?.defaultChannel;
  return bundles.flatMap((bundle) => {
    const { constraints, faults } = read(bundle);
    const provider = providerFrom(bundle);
    if (faults.length > 0 || provider.version === undefined) return [];
    const channels = channelsOf.get(bundle.name) ?? [];
    const inDefaultChannel = defaultChannel !== undefined && channels.includes(defaultChannel);
    return [
      {
        ...provider,
        name: bundle.name,
        catalog,
        priority,
        channels,
        inDefaultChannel,
        deprecated: deprecated.has(bundle.name),
        constraints,
      },
    ];
  });
}

function offersOf(packageName: string, market: Market): SolverBundle[] {
  return market.offerings.flatMap((offering) => solverBundles(packageName, offering.index.bundlesOf(packageName), offering, market));
}

function channelsByBundle(content: PackageContent | undefined): ReadonlyMap<string, readonly string[]> {
  const channels = new Map<string, string[]>();
  for (const { name, entries } of content?.channels ?? [])
    for (const entry of new Set(entries.map((each) => each.name))) {
      const known = channels.get(entry);
      if (known) known.push(name);
      else channels.set(entry, [name]);
    }
  return channels;
}

function installedBundle({ bundle, provider, declared }: Neighbour, apis: readonly Gvk[], environment: Environment): SolverBundle {
  const { neighbours, own, served } = environment;
  const all = [...neighbours.map((neighbour) => neighbour.provider), ...(own ? [own.provider] : [])];
  const gvks = served.map(({ gvk }) => gvk);
  return {
    ...provider,
    apis,
    name: bundle,
    catalog: undefined,
    priority: 0,
    channels: [],
    inDefaultChannel: false,
    deprecated: false,
    constraints: declared.constraints.filter((constraint) => holds(constraint, all, gvks)),
  };
}

/** Those of `apis` that nobody has claimed before; they are claimed from then on. */
function unclaimed(apis: readonly Gvk[], claimed: Set<string>): Gvk[] {
  return apis.filter((gvk) => {
    const key = gvkKey(gvk);
    if (claimed.has(key)) return false;
    claimed.add(key);
    return true;
  });
}
