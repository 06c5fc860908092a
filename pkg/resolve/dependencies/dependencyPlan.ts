import { describeConstraint, formatGvk } from "../constraint/evaluate.ts";
import { type PlanBundle, PlanIndex, type PlanWorld } from "./planIndex.ts";

/** A point of a plan: what is installed, and what is left to install. */
interface Stage<B extends PlanBundle> {
  readonly index: PlanIndex<B>;
  readonly present: ReadonlySet<PlanBundle>;
  readonly left: readonly B[];
}

/**
 * Sorts the bundles of a plan into waves. All bundles of a wave are installed together: each may rely on the others of its wave and on all earlier
 * waves. After each wave, the constraints of all bundles are met, except constraints of installed bundles that were unmet before, and no API has two
 * providers. A wave contains bundles that do not need each other, or bundles that do, and as few of these as possible.
 * @returns the waves in order; each planned bundle is in exactly one of them
 */
export function sortIntoWaves<B extends PlanBundle>(world: PlanWorld<B>): B[][] {
  const index = new PlanIndex(world);
  const waves: B[][] = [];
  let present = index.start;
  let left = [...world.planned];
  while (left.length > 0) {
    const wave = findWave({ index, present, left });
    waves.push(wave);
    present = index.add(present, wave);
    left = left.filter((bundle) => !wave.includes(bundle));
  }
  return waves;
}

function findWave<B extends PlanBundle>(stage: Stage<B>): B[] {
  const ready = stage.left.filter((bundle) => isPossible(stage, [bundle]));
  const [first] = ready;
  if (first) return isPossible(stage, ready) ? ready : [first];
  let least: B[] = [...stage.left];
  for (const bundle of stage.left) {
    const closure = closeOver([bundle], stage);
    if (closure.length < least.length) least = closure;
  }
  return least;
}

function isPossible<B extends PlanBundle>({ index, present }: Stage<B>, added: readonly B[]): boolean {
  const [unmet] = index.listUnmet(present, added);
  return unmet === undefined && index.findSharedApi(index.add(present, added), added) === undefined;
}

/** Returns the bundles `start` and those that are left and must be installed with them. */
function closeOver<B extends PlanBundle>(start: readonly B[], { index, present, left }: Stage<B>): B[] {
  const open = new Set(left);
  const wave = new Set<B>();
  let after = new Set(present);
  const add = (bundle: B): void => {
    wave.add(bundle);
    open.delete(bundle);
    after = index.add(after, [bundle]);
    unchecked.push(...index.listAffected(present, after, bundle));
  };
  const unchecked: ReturnType<PlanIndex<B>["listAffected"]> = [];
  for (const bundle of start) add(bundle);
  for (;;) {
    for (let next = unchecked.pop(); next; next = unchecked.pop()) {
      const { owner, constraint } = next;
      if (!after.has(owner) || index.holds(constraint, after) || open.size === 0) continue;
      const helpful = index.listHelpful(constraint).filter((bundle) => open.has(bundle));
      const single = helpful.find((bundle) => index.holds(constraint, index.add(after, [bundle])));
      unchecked.push(next);
      const needed = single ? [single] : helpful.length > 0 ? helpful : [...open];
      for (const bundle of needed) add(bundle);
    }
    const [unmet] = index.listUnmet(present, [...wave]);
    const { successor } = index;
    if (open.size === 0 || (!unmet && index.findSharedApi(after, wave) === undefined)) return left.filter((bundle) => wave.has(bundle));
    if (unmet) unchecked.push(unmet);
    else for (const bundle of successor && open.has(successor) ? [successor] : [...open]) add(bundle);
  }
}

/**
 * Returns why a plan is no longer possible, as a clause: a constraint would be unmet, or an API would have two providers. Undefined if it is possible.
 */
export function findPlanFault(world: PlanWorld): string | undefined {
  const index = new PlanIndex(world);
  const [unmet] = index.listUnmet(index.start, world.planned);
  if (unmet) return `${unmet.owner.name} requires ${describeConstraint(unmet.constraint)}`;
  const shared = index.findSharedApi(index.add(index.start, world.planned), world.planned);
  return shared && `${shared.bundles[0].name} and ${shared.bundles[1].name} provide the same API ${formatGvk(shared.gvk)}`;
}

/** Returns `roots` and the planned bundles that they need, also those that are only needed through others, in the order of the plan. */
export function selectNeeded<B extends PlanBundle>(world: PlanWorld<B>, roots: readonly B[]): B[] {
  const index = new PlanIndex(world);
  const stage = { index, present: index.start, left: world.planned };
  let needed = closeOver(roots, stage);
  for (const bundle of needed.toReversed()) {
    const rest = needed.filter((one) => one !== bundle);
    if (!roots.includes(bundle) && isPossible(stage, rest)) needed = rest;
  }
  return world.planned.filter((bundle) => needed.includes(bundle));
}

/**
 * Explains why a plan contains its bundles.
 * @returns by bundle, the first requirement that only the bundle meets, such as `a.v1.0.0 requires package "b" >=1.0.0`
 */
export function explainNeeds<B extends PlanBundle>(world: PlanWorld<B>): ReadonlyMap<B, string> {
  const index = new PlanIndex(world);
  const after = index.add(index.start, world.planned);
  const reasons = new Map<B, string>();
  for (const bundle of world.planned) {
    const without = new Set(after);
    without.delete(bundle);
    const need = index
      .listAffected(index.start, after, bundle)
      .find(({ owner, constraint }) => owner !== bundle && index.holds(constraint, after) && !index.holds(constraint, without));
    if (need) reasons.set(bundle, `${need.owner.name} requires ${describeConstraint(need.constraint)}`);
  }
  return reasons;
}
