import type { Candidate } from "./candidates.ts";
import type { Findings } from "./filters.ts";

/** The best of what one catalog has left. */
export type Offer = Findings & { readonly best: Candidate };

/** What catalogs offer, highest priority first and else in the order given; deprecated bundles only where there are no others. */
export function offersOf(findings: readonly Findings[]): Offer[] {
  const offers = findings.flatMap((found) => (found.best ? [{ ...found, best: found.best }] : []));
  const sound = offers.filter(({ best }) => !best.deprecated);
  return (sound.length > 0 ? sound : offers).sort((a, b) => b.priority - a.priority);
}

/** A catalog that cannot be asked could change the answer when its priority is not below the best one's, or when any sound bundle would be better. */
export function couldChange({ priority }: { priority: number }, first: Offer | undefined): boolean {
  return !first || first.best.deprecated || priority >= first.priority;
}
