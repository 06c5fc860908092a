import type { PackageContent } from "../../fbc/types.ts";
import { listDeprecatedBundles } from "../candidates.ts";
import type { Gvk } from "../constraint/constraint.ts";
import { getGvkKey, toProvider } from "../constraint/parse.ts";
import type { RejectedSolverBundle, ServedApi, SolverBundle, SolverProblem, Unit } from "../solver/problem.ts";
import type { AvailableBundle } from "./bundleIndex.ts";
import type { CatalogIndex, IndexedCatalog } from "./catalogIndex.ts";
import { type InstallContext, type InstalledPeer, listMetConstraints } from "./dependencyCheck.ts";
import { canBeNamed, findLimit, listRejectedBundles } from "./rejectedBundles.ts";

/** A request for the first of these bundles of the package that can be installed. */
export interface RequestedPackage {
  readonly packageName: string;
  readonly candidates: readonly SolverBundle[];
}

/**
 * Builds the problem of installing one of the candidates in a context, with the bundles of `packages` as available dependencies. Installed bundles
 * stay, unless `moves` contains bundles of their package that may replace them, in the order of preference. If several extensions install the same package, the first by
 * name represents it in the problem, and the APIs of the others count as owned.
 *
 * What is already wrong is tolerated: unmet constraints of installed bundles are omitted, and APIs that two of them provide count as served. The
 * preflight checks whether a candidate may take over an API that the cluster serves.
 */
export function buildProblem(
  desired: RequestedPackage,
  context: InstallContext,
  packages: Iterable<string>,
  index: CatalogIndex,
  moves: ReadonlyMap<string, readonly SolverBundle[]> = new Map(),
): SolverProblem {
  const shared = findSharedApis(context);
  const before = new Set(context.own?.provider.apis.map(getGvkKey));
  const candidateApis = new Set(desired.candidates.flatMap(({ apis }) => apis.map(getGvkKey)));
  const served: ServedApi[] = [
    ...context.served.map((api) => (candidateApis.has(getGvkKey(api.gvk)) ? { gvk: api.gvk, owner: undefined } : api)),
    ...[...shared].map(([key, { gvk, owner }]) => ({ gvk, owner: before.has(key) && candidateApis.has(key) ? undefined : owner })),
  ];
  const units: Unit[] = [{ kind: "wanted", ...desired }];
  const taken = new Set([desired.packageName]);
  for (const peer of context.peers) {
    const { packageName } = peer.provider;
    const apis = peer.provider.apis.filter((gvk) => !shared.has(getGvkKey(gvk)));
    if (taken.has(packageName)) {
      served.push(...apis.map((gvk) => ({ gvk, owner: peer.extension })));
      continue;
    }
    taken.add(packageName);
    const candidates = [installedBundle(peer, apis, context), ...(moves.get(packageName) ?? [])];
    units.push({ kind: "installed", packageName, candidates });
  }
  const rejected: RejectedSolverBundle[] = [];
  for (const packageName of packages) {
    if (taken.has(packageName)) continue;
    taken.add(packageName);
    rejected.push(...listRejectedBundles(packageName, index));
    const candidates = canBeNamed(packageName) ? listSolverBundles(packageName, index) : [];
    if (candidates.length > 0) units.push({ kind: "offered", packageName, candidates });
  }
  return { units, served, rejected };
}

/** Returns the APIs that several installed bundles provide, including the extension's own, by key, each with the first other extension by name. */
function findSharedApis({ peers, own }: InstallContext): ReadonlyMap<string, { readonly gvk: Gvk; readonly owner: string }> {
  const count = new Map<string, number>();
  for (const { provider } of [...peers, ...(own ? [own] : [])])
    for (const key of new Set(provider.apis.map(getGvkKey))) count.set(key, (count.get(key) ?? 0) + 1);
  const shared = new Map<string, { gvk: Gvk; owner: string }>();
  for (const { extension, provider } of peers)
    for (const gvk of provider.apis) {
      const key = getGvkKey(gvk);
      if ((count.get(key) ?? 0) > 1 && !shared.has(key)) shared.set(key, { gvk, owner: extension });
    }
  return shared;
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
  return index.catalogs.flatMap((one) => {
    const bundles = one.index.bundlesOf(packageName).filter(({ name }) => !findLimit({ packageName, catalog: one.catalog, name }, index));
    return toSolverBundles(packageName, bundles, one, index);
  });
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
  return {
    ...provider,
    apis,
    name: bundle,
    catalog: undefined,
    priority: 0,
    channels: [],
    inDefaultChannel: false,
    deprecated: false,
    constraints: listMetConstraints(declared.constraints, context),
  };
}
