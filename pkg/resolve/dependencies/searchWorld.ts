import type { FbcBundle, PackageContent, Property } from "../../fbc/types.ts";
import type { Provider } from "../constraint/constraint.ts";
import type { DeclaredConstraints } from "../constraint/parse.ts";
import type { BundleReference, SolverBundle } from "../solver/problem.ts";
import { type AvailableBundle, BundleIndex } from "./bundleIndex.ts";
import type { CatalogIndex, IndexedCatalog, PackageLimit, PolicyInputs, ReadConstraints } from "./catalogIndex.ts";
import type { InstallContext, InstalledPeer } from "./dependencyCheck.ts";
import type { ReachablePackages } from "./reachablePackages.ts";
import { mapBundles, type ReachableBundles, type ResolutionHint } from "./remedySearch.ts";
import { toSolverBundles } from "./solverProblem.ts";

// What a search in another thread reads and returns, as data without functions. The other thread parses constraints again from properties.

/** A bundle of the solver without parsed constraints. */
export type PlainBundle = Omit<SolverBundle, "constraints">;

interface PlainPeer extends Omit<InstalledPeer, "provider" | "declared"> {
  readonly provider: Provider;
  /** Whether its constraints count. */
  readonly isBound: boolean;
}

/** An install context, and everything about the reachable packages except their bundles. */
export interface PlainWorld {
  readonly context: Omit<InstallContext, "peers" | "own"> & { readonly peers: readonly PlainPeer[]; readonly own: PlainPeer | undefined };
  readonly catalogs: readonly Omit<IndexedCatalog, "index">[];
  readonly added: Pick<ReachablePackages, "packages" | "exceeded">;
  readonly moved: Pick<ReachablePackages, "packages" | "exceeded">;
  readonly limits: ReadonlyMap<string, PackageLimit>;
  readonly policyInputs: PolicyInputs;
}

/** Some of the bundles of a reachable package in one catalog. The parts of a package are in the order of the catalog. */
export interface PackagePart {
  readonly catalog: string;
  readonly packageName: string;
  readonly bundles: readonly AvailableBundle[];
  /** The package without its bundles, in one of the parts. */
  readonly content?: Omit<PackageContent, "bundles">;
  /** Its bundles with images, if an extension has installed the package. */
  readonly contentBundles: readonly FbcBundle[];
}

/** Returns the plain data of a world. The packages follow with `splitPackages`. */
export function toPlainWorld(context: InstallContext, { index, added, moved }: ReachableBundles): PlainWorld {
  const reached = new Set([...added.packages, ...moved.packages]);
  return {
    context: {
      peers: context.peers.map(toPlainPeer),
      own: context.own && toPlainPeer(context.own),
      served: context.served.map(({ gvk, owner }) => ({ gvk, owner })),
    },
    catalogs: index.catalogs.map(({ catalog, priority, labels }) => ({ catalog, priority, ...(labels ? { labels } : {}) })),
    added: { packages: added.packages, exceeded: added.exceeded },
    moved: { packages: moved.packages, exceeded: moved.exceeded },
    limits: new Map([...(index.limits ?? [])].filter(([name]) => reached.has(name))),
    policyInputs: index.policyInputs ?? {},
  };
}

function toPlainPeer({ declared, provider, extension, bundle, source, checksDependencies }: InstalledPeer): PlainPeer {
  const { packageName, version, apis, properties } = provider;
  return {
    extension,
    bundle,
    provider: { packageName, version, apis, properties },
    isBound: declared.constraints.length + declared.faults.length > 0,
    ...(source ? { source } : {}),
    ...(checksDependencies === undefined ? {} : { checksDependencies }),
  };
}

/** Returns the plain data of a bundle to install. */
export function toPlainBundle({ constraints: _parsed, ...bundle }: SolverBundle): PlainBundle {
  return bundle;
}

/** Yields the packages of a world in groups of about `size` bundles, so that sending one takes a short time. */
export function* splitPackages(context: InstallContext, { index, added, moved }: ReachableBundles, size: number): Generator<PackagePart[]> {
  const installed = new Set(context.peers.map(({ provider }) => provider.packageName));
  let group: PackagePart[] = [];
  let count = 0;
  for (const packageName of new Set([...added.packages, ...moved.packages]))
    for (const one of index.catalogs) {
      const bundles = one.index.bundlesOf(packageName);
      const content = index.packageOf(one.catalog, packageName);
      const { bundles: all = [], ...rest } = content ?? {};
      const contentBundles = installed.has(packageName) ? all : [];
      for (let from = 0; from === 0 || from < Math.max(bundles.length, contentBundles.length); from += size) {
        const part = {
          catalog: one.catalog,
          packageName,
          bundles: bundles.slice(from, from + size),
          contentBundles: contentBundles.slice(from, from + size),
          ...(content && from === 0 ? { content: rest as Omit<PackageContent, "bundles"> } : {}),
        };
        group.push(part);
        count += 1 + part.bundles.length + part.contentBundles.length;
        if (count < size) continue;
        yield group;
        [group, count] = [[], 0];
      }
    }
  if (group.length > 0) yield group;
}

