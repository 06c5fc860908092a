import { compareText } from "../../text/compare.ts";
import { compareVersionRelease } from "../../version/version.ts";
import type { BundleConstraint, CelConstraint, LeafConstraint, Provider } from "../constraint/constraint.ts";
import { meets } from "../constraint/evaluate.ts";
import { getGvkKey, toProvider } from "../constraint/parse.ts";
import { getMemberCondition, type Side } from "../solver/conflictReasons.ts";
import { getLeafKey } from "../solver/offer.ts";
import type { AvailableBundle } from "./bundleIndex.ts";
import type { IndexedCatalog, ReadConstraints } from "./catalogIndex.ts";
import { type CheckedBundle, type InstallContext, type InstalledPeer, listMetConstraints } from "./dependencyCheck.ts";
import { findRejection } from "./rejectedBundles.ts";

/** The bundles to install, and where. */
export interface ReachabilityRequest {
  readonly packageName: string;
  /** The candidates of the package. */
  readonly candidates: readonly CheckedBundle[];
  readonly context: InstallContext;
  /** Whether a higher version from a catalog may replace the installed bundle of another extension. */
  readonly canMove: boolean;
}

/** The packages that may be part of a solution. */
export interface ReachablePackages {
  readonly packages: ReadonlySet<string>;
  /** Constraints on packages and APIs that no bundle of the catalogs meets. */
  readonly missing: readonly MissingConstraint[];
  /** The limit that ended the search; undefined if the search is complete. */
  readonly exceeded: ReachabilityLimit | undefined;
}

/** Maximum numbers of one search, in total. In public catalogs, a search finds a few dozen packages. */
export const REACHABILITY_LIMITS = {
  packages: 500,
  /** Bundles of these packages. */
  bundles: 20_000,
  /** Comparisons of bundles with constraints on packages and APIs. A range counts once for each 64 characters; ranges in public catalogs have up to 40. */
  comparisons: 1_000_000,
  /** Evaluations of CEL rules on bundles. */
  evaluations: 100_000,
} as const;

/** Length of a range that counts as one comparison, in characters. */
const RANGE_LENGTH = 64;
/** Number of bundles and their properties to visit before the next yield. */
const VISITS_OF_TURN = 1_000;

/** A limit of a search. */
export type ReachabilityLimit = keyof typeof REACHABILITY_LIMITS;

/**
 * Finds the packages that may be part of a solution, to a fixed point: packages with a bundle that meets a constraint of a candidate, of a bundle found
 * so far, or of an installed bundle that a candidate or a found bundle could break. Only bundles that meet a constraint are followed, and only
 * constraints that the cluster does not meet for good. Also includes packages with only bundles that cannot be chosen or are not in the required range,
 * so that an explanation can list them; these packages do not count.
 *
 * Searches breadth first, so that the nearest packages are included if there are too many. The order of candidates, constraints, installed bundles and
 * catalogs does not matter. Yields before it evaluates a CEL rule on a bundle or parses the constraints of a bundle, each of which may take about ten
 * milliseconds, and after it has compared about a thousand properties.
 */
export function* findReachablePackages(
  request: ReachabilityRequest,
  catalogs: readonly IndexedCatalog[],
  read: ReadConstraints,
): Generator<void, ReachablePackages> {
  return yield* new ReachabilitySearch(request, catalogs, read).run();
}

/** A constraint on a package or an API. */
export type MissingConstraint = Exclude<LeafConstraint, CelConstraint>;

/** A bundle of a catalog. */
interface FoundBundle {
  readonly catalog: string;
  readonly bundle: AvailableBundle;
  readonly provider: Provider;
}

/** A constraint of an installed bundle that must stay met. */
interface Guard {
  readonly peer: InstalledPeer;
  readonly constraint: BundleConstraint;
}

/** The guards with a certain leaf. */
interface GuardedLeaf {
  readonly leaf: LeafConstraint;
  readonly guards: Guard[];
}

