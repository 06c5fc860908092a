import { Encoding } from "./encode.ts";
import { type Fact, factsAbout, sentenceKey } from "./facts.ts";
import type { Offer } from "./offer.ts";
import type { Problem, SolverBundle } from "./problem.ts";
import { OutOfSteps, Search } from "./search.ts";
import { type Literal, negated } from "./trail.ts";

/** Steps of a search that take as long as going on with a label. */
const STEPS_OF_LABEL = 20;

/** Facts that make one sentence. */
export type FactGroup = readonly Fact[];

/**
 * Groups of facts for which there is no solution, while there is one without any of the groups; a few more than needed where finding out takes more
 * than `maxSteps`. What is far from what is wanted is left out first.
 * @param offer that of the problem.
 * @param bundles those whose constraints leave no solution, together with the units.
 * @returns the groups by the key of their sentence.
 */
export function conflictingFacts(
  problem: Problem,
  offer: Offer,
  bundles: readonly SolverBundle[],
  maxSteps: number,
): ReadonlyMap<string, FactGroup> {
  const groups = Map.groupBy(factsAbout(problem, bundles), sentenceKey);
  let left = new Map<string, Literal>();
  try {
    const search = new Search(maxSteps);
    for (const key of groups.keys()) left.set(key, search.newVariable());
    const labels = left;
    const never = search.newVariable();
    search.addClause([negated(never)]);
    offer.spend = (steps) => search.spend(steps);
    const concerned = new Set(bundles);
    const labelOf = (fact: Fact): Literal => {
      const isKnown = fact.kind !== "requirement" || concerned.has(fact.bundle);
      return (isKnown ? labels.get(sentenceKey(fact)) : undefined) ?? never;
    };
    new Encoding(offer, search, labelOf).requireUnits(problem.units);
    left = narrowed(left, search) ?? left;
    for (const key of [...left.keys()].reverse()) {
      if (!left.has(key)) continue;
      search.spend(left.size * STEPS_OF_LABEL);
      left = narrowed(new Map([...left].filter(([other]) => other !== key)), search) ?? left;
    }
  } catch (err) {
    if (!(err instanceof OutOfSteps)) throw err;
  }
  return new Map([...groups].filter(([key]) => left.has(key)));
}

/** Those of the labels that cannot be true together; undefined where all can. */
function narrowed(labels: ReadonlyMap<string, Literal>, search: Search): Map<string, Literal> | undefined {
  const conflict = search.conflictOf([...labels.values()]);
  const needed = new Set(conflict);
  return conflict && new Map([...labels].filter(([, label]) => needed.has(label)));
}
