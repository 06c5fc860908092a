import { Choice } from "./choose.ts";
import { Encoding } from "./encode.ts";
import { explain, textsOf } from "./explain.ts";
import { Offer } from "./offer.ts";
import type { Problem, Solution } from "./problem.ts";
import { pruned } from "./prune.ts";
import { OutOfSteps, Search } from "./search.ts";

/** How much work a search may be. */
export interface SolveOptions {
  /** After how many steps it gives up; some fifty million take a second. The same again may go into the explanation. */
  readonly maxSteps?: number;
}

const MAX_STEPS = 50_000_000;

/**
 * The best set of bundles in which everything wanted and installed is there and every constraint of every bundle holds.
 * The same problem has the same solution, in whatever order offered units, offered candidates and installed units come; units that have nothing to
 * do with what is wanted or installed change nothing and cost next to nothing. A constraint of something installed that cannot be met leaves no
 * solution for anything; who wants one all the same leaves it out of the problem. What "best" means is told at `Choice` and `pruned`.
 */
export function solve(problem: Problem, { maxSteps = MAX_STEPS }: SolveOptions = {}): Solution {
  const search = new Search(maxSteps);
  const offer = new Offer(problem, (steps) => search.spend(steps));
  try {
    const encoding = new Encoding(offer, search);
    encoding.requireUnits(problem.units);
    const chosen = new Choice(offer, encoding, search).make(problem);
    if (!chosen) return { kind: "unsolvable", sentences: textsOf(explain(problem, offer, encoding.written, maxSteps)) };
    const needed = pruned(problem, chosen, maxSteps);
    return { kind: "solved", chosen: new Map(needed.map((bundle) => [bundle.packageName, bundle])) };
  } catch (err) {
    if (err instanceof OutOfSteps) return { kind: "undecided", steps: err.steps };
    throw err;
  }
}
