import type { BundleConstraint, Gvk, LeafConstraint, Provider } from "../constraint/constraint.ts";
import { meets } from "../constraint/evaluate.ts";
import { getGvkKey } from "../constraint/parse.ts";
import { isOnSide, listLeaves } from "../solver/conflictReasons.ts";

/** A bundle with its constraints: installed, or part of a plan. */
export interface PlanBundle extends Provider {
  readonly name: string;
  readonly constraints: readonly BundleConstraint[];
}

/** The bundles that are on the cluster after a plan. */
export interface PlanWorld<B extends PlanBundle = PlanBundle> {
  /** The bundles to install, in the order in which they were chosen. Their constraints are met after the plan. */
  readonly planned: readonly B[];
  /** The bundles that stay. */
  readonly installed: readonly PlanBundle[];
  /** The installed bundle that a planned bundle of the same package replaces. */
  readonly replaced?: PlanBundle | undefined;
  /** APIs of the cluster that none of these bundles provides. */
  readonly served: readonly Gvk[];
}

/** An API, and two bundles that provide it. */
interface SharedApi {
  readonly gvk: Gvk;
  readonly bundles: readonly [PlanBundle, PlanBundle];
}

/** A constraint and the bundle that declares it. */
interface OwnedConstraint {
  readonly owner: PlanBundle;
  readonly constraint: BundleConstraint;
}

/** The bundles of a plan and the installed ones, indexed by what they meet, to check any selection of them quickly. */
export class PlanIndex<B extends PlanBundle> {
  readonly #world: PlanWorld<B>;
  readonly #served: ReadonlySet<string>;
  readonly #byPackage: ReadonlyMap<string, readonly PlanBundle[]>;
  readonly #byApi: ReadonlyMap<string, readonly PlanBundle[]>;
  readonly #all: readonly PlanBundle[];
  readonly #providers = new Map<LeafConstraint, readonly PlanBundle[]>();
  /** By planned or replaced bundle: the constraints whose result depends on it. */
  readonly #concerned = new Map<PlanBundle, OwnedConstraint[]>();

  constructor(world: PlanWorld<B>) {
    const { planned, installed, replaced, served } = world;
    this.#world = world;
    this.#served = new Set(served.map(getGvkKey));
    this.#all = [...installed, ...(replaced ? [replaced] : []), ...planned];
    this.#byPackage = Map.groupBy(this.#all, ({ packageName }) => packageName);
    const byApi = new Map<string, PlanBundle[]>();
    for (const bundle of this.#all)
      for (const key of new Set(bundle.apis.map(getGvkKey))) byApi.set(key, [...(byApi.get(key) ?? []), bundle]);
    this.#byApi = byApi;
    for (const bundle of [...planned, ...(replaced ? [replaced] : [])]) this.#concerned.set(bundle, []);
    for (const owner of this.#all)
      for (const constraint of owner.constraints)
        for (const { leaf } of listLeaves({ constraint, above: [] }))
          for (const provider of this.#listProviders(leaf)) this.#concerned.get(provider)?.push({ owner, constraint });
  }

  /** The bundles before the plan. */
  get start(): Set<PlanBundle> {
    const { installed, replaced } = this.#world;
    return new Set(replaced ? [...installed, replaced] : installed);
  }

  /** Returns the bundles after `added` are installed. */
  add(present: ReadonlySet<PlanBundle>, added: Iterable<PlanBundle>): Set<PlanBundle> {
    const { replaced } = this.#world;
    const after = new Set(present);
    for (const bundle of added) {
      after.add(bundle);
      if (bundle.packageName === replaced?.packageName) after.delete(replaced);
    }
    return after;
  }

  /** Reports whether the constraint is true for these bundles. */
  holds(constraint: BundleConstraint, present: ReadonlySet<PlanBundle>): boolean {
    return isOnSide(constraint, "holds", (leaf) => {
      if (leaf.kind === "gvk" && this.#served.has(getGvkKey(leaf.gvk))) return true;
      return this.#listProviders(leaf).some((provider) => present.has(provider));
    });
  }

  /** Yields the constraints that `added` leaves unmet: its own, and those of present bundles that were met before. */
  *listUnmet(present: ReadonlySet<PlanBundle>, added: readonly PlanBundle[]): Generator<OwnedConstraint> {
    const after = this.add(present, added);
    for (const bundle of added)
      for (const one of this.listAffected(present, after, bundle)) if (!this.holds(one.constraint, after)) yield one;
    const { replaced } = this.#world;
    if (!replaced || !present.has(replaced) || after.has(replaced)) return;
    for (const one of this.#listConcerned(present, after, replaced)) if (!this.holds(one.constraint, after)) yield one;
  }

  /** Returns the constraints that must be met after `bundle` is added: its own, and those of bundles that stay and were met before. */
  listAffected(present: ReadonlySet<PlanBundle>, after: ReadonlySet<PlanBundle>, bundle: PlanBundle): OwnedConstraint[] {
    return [...bundle.constraints.map((constraint) => ({ owner: bundle, constraint })), ...this.#listConcerned(present, after, bundle)];
  }

  #listConcerned(present: ReadonlySet<PlanBundle>, after: ReadonlySet<PlanBundle>, bundle: PlanBundle): OwnedConstraint[] {
    const all = this.#concerned.get(bundle) ?? [];
    return all.filter(({ owner, constraint }) => after.has(owner) && (!present.has(owner) || this.holds(constraint, present)));
  }

  /** Returns the planned bundles that meet a part of the constraint, in the order of the plan. */
  listHelpful(constraint: BundleConstraint): B[] {
    const providers = new Set([...listLeaves({ constraint, above: [] })].flatMap(({ leaf }) => this.#listProviders(leaf)));
    return this.#world.planned.filter((bundle) => providers.has(bundle));
  }

  /** Returns the planned bundle that replaces an installed one; undefined if there is no replacement. */
  get successor(): B | undefined {
    const { planned, replaced } = this.#world;
    return replaced && planned.find(({ packageName }) => packageName === replaced.packageName);
  }

  /** Returns an API that two of the bundles provide, at least one of them of `added`; undefined if each has one provider. */
  findSharedApi(after: ReadonlySet<PlanBundle>, added: Iterable<PlanBundle>): SharedApi | undefined {
    for (const bundle of added)
      for (const gvk of bundle.apis) {
        const other = this.#byApi.get(getGvkKey(gvk))?.find((one) => one !== bundle && after.has(one));
        if (other) return { gvk, bundles: [bundle, other] };
      }
    return undefined;
  }

  #listProviders(leaf: LeafConstraint): readonly PlanBundle[] {
    const known = this.#providers.get(leaf);
    if (known) return known;
    const candidates =
      leaf.kind === "package"
        ? this.#byPackage.get(leaf.packageName)
        : leaf.kind === "gvk"
          ? this.#byApi.get(getGvkKey(leaf.gvk))
          : this.#all;
    const providers = (candidates ?? []).filter((bundle) => meets(bundle, leaf));
    this.#providers.set(leaf, providers);
    return providers;
  }
}
