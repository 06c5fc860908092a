import type { PackageContent } from "../../fbc/types.ts";
import { listDeprecatedBundles } from "../candidates.ts";
import type { Gvk } from "../constraint/constraint.ts";
import { isSatisfied } from "../constraint/evaluate.ts";
import { getGvkKey, toProvider } from "../constraint/parse.ts";
import { comparePreference, type ServedApi, type SolverBundle, type SolverProblem, type Unit } from "../solver/problem.ts";
import type { AvailableBundle } from "./bundleIndex.ts";
import type { InstallContext, InstalledPeer } from "./dependencyCheck.ts";
import type { IndexedCatalog, ReadConstraints } from "./reachablePackages.ts";

/** Returns a package of a catalog without its bundles; undefined if the catalog does not contain the package. */
type FindPackage = (catalog: string, packageName: string) => PackageContent | undefined;

/** The catalogs and how to read them. */
export interface CatalogIndex {
  readonly catalogs: readonly IndexedCatalog[];
  readonly packageOf: FindPackage;
  readonly read: ReadConstraints;
}

/** A request for the first of these bundles of the package that can be installed. */
export interface RequestedPackage {
  readonly packageName: string;
  readonly candidates: readonly SolverBundle[];
}

/**
 * Builds the problem of installing one of the candidates in a context, with the bundles of `packages` as available dependencies. Installed bundles
 * stay, unless their package is in `movable`: then a catalog's bundles may replace them. If several extensions install the same package, the first by
 * name represents it in the problem, and the APIs of the others count as owned. Constraints that are already unmet are omitted.
 */
export function buildProblem(
  desired: RequestedPackage,
  context: InstallContext,
  packages: Iterable<string>,
  index: CatalogIndex,
  movable: ReadonlySet<string> = new Set(),
): SolverProblem {
  const claimed = new Set<string>();
  const served: ServedApi[] = [...context.served];
  const units: Unit[] = [{ kind: "wanted", ...desired }];
  const taken = new Set([desired.packageName]);
  for (const peer of context.peers) {
    const { packageName } = peer.provider;
    const apis = claimApis(peer.provider.apis, claimed);
    if (taken.has(packageName)) {
      served.push(...apis.map((gvk) => ({ gvk, owner: peer.extension })));
      continue;
    }
    taken.add(packageName);
    // Sorted, because the order of an installed package's candidates decides which one is chosen.
    const moves = movable.has(packageName) ? listSolverBundles(packageName, index).sort((a, b) => comparePreference(a, b, undefined)) : [];
    const candidates = [installedBundle(peer, apis, context), ...moves.filter(({ name }) => name !== peer.bundle)];
    units.push({ kind: "installed", packageName, candidates });
  }
  for (const packageName of packages) {
    if (taken.has(packageName)) continue;
    taken.add(packageName);
    const candidates = listSolverBundles(packageName, index);
    if (candidates.length > 0) units.push({ kind: "offered", packageName, candidates });
  }
  return { units, served };
}

/** Returns the bundles of one package of one catalog for the solver, without those that have no version or an invalid constraint. */
export function toSolverBundles(
  packageName: string,
  bundles: readonly AvailableBundle[],
  { catalog, priority }: Pick<IndexedCatalog, "catalog" | "priority">,
  { packageOf, read }: Pick<CatalogIndex, "packageOf" | "read">,
): SolverBundle[] {
  const content = packageOf(catalog, packageName);
  const getChannels = channelsByBundle(content);
  const deprecated = listDeprecatedBundles(content?.deprecations[0]);
  const defaultChannel = content?.package?.defaultChannel;
  return bundles.flatMap((bundle) => {
    const { constraints, faults } = read(bundle);
    const provider = toProvider(bundle);
    if (faults.length > 0 || provider.version === undefined) return [];
    const channels = getChannels.get(bundle.name) ?? [];
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

function listSolverBundles(packageName: string, index: CatalogIndex): SolverBundle[] {
  return index.catalogs.flatMap((catalog) => toSolverBundles(packageName, catalog.index.bundlesOf(packageName), catalog, index));
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

function installedBundle({ bundle, provider, declared }: InstalledPeer, apis: readonly Gvk[], context: InstallContext): SolverBundle {
  const { peers, own, served } = context;
  const all = [...peers.map((peer) => peer.provider), ...(own ? [own.provider] : [])];
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
    constraints: declared.constraints.filter((constraint) => isSatisfied(constraint, all, gvks)),
  };
}

/** Returns the entries of `apis` that no bundle has claimed yet, and claims them. */
function claimApis(apis: readonly Gvk[], claimed: Set<string>): Gvk[] {
  return apis.filter((gvk) => {
    const key = getGvkKey(gvk);
    if (claimed.has(key)) return false;
    claimed.add(key);
    return true;
  });
}
