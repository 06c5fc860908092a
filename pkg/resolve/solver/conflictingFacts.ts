import { type Fact, getSentenceKey, listFacts } from "./conflictReasons.ts";
import { ClauseEncoding } from "./encode.ts";
import type { Offer } from "./offer.ts";
import type { SolverBundle, SolverProblem } from "./problem.ts";
import { OutOfSteps, Search } from "./search.ts";
import { type Literal, negate } from "./trail.ts";

/** Cost of preparing a label for a search is the number of labels shifted right by this number, in steps. */
const PREPARATION = 4;

/** Facts that are reported in one sentence. */
export type FactGroup = readonly Fact[];

/** Fact groups that together have no solution, by the key of their sentence. */
export interface ConflictingFacts {
  readonly groups: ReadonlyMap<string, FactGroup>;
  /** True if the groups have a solution without any of them; false if the step limit was reached before that was known. */
  readonly isMinimal: boolean;
}

/**
 * Finds a minimal set of fact groups without a solution: removes one after the other if the rest still has no solution. First removes the groups that
 * are furthest from the wanted package.
 * @param offer offer of the problem
 * @param bundles bundles whose constraints, together with the units, leave no solution
 * @param maxSteps step limit; when it is reached, the groups that were not removed yet stay
 */
export function findConflictingFacts(
  problem: SolverProblem,
  offer: Offer,
  bundles: readonly SolverBundle[],
  maxSteps: number,
): ConflictingFacts {
  offer.spend = () => {};
  const groups = Map.groupBy(listFacts(problem, bundles, offer), getSentenceKey);
  const search = new Search(maxSteps);
  const labels = new Map([...groups.keys()].map((key) => [key, search.newVariable()]));
  const needed: Literal[] = [];
  /** The labels found to be needed since the search last required some. */
  let recent: Literal[] = [];
  let untested: readonly Literal[] = [...labels.values()];
  let isMinimal = false;
  try {
    requireLabelled(problem, offer, bundles, labels, search);
    untested = narrow(untested, [], search) ?? untested;
    const batch = Math.sqrt(untested.length);
    // From last to first, so that the search keeps the assignments of all labels before the tested one.
    for (let last = untested.at(-1); last !== undefined; last = untested.at(-1)) {
      search.spend(untested.length >> PREPARATION);
      const rest = untested.slice(0, -1);
      const narrowed = narrow(rest, recent, search);
      untested = narrowed ?? rest;
      if (narrowed) continue;
      needed.push(last);
      recent.push(last);
      if (recent.length < batch) continue;
      search.require(recent);
      recent = [];
    }
    isMinimal = true;
  } catch (err) {
    if (!(err instanceof OutOfSteps)) throw err;
  }
  const kept = new Set([...needed, ...untested]);
  return { groups: new Map([...groups].filter(([key]) => kept.has(labels.get(key) ?? -1))), isMinimal };
}

/** Encodes the problem such that each fact is enabled by the label of its sentence. */
function requireLabelled(
  problem: SolverProblem,
  offer: Offer,
  bundles: readonly SolverBundle[],
  labels: ReadonlyMap<string, Literal>,
  search: Search,
): void {
  const never = search.newVariable();
  search.addClause([negate(never)]);
  offer.spend = (steps) => search.spend(steps);
  const concerned = new Set(bundles);
  const getLabel = (fact: Fact): Literal => {
    const isKnown = fact.kind !== "requirement" || concerned.has(fact.bundle);
    return (isKnown ? labels.get(getSentenceKey(fact)) : undefined) ?? never;
  };
  new ClauseEncoding(offer, search, getLabel).requireUnits(problem.units);
}

/** Returns the `labels` that cannot be true together with `needed`, in the same order; undefined if all can. */
function narrow(labels: readonly Literal[], needed: readonly Literal[], search: Search): Literal[] | undefined {
  const conflict = search.conflictOf([...labels, ...needed]);
  const inConflict = new Set(conflict);
  return conflict && labels.filter((label) => inConflict.has(label));
}
