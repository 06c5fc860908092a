import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { describeConstraint, isSatisfied, meets } from "../constraint/evaluate.ts";
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
  /** APIs of the cluster that none of these bundles provides. */
  readonly served: readonly Gvk[];
}

/**
 * Sorts the bundles of a plan into waves. All bundles of a wave are installed together: each may rely on the others of its wave and on all earlier
 * waves. After each wave, the constraints of all bundles are met, except constraints of installed bundles that were unmet before. A wave contains
 * bundles that do not need each other, or bundles that do, and as few of these as possible.
 * @returns the waves in order; each planned bundle is in exactly one of them
 */
export function sortIntoWaves<B extends PlanBundle>({ planned, installed, served }: PlanWorld<B>): B[][] {
  const waves: B[][] = [];
  let present: readonly PlanBundle[] = installed;
  let left = [...planned];
  while (left.length > 0) {
    const wave = findWave(left, present, served);
    waves.push(wave);
    present = [...present, ...wave];
    left = left.filter((bundle) => !wave.includes(bundle));
  }
  return waves;
}

function findWave<B extends PlanBundle>(left: readonly B[], present: readonly PlanBundle[], served: readonly Gvk[]): B[] {
  const ready = left.filter((bundle) => findUnmetAfter(present, [bundle], served).length === 0);
  const [first] = ready;
  if (first) return findUnmetAfter(present, ready, served).length === 0 ? ready : [first];
  const closures = left.map((bundle) => closeOver([bundle], left, present, served));
  return closures.reduce((least, closure) => (closure.length < least.length ? closure : least), [...left]);
}

/** Returns the bundles `start` and those of `left` that must be installed with them. */
function closeOver<B extends PlanBundle>(
  start: readonly B[],
  left: readonly B[],
  present: readonly PlanBundle[],
  served: readonly Gvk[],
): B[] {
  const wave = [...start];
  for (;;) {
    const [unmet] = findUnmetAfter(present, wave, served);
    const others = left.filter((one) => !wave.includes(one));
    if (!unmet || others.length === 0) return wave;
    const all = [...present, ...wave];
    const single = others.find((one) => isSatisfied(unmet, [...all, one], served));
    const helpful = single ? [single] : others.filter((one) => meetsPart(one, unmet));
    wave.push(...(helpful.length > 0 ? helpful : others));
  }
}

function meetsPart(bundle: PlanBundle, constraint: BundleConstraint): boolean {
  return "constraints" in constraint ? constraint.constraints.some((member) => meetsPart(bundle, member)) : meets(bundle, constraint);
}

/** Returns the constraints that `added` leaves unmet: its own, and those of present bundles that were met before. */
function findUnmetAfter(present: readonly PlanBundle[], added: readonly PlanBundle[], served: readonly Gvk[]): BundleConstraint[] {
  const after = [...present, ...added];
  const isUnmet = (constraint: BundleConstraint): boolean => !isSatisfied(constraint, after, served);
  return [
    ...added.flatMap(({ constraints }) => constraints.filter(isUnmet)),
    ...present.flatMap(({ constraints }) =>
      constraints.filter(
        (constraint) => added.some((one) => meetsPart(one, constraint)) && isUnmet(constraint) && isSatisfied(constraint, present, served),
      ),
    ),
  ];
}

/**
 * Returns why a plan is no longer possible, as a clause: a constraint would be unmet, or an API would have two providers. Undefined if it is possible.
 */
export function findPlanFault({ planned, installed, served }: PlanWorld): string | undefined {
  const all = [...installed, ...planned];
  const [unmet] = findUnmetAfter(installed, planned, served);
  if (unmet) {
    const bundle = all.find(({ constraints }) => constraints.includes(unmet));
    return `${bundle?.name ?? ""} requires ${describeConstraint(unmet)}`;
  }
  for (const bundle of planned)
    for (const gvk of bundle.apis) {
      const key = getGvkKey(gvk);
      const other = all.find((one) => one !== bundle && one.apis.some((api) => getGvkKey(api) === key));
      if (other) return `${bundle.name} and ${other.name} provide the same API ${key}`;
    }
  return undefined;
}

/** Returns `roots` and the planned bundles that they need, also those that are only needed through others, in the order of the plan. */
export function selectNeeded<B extends PlanBundle>({ planned, installed, served }: PlanWorld<B>, roots: readonly B[]): B[] {
  let needed = closeOver(roots, planned, installed, served);
  for (const bundle of needed.toReversed()) {
    const rest = needed.filter((one) => one !== bundle);
    if (!roots.includes(bundle) && findUnmetAfter(installed, rest, served).length === 0) needed = rest;
  }
  return planned.filter((bundle) => needed.includes(bundle));
}

/** Returns the first requirement that is only met because of `bundle`, such as `a.v1.0.0 requires package "b" >=1.0.0`; undefined if there is none. */
export function explainNeed({ planned, installed, served }: PlanWorld, bundle: PlanBundle): string | undefined {
  const after = [...installed, ...planned];
  const without = after.filter((one) => one !== bundle);
  for (const other of [...planned, ...installed])
    for (const constraint of other === bundle ? [] : other.constraints)
      if (isSatisfied(constraint, after, served) && !isSatisfied(constraint, without, served))
        return `${other.name} requires ${describeConstraint(constraint)}`;
  return undefined;
}