class ReachabilitySearch {
  readonly #request: ReachabilityRequest;
  readonly #catalogs: readonly IndexedCatalog[];
  readonly #read: ReadConstraints;
  /** Peers by package. */
  readonly #peers: ReadonlyMap<string, readonly InstalledPeer[]>;
  /** Installed bundles that stay in every solution. */
  readonly #fixed: readonly Provider[];
  readonly #served: ReadonlySet<string>;
  readonly #guards = new GuardIndex();
  readonly #packages = new Set<string>();
  readonly #named = new Set<string>();
  readonly #missing: MissingConstraint[] = [];
  readonly #left: Record<ReachabilityLimit, number> = { ...REACHABILITY_LIMITS };
  readonly #providers = new Map<AvailableBundle, Provider>();
  readonly #reached = new Set<AvailableBundle>();
  /** Keys of leaves whose bundles were found. */
  readonly #seen = new Set<string>();
  readonly #opened = new Set<InstalledPeer>();
  /** Bundles found in this round. */
  #found: FoundBundle[] = [];
  /** Number of bundles and properties visited since the last yield. */
  #visits = 0;

  constructor(request: ReachabilityRequest, catalogs: readonly IndexedCatalog[], read: ReadConstraints) {
    const { peers, served } = request.context;
    this.#request = request;
    this.#catalogs = catalogs.toSorted((a, b) => compareText(a.catalog, b.catalog));
    this.#read = read;
    this.#peers = Map.groupBy(peers, ({ provider }) => provider.packageName);
    this.#fixed = peers.filter((peer) => !this.#canMove(peer.provider.packageName)).map(({ provider }) => provider);
    this.#served = new Set(served.map(({ gvk }) => getGvkKey(gvk)));
  }