/** Returns the properties in which constraints are declared, so that the caller can prepare `buildWorld`. */
export function listWorldProperties({ context: { peers, own } }: PlainWorld, parts: readonly PackagePart[]): (readonly Property[])[] {
  return [
    ...[...peers, ...(own ? [own] : [])].map(({ provider }) => provider.properties),
    ...parts.flatMap(({ bundles }) => bundles.map(({ properties }) => properties)),
  ];
}

/** A world that was built from its plain data. */
export interface SearchWorld {
  readonly context: InstallContext;
  readonly reachable: ReachableBundles;
}

const NO_CONSTRAINTS: DeclaredConstraints = { constraints: [], faults: [] };

/** Builds a world from its plain data. A search in it has the same result as in the original one. */
export function buildWorld(world: PlainWorld, parts: readonly PackagePart[], read: ReadConstraints): SearchWorld {
  const bundles = new Map(world.catalogs.map(({ catalog }) => [catalog, new Map<string, AvailableBundle[]>()]));
  const contents = new Map<string, PackageContent>();
  for (const part of parts) {
    const ofCatalog = bundles.get(part.catalog);
    if (part.bundles.length > 0) ofCatalog?.set(part.packageName, [...(ofCatalog.get(part.packageName) ?? []), ...part.bundles]);
    const key = JSON.stringify([part.catalog, part.packageName]);
    if (part.content) contents.set(key, { ...part.content, bundles: [] });
    contents.get(key)?.bundles.push(...part.contentBundles);
  }
  const index: CatalogIndex = {
    catalogs: world.catalogs.map((one) => ({ ...one, index: new BundleIndex(bundles.get(one.catalog) ?? new Map(), new Map()) })),
    packageOf: (catalog, packageName) => contents.get(JSON.stringify([catalog, packageName])),
    read,
    limits: world.limits,
    policyInputs: world.policyInputs,
  };
  const toPeer = ({ isBound, ...peer }: PlainPeer): InstalledPeer => {
    return { ...peer, declared: isBound ? read({ name: peer.bundle, properties: peer.provider.properties }) : NO_CONSTRAINTS };
  };
  const { peers, own, served } = world.context;
  return {
    context: { peers: peers.map(toPeer), own: own && toPeer(own), served },
    reachable: { index, added: { ...world.added, missing: [] }, moved: { ...world.moved, missing: [] } },
  };
}

/** Builds the bundle to install from its plain data. */
export function buildCandidate(bundle: PlainBundle, read: ReadConstraints): SolverBundle {
  return { ...bundle, constraints: read(bundle).constraints };
}

/** Identifies a bundle of a catalog, also if the catalog has several of the same name. */
export interface PlaceReference extends BundleReference {
  /** Index among the bundles of the package in the catalog. */
  readonly at: number;
  /** Whether its constraints count. */
  readonly isBound: boolean;
}

/** Replaces the bundles of a hint by references. */
export function toPlainHint(hint: ResolutionHint, { catalogs }: CatalogIndex): ResolutionHint<PlaceReference> {
  return mapBundles(hint, ({ packageName, name, catalog, properties, constraints }) => {
    const bundles = catalogs.find((one) => one.catalog === catalog)?.index.bundlesOf(packageName) ?? [];
    const at = bundles.findIndex((bundle) => bundle.name === name && bundle.properties === properties);
    return { packageName, name, catalog, at, isBound: constraints.length > 0 };
  });
}

/** Replaces the references of a hint by the bundles of an index. @throws Error if a bundle does not exist */
export function buildHint(hint: ResolutionHint<PlaceReference>, index: CatalogIndex): ResolutionHint {
  return mapBundles(hint, ({ packageName, name, catalog, at, isBound }) => {
    const found = index.catalogs.find((one) => one.catalog === catalog);
    const bundle = found?.index.bundlesOf(packageName)[at];
    const [built] = found && bundle?.name === name ? toSolverBundles(packageName, [bundle], found, index) : [];
    if (!built) throw new Error(`internal error: the search for dependencies chose bundle ${name}, which no catalog has`);
    return isBound ? built : { ...built, constraints: [] };
  });
}
