import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { describeConstraint, formatGvk, isSatisfied, meets } from "../constraint/evaluate.ts";
import { getGvkKey } from "../constraint/parse.ts";

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

/** The bundles that are installed at a point of a plan. */
interface Stage {
  readonly present: readonly PlanBundle[];
  readonly replaced: PlanBundle | undefined;
  readonly served: readonly Gvk[];
}

/**
 * Sorts the bundles of a plan into waves. All bundles of a wave are installed together: each may rely on the others of its wave and on all earlier
 * waves. After each wave, the constraints of all bundles are met, except constraints of installed bundles that were unmet before, and no API has two
 * providers. A wave contains bundles that do not need each other, or bundles that do, and as few of these as possible.
 * @returns the waves in order; each planned bundle is in exactly one of them
 */
export function sortIntoWaves<B extends PlanBundle>({ planned, installed, replaced, served }: PlanWorld<B>): B[][] {
  const waves: B[][] = [];
  let present: readonly PlanBundle[] = replaced ? [...installed, replaced] : installed;
  let left = [...planned];
  while (left.length > 0) {
    const wave = findWave(left, { present, replaced, served });
    waves.push(wave);
    present = addBundles({ present, replaced, served }, wave);
    left = left.filter((bundle) => !wave.includes(bundle));
  }
  return waves;
}

function findWave<B extends PlanBundle>(left: readonly B[], stage: Stage): B[] {
  const ready = left.filter((bundle) => isPossible(stage, [bundle]));
  const [first] = ready;
  if (first) return isPossible(stage, ready) ? ready : [first];
  const closures = left.map((bundle) => closeOver([bundle], left, stage));
  return closures.reduce((least, closure) => (closure.length < least.length ? closure : least), [...left]);
}

function isPossible(stage: Stage, added: readonly PlanBundle[]): boolean {
  return findUnmetAfter(stage, added).length === 0 && findSharedApi(addBundles(stage, added), added) === undefined;
}

/** Returns the bundles after a wave. */
function addBundles({ present, replaced }: Stage, added: readonly PlanBundle[]): PlanBundle[] {
  const isReplaced = added.some((bundle) => bundle.packageName === replaced?.packageName);
  return [...present.filter((bundle) => !isReplaced || bundle !== replaced), ...added];
}

/** Returns the bundles `start` and those of `left` that must be installed with them. */
function closeOver<B extends PlanBundle>(start: readonly B[], left: readonly B[], stage: Stage): B[] {
  const wave = [...start];
  for (;;) {
    const all = addBundles(stage, wave);
    const [unmet] = findUnmetAfter(stage, wave);
    const others = left.filter((one) => !wave.includes(one));
    const isShared = unmet === undefined && findSharedApi(all, wave) !== undefined;
    if ((!unmet && !isShared) || others.length === 0) return wave;
    const single = others.find((one) =>
      unmet ? isSatisfied(unmet, addBundles(stage, [...wave, one]), stage.served) : one.packageName === stage.replaced?.packageName,
    );
    const helpful = single ? [single] : unmet ? others.filter((one) => meetsPart(one, unmet)) : [];
    wave.push(...(helpful.length > 0 ? helpful : others));
  }
}

function meetsPart(bundle: PlanBundle, constraint: BundleConstraint): boolean {
  return "constraints" in constraint ? constraint.constraints.some((member) => meetsPart(bundle, member)) : meets(bundle, constraint);
}

/** Returns the constraints that `added` leaves unmet: its own, and those of present bundles that were met before. */
function findUnmetAfter(stage: Stage, added: readonly PlanBundle[]): BundleConstraint[] {
  const { present, replaced, served } = stage;
  const after = addBundles(stage, added);
  const isReplaced = replaced !== undefined && !after.includes(replaced);
  const changed = isReplaced ? [...added, replaced] : added;
  const isUnmet = (constraint: BundleConstraint): boolean => !isSatisfied(constraint, after, served);
  return [
    ...added.flatMap(({ constraints }) => constraints.filter(isUnmet)),
    ...present.flatMap((bundle) =>
      (isReplaced && bundle === replaced ? [] : bundle.constraints).filter(
        (constraint) =>
          changed.some((one) => meetsPart(one, constraint)) && isUnmet(constraint) && isSatisfied(constraint, present, served),
      ),
    ),
  ];
}

/** Returns an API that two bundles provide, at least one of them of `added`; undefined if there is none. */
function findSharedApi(all: readonly PlanBundle[], added: readonly PlanBundle[]): SharedApi | undefined {
  for (const bundle of added)
    for (const gvk of bundle.apis) {
      const key = getGvkKey(gvk);
      const other = all.find((one) => one !== bundle && one.apis.some((api) => getGvkKey(api) === key));
      if (other) return { gvk, bundles: [bundle, other] };
    }
  return undefined;
}

interface SharedApi {
  readonly gvk: Gvk;
  readonly bundles: readonly [PlanBundle, PlanBundle];
}

/**
 * Returns why a plan is no longer possible, as a clause: a constraint would be unmet, or an API would have two providers. Undefined if it is possible.
 */
export function findPlanFault(world: PlanWorld): string | undefined {
  const { planned } = world;
  const stage = toStage(world);
  const all = addBundles(stage, planned);
  const [unmet] = findUnmetAfter(stage, planned);
  if (unmet) {
    const bundle = all.find(({ constraints }) => constraints.includes(unmet));
    return `${bundle?.name ?? ""} requires ${describeConstraint(unmet)}`;
  }
  const shared = findSharedApi(all, planned);
  return shared && `${shared.bundles[0].name} and ${shared.bundles[1].name} provide the same API ${formatGvk(shared.gvk)}`;
}

function toStage({ installed, replaced, served }: PlanWorld): Stage {
  return { present: replaced ? [...installed, replaced] : installed, replaced, served };
}

/** Returns `roots` and the planned bundles that they need, also those that are only needed through others, in the order of the plan. */
export function selectNeeded<B extends PlanBundle>(world: PlanWorld<B>, roots: readonly B[]): B[] {
  const { planned } = world;
  const stage = toStage(world);
  let needed = closeOver(roots, planned, stage);
  for (const bundle of needed.toReversed()) {
    const rest = needed.filter((one) => one !== bundle);
    if (!roots.includes(bundle) && isPossible(stage, rest)) needed = rest;
  }
  return planned.filter((bundle) => needed.includes(bundle));
}

/** Returns the first requirement that is only met because of `bundle`, such as `a.v1.0.0 requires package "b" >=1.0.0`; undefined if there is none. */
export function explainNeed(world: PlanWorld, bundle: PlanBundle): string | undefined {
  const { planned, installed, served } = world;
  const after = addBundles(toStage(world), planned);
  const without = after.filter((one) => one !== bundle);
  for (const other of [...planned, ...installed])
    for (const constraint of other === bundle ? [] : other.constraints)
      if (isSatisfied(constraint, after, served) && !isSatisfied(constraint, without, served))
        return `${other.name} requires ${describeConstraint(constraint)}`;
  return undefined;
}