  *run(): Generator<void, ReachablePackages> {
    const { candidates, context } = this.#request;
    for (const peer of context.peers) {
      yield;
      // Updates may meet further constraints, which must then stay met.
      const { constraints } = peer.declared;
      const met = this.#request.canMove ? constraints : listMetConstraints(constraints, context);
      this.#guards.add(
        peer,
        met.filter((constraint) => !this.#isMetForGood(constraint, peer.provider)),
      );
    }
    if (context.own) yield* this.#touch(context.own.provider);
    for (const { provider, declared } of candidates) {
      yield;
      yield* this.#touch(provider);
      for (const constraint of declared.constraints) yield* this.#follow(constraint, provider);
    }
    while (this.#found.length > 0 && this.#exceeded() === undefined) {
      const round = this.#found.sort(compareFound);
      this.#found = [];
      for (const { bundle, provider } of round) {
        yield;
        if (findRejection(bundle, provider, this.#read)) {
          this.#named.add(bundle.package);
          continue;
        }
        if (!this.#enter(bundle.package)) break;
        yield* this.#touch(provider);
        for (const constraint of this.#read(bundle).constraints) yield* this.#follow(constraint, provider);
      }
    }
    return { packages: new Set([...this.#packages, ...this.#named]), missing: this.#missing, exceeded: this.#exceeded() };
  }

  /** Adds a package. Returns false if it does not fit. */
  #enter(packageName: string): boolean {
    if (this.#packages.has(packageName)) return true;
    this.#left.packages--;
    for (const { index } of this.#catalogs) this.#left.bundles -= index.bundlesOf(packageName).length;
    if (this.#exceeded() !== undefined) return false;
    this.#packages.add(packageName);
    return true;
  }

  #exceeded(): ReachabilityLimit | undefined {
    return (["packages", "bundles", "comparisons", "evaluations"] as const).find((limit) => this.#left[limit] < 0);
  }

  /** Reports whether bundles of the installed package may be replaced. */
  #canMove(packageName: string): boolean {
    return this.#request.canMove && this.#catalogs.some(({ index }) => index.bundlesOf(packageName).length > 0);
  }

  /** Reports whether the constraint is met in every solution that contains `self`. */
  #isMetForGood(constraint: BundleConstraint, self: Provider): boolean {
    if ("constraints" in constraint) {
      const { kind, constraints } = constraint;
      if (kind === "all") return constraints.every((member) => this.#isMetForGood(member, self));
      return kind === "any" && constraints.some((member) => this.#isMetForGood(member, self));
    }
    if (constraint.kind === "gvk" && this.#served.has(getGvkKey(constraint.gvk))) return true;
    if (meets(self, constraint)) return true;
    // Evaluating a rule on all installed bundles would take too long without a yield.
    return constraint.kind !== "cel" && this.#fixed.some((provider) => meets(provider, constraint));
  }

  /** Finds the bundles that may help to make a constraint of `self` true or, inside a `not`, false. */
  *#follow(constraint: BundleConstraint, self: Provider, side: Side = "holds"): Generator<void> {
    if (side === "holds" && this.#isMetForGood(constraint, self)) return;
    if ("constraints" in constraint) {
      const members = getMemberCondition(constraint, side);
      for (const member of constraint.constraints) yield* this.#follow(member, self, members.side);
      return;
    }
    if (side === "fails") {
      yield* this.#openExcluded(constraint);
      return;
    }
    const key = getLeafKey(constraint);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    if (constraint.kind === "cel") yield* this.#findByRule(constraint);
    else yield* this.#find(constraint);
  }

  /** Finds the higher versions of installed bundles that meet a leaf although it must be false. */
  *#openExcluded(leaf: LeafConstraint): Generator<void> {
    if (!this.#request.canMove) return;
    for (const peer of this.#request.context.peers) {
      if (leaf.kind === "cel") yield;
      if (meets(peer.provider, leaf)) yield* this.#open(peer);
    }
  }

  *#find(leaf: MissingConstraint): Generator<void> {
    const cost = leaf.kind === "package" ? Math.ceil((leaf.range.text.length + 1) / RANGE_LENGTH) : 1;
    let isMissing = true;
    for (const { catalog, index } of this.#catalogs) {
      const packages = leaf.kind === "package" ? [leaf.packageName] : index.packagesProviding(leaf.gvk);
      for (const name of packages) {
        const bundles = index.bundlesOf(name);
        if (!this.#spend(bundles.length * cost)) return;
        for (const bundle of bundles) {
          yield* this.#visit(bundle);
          if (meets(this.#providerOf(bundle), leaf)) {
            this.#reach(catalog, bundle);
            isMissing = false;
          } else if (leaf.kind === "package" && this.#isFree(name)) this.#named.add(name);
        }
      }
    }
    if (isMissing) this.#missing.push(leaf);
  }

  *#findByRule({ holds }: CelConstraint): Generator<void> {
    for (const { catalog, index } of this.#catalogs) {
      if (this.#left.evaluations < 0) return;
      for (const name of index.packages) {
        if (!this.#isFree(name)) continue;
        for (const bundle of index.bundlesOf(name)) {
          if (--this.#left.evaluations < 0) return;
          yield;
          if (holds(bundle.properties)) this.#reach(catalog, bundle);
        }
      }
    }
  }

  /** Counts comparisons before they are made. Returns false if they exceed the limit. */
  #spend(comparisons: number): boolean {
    if (this.#left.comparisons < 0) return false;
    this.#left.comparisons -= comparisons;
    return this.#left.comparisons >= 0;
  }

  /** Yields after many bundles and properties. */
  *#visit({ properties }: AvailableBundle): Generator<void> {
    this.#visits += 1 + properties.length;
    if (this.#visits < VISITS_OF_TURN) return;
    this.#visits = 0;
    yield;
  }

  #providerOf(bundle: AvailableBundle): Provider {
    const known = this.#providers.get(bundle);
    if (known) return known;
    const provider = toProvider(bundle);
    this.#providers.set(bundle, provider);
    return provider;
  }

  /** Reports whether a solution may contain a catalog's bundle of the package. */
  #isFree(packageName: string): boolean {
    return packageName !== this.#request.packageName && (!this.#peers.has(packageName) || this.#canMove(packageName));
  }

  #reach(catalog: string, bundle: AvailableBundle): void {
    if (this.#reached.has(bundle) || !this.#isFree(bundle.package)) return;
    this.#reached.add(bundle);
    this.#found.push({ catalog, bundle, provider: this.#providerOf(bundle) });
  }

  /** Follows the constraints of installed bundles that could be broken if a bundle is added or removed. */
  *#touch(provider: Provider): Generator<void> {
    for (const { leaf, guards } of this.#guards.concerning(provider)) {
      if (leaf.kind === "cel") {
        if (--this.#left.evaluations < 0) return;
        yield;
      }
      if (!meets(provider, leaf)) continue;
      for (const guard of guards.splice(0)) {
        yield* this.#follow(guard.constraint, guard.peer.provider);
        yield* this.#open(guard.peer);
      }
    }
    for (const peer of this.#peers.get(provider.packageName) ?? []) yield* this.#open(peer);
    if (!this.#request.canMove) return;
    for (const gvk of provider.apis) for (const peer of this.#guards.providersOf(getGvkKey(gvk))) yield* this.#open(peer);
  }

  /** Finds the higher versions of an installed bundle, if it may be replaced. */
  *#open(peer: InstalledPeer): Generator<void> {
    const { packageName, version } = peer.provider;
    if (this.#opened.has(peer) || !this.#isFree(packageName)) return;
    this.#opened.add(peer);
    for (const { catalog, index } of this.#catalogs) {
      const bundles = index.bundlesOf(packageName);
      if (!this.#spend(bundles.length)) return;
      for (const bundle of bundles) {
        yield* this.#visit(bundle);
        const other = this.#providerOf(bundle).version;
        if (version && other && compareVersionRelease(other, version) > 0) this.#reach(catalog, bundle);
      }
    }
    yield* this.#touch(peer.provider);
  }
}

/** Indexes the constraints of installed bundles by the bundles that could break them. */
class GuardIndex {
  readonly #byPackage = new Map<string, GuardedLeaf[]>();
  readonly #byApi = new Map<string, GuardedLeaf[]>();
  readonly #rules: GuardedLeaf[] = [];
  readonly #leaves = new Map<string, GuardedLeaf>();
  /** Peers by the APIs that they provide. */
  readonly #providers = new Map<string, InstalledPeer[]>();

  add(peer: InstalledPeer, constraints: readonly BundleConstraint[]): void {
    for (const gvk of peer.provider.apis) append(this.#providers, getGvkKey(gvk), peer);
    for (const constraint of constraints) for (const leaf of listLeaves(constraint)) this.#add(leaf, { peer, constraint });
  }

  /** Returns the leaves that a bundle may meet. */
  concerning({ packageName, apis }: Provider): readonly GuardedLeaf[] {
    const ofApis = apis.flatMap((gvk) => this.#byApi.get(getGvkKey(gvk)) ?? []);
    return [...(this.#byPackage.get(packageName) ?? []), ...ofApis, ...this.#rules].filter(({ guards }) => guards.length > 0);
  }

  providersOf(api: string): readonly InstalledPeer[] {
    return this.#providers.get(api) ?? [];
  }

  #add(leaf: LeafConstraint, guard: Guard): void {
    const key = getLeafKey(leaf);
    const known = this.#leaves.get(key);
    if (known) {
      known.guards.push(guard);
      return;
    }
    const guarded = { leaf, guards: [guard] };
    this.#leaves.set(key, guarded);
    if (leaf.kind === "package") append(this.#byPackage, leaf.packageName, guarded);
    else if (leaf.kind === "gvk") append(this.#byApi, getGvkKey(leaf.gvk), guarded);
    else this.#rules.push(guarded);
  }
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const known = lists.get(key);
  if (known) known.push(item);
  else lists.set(key, [item]);
}

function listLeaves(constraint: BundleConstraint): LeafConstraint[] {
  return "constraints" in constraint ? constraint.constraints.flatMap(listLeaves) : [constraint];
}

function compareFound(a: FoundBundle, b: FoundBundle): number {
  return compareText(a.bundle.package, b.bundle.package) || compareText(a.catalog, b.catalog) || compareText(a.bundle.name, b.bundle.name);
}
